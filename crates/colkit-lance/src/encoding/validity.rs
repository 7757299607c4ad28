//! Which values of a page are null by what their compression says.

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::NullBuffer;
use colkit_core::{Error, Result};

/// Collected from chunk to chunk; nothing is kept as long as no chunk says anything.
#[derive(Default)]
pub(crate) struct Validity {
    bits: Option<BooleanBufferBuilder>,
    /// Values of the chunks before this one.
    before: usize,
}

impl Validity {
    /// A chunk begins after so many values.
    pub fn begin(&mut self, before: usize) {
        self.before = before;
    }

    /// Of the values of this chunk.
    pub fn append(&mut self, valid: impl Iterator<Item = bool>) {
        let bits = self.bits.get_or_insert_with(|| BooleanBufferBuilder::new(0));
        // Chunks that said nothing have no nulls.
        bits.append_n(self.before.saturating_sub(bits.len()), true);
        valid.for_each(|valid| bits.append(valid));
    }

    /// The nulls of `count` values, if they may be null, together with those that are known from elsewhere.
    pub fn finish(self, count: usize, others: Option<NullBuffer>, nullable: bool) -> Result<Option<NullBuffer>> {
        let Some(mut bits) = self.bits else { return Ok(others) };
        bits.append_n(count.saturating_sub(bits.len()), true);
        let own = NullBuffer::new(bits.finish());
        if own.len() != count || others.as_ref().is_some_and(|o| o.len() != count) {
            return Err(Error::corrupt("bad_levels", format!("{count} values, and {} may be null", own.len())));
        }
        if !nullable && own.null_count() > 0 {
            return Err(Error::corrupt("bad_values", "nulls in a column that has none"));
        }
        Ok(NullBuffer::union(Some(&own), others.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_say_nothing_have_no_nulls() {
        let mut validity = Validity::default();
        validity.begin(0);
        validity.begin(3);
        validity.append([true, false].into_iter());
        validity.begin(5);
        let others = NullBuffer::from(vec![false, true, true, true, true, true]);
        let nulls = validity.finish(6, Some(others), true).unwrap().unwrap();
        assert_eq!(nulls, NullBuffer::from(vec![false, true, true, true, false, true]));
        assert!(Validity::default().finish(6, None, false).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let nulls = || {
            let mut validity = Validity::default();
            validity.append([true, false].into_iter());
            validity
        };
        assert_eq!(nulls().finish(1, None, true).unwrap_err().code(), "bad_levels");
        assert_eq!(nulls().finish(2, None, false).unwrap_err().code(), "bad_values");
    }
}
