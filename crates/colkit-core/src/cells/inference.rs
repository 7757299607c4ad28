//! What the destination of text values supports, and therefore which types their columns may get.

use crate::{Format, Nulls};
use arrow::datatypes::DataType;

/// Which types columns are inferred as beside int32, float64 and text, and which cells are null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inference {
    /// Columns of `true` and `false` are bool; otherwise they stay text.
    pub booleans: bool,
    /// Integer columns beyond 32 bits are int64 instead of float64 or text.
    pub integers64: bool,
    /// Integer columns beyond that are uint64 instead of text.
    pub unsigned64: bool,
    /// ISO dates are dates; otherwise they stay text.
    pub dates: bool,
    /// ISO date-times are timestamps; otherwise they stay text.
    pub timestamps: bool,
    /// `+5`, `.5` and `5.` are numbers; otherwise they make their column text.
    pub loose_numbers: bool,
    /// Empty cells are nulls in columns that are not text; otherwise one makes its column text.
    pub empty_is_null: bool,
    /// Words that are null in every column.
    pub null_words: Vec<String>,
}

impl Inference {
    /// For targets without nulls: int32, float64, bool, text.
    pub fn plain() -> Self {
        Inference {
            booleans: true,
            integers64: false,
            unsigned64: false,
            dates: false,
            timestamps: false,
            loose_numbers: false,
            empty_is_null: false,
            null_words: Vec::new(),
        }
    }

    /// For targets with nulls and every type that text can have.
    pub fn full() -> Self {
        Inference {
            booleans: true,
            integers64: true,
            unsigned64: true,
            dates: true,
            timestamps: true,
            loose_numbers: true,
            empty_is_null: true,
            null_words: Vec::new(),
        }
    }

    /// The same, with types that `format` can store; dates and timestamps, whose text says all of them, wherever there are
    /// nulls. For a format without nulls these are the plain rules, and `filling` says whether empty cells are nulls all
    /// the same, since something else will be written in their place.
    pub fn suited_to(self, format: &dyn Format, filling: Nulls) -> Self {
        let nulls = format.stores_nulls();
        let stores = |data_type| nulls && format.stores(&data_type);
        Inference {
            booleans: format.stores(&DataType::Boolean),
            integers64: stores(DataType::Int64),
            unsigned64: stores(DataType::UInt64),
            dates: nulls,
            timestamps: nulls,
            loose_numbers: nulls,
            empty_is_null: nulls || filling == Nulls::Fill,
            null_words: self.null_words,
        }
    }

    /// Whether a cell is one of the words for null.
    #[inline]
    pub fn is_null_word(&self, cell: &[u8]) -> bool {
        !self.null_words.is_empty() && self.null_words.iter().any(|word| word.as_bytes() == cell)
    }
}
