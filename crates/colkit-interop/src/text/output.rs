//! Text on its way to a sink.

use colkit_core::{Error, Result, Sink};

/// What is collected before it goes to the sink.
const BUFFER_BYTES: usize = 64 << 10;

/// All columns that cannot be written, in one error: what has to be allowed is said at once.
pub(crate) fn refuse_all(refused: impl IntoIterator<Item = Error>) -> Result<()> {
    let mut refused = refused.into_iter();
    let Some(first) = refused.next() else { return Ok(()) };
    let others: Vec<Error> = refused.collect();
    if others.is_empty() {
        return Err(first);
    }
    let parts: Vec<&str> = std::iter::once(&first).chain(&others).filter_map(Error::part_name).collect();
    let mut hint = first.advice().cloned();
    for other in others.iter().filter_map(Error::advice) {
        hint = Some(match hint {
            Some(hint) if hint.settings().eq(other.settings()) => hint,
            Some(hint) => hint.and(other.clone()),
            None => other.clone(),
        });
    }
    let messages = format!("{}; and so for the other columns named", first.message());
    let error = Error::new(first.class(), first.code(), messages).part(parts.join(", "));
    Err(hint.into_iter().fold(error, Error::hint))
}

pub(crate) struct TextOutput {
    /// What was not handed over yet.
    pub text: Vec<u8>,
    sink: Box<dyn Sink>,
    bytes: u64,
}

impl TextOutput {
    pub fn new(sink: Box<dyn Sink>) -> Self {
        TextOutput { text: Vec::with_capacity(BUFFER_BYTES * 2), sink, bytes: 0 }
    }

    /// Hands over what was collected, if that is much.
    pub fn flush_if_full(&mut self) -> Result<()> {
        if self.text.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands over what was collected.
    pub fn flush(&mut self) -> Result<()> {
        self.sink.write(&self.text)?;
        self.bytes += self.text.len() as u64;
        self.text.clear();
        Ok(())
    }

    /// Makes what was written visible; how many bytes.
    pub fn commit(mut self) -> Result<u64> {
        self.flush()?;
        self.sink.commit()?;
        Ok(self.bytes)
    }
}
