//! Finds the spelling of a column that is text in the usual one: the only one that every cell fits.
//!
//! A column keeps the set of spellings that its cells have fitted so far. Whether `1,234` has a fraction or a thousands
//! separator cannot be told from cells that fit both; nor can `03/09/2024`. Such columns stay text.

use super::Inference;
use super::date_format::DateFormat;
use super::kinds::Kinds;
use super::spelling::{NumberSpelling, Spelling};
use arrow::datatypes::{DataType, TimeUnit};
use std::sync::LazyLock;

/// A decimal comma; the same with points between thousands, which holds all of the first; commas between thousands, which
/// is only looked for since it speaks against the others.
const NUMBERS: [NumberSpelling; 3] = [
    NumberSpelling { decimal: b',', thousands: None },
    NumberSpelling { decimal: b',', thousands: Some('.') },
    NumberSpelling { decimal: b'.', thousands: Some(',') },
];
const COMMA: u32 = 1;
const COMMA_AND_POINTS: u32 = 2;
const THOUSANDS: u32 = 4;
const ANY_NUMBER: u32 = COMMA | COMMA_AND_POINTS | THOUSANDS;

const DATES: [&str; 15] = [
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d %H:%M:%S",
    "%d-%m-%Y",
    "%d-%m-%Y %H:%M",
    "%d-%m-%Y %H:%M:%S",
];

/// One bit for each.
static CANDIDATES: LazyLock<Vec<Spelling>> = LazyLock::new(|| {
    let numbers = NUMBERS.into_iter().map(|numbers| Spelling { numbers: Some(numbers), dates: None });
    let dates = DATES.iter().filter_map(|text| DateFormat::parse(text).ok());
    numbers.chain(dates.map(|format| Spelling { numbers: None, dates: Some(format) })).collect()
});

const INTEGER: Kinds = Kinds::INT32.and(Kinds::INT53).and(Kinds::INT64).and(Kinds::UINT64);
const NUMBER: Kinds = INTEGER.and(Kinds::REAL);

/// The spellings that the cells of a column fit.
#[derive(Clone, Copy, Debug)]
pub struct FittingSpellings {
    left: u32,
    /// The kinds of the cells as numbers with a decimal comma.
    numbers: Kinds,
}

impl FittingSpellings {
    /// All but those of which it was told how they are written; decimal commas only if there may be some.
    pub fn beside(told: &Spelling, commas: bool) -> Self {
        let all = (1 << (NUMBERS.len() + DATES.len())) - 1;
        let numbers = if commas && told.numbers.is_none() { ANY_NUMBER } else { 0 };
        let dates = if told.dates.is_none() { all & !ANY_NUMBER } else { 0 };
        FittingSpellings { left: numbers | dates, numbers: Kinds::default() }
    }

    /// None, for columns whose spelling is not wanted.
    pub const NONE: FittingSpellings = FittingSpellings { left: 0, numbers: Kinds::EMPTY };

    /// Whether there are still some.
    #[inline]
    pub fn any(&self) -> bool {
        self.left != 0
    }

    /// Takes a cell into account, which is of this kind in the usual spelling.
    #[inline]
    pub fn add(&mut self, cell: &[u8], kind: Kinds) {
        if kind == Kinds::EMPTY || kind == Kinds::NULL {
            return;
        }
        if kind.has(INTEGER) {
            // Integers are the same in all of them.
            self.left &= ANY_NUMBER;
            self.numbers.add(kind);
        } else {
            self.try_each(cell, kind);
        }
        if self.left & !THOUSANDS == 0 {
            self.left = 0;
        }
    }

    #[inline(never)]
    fn try_each(&mut self, cell: &[u8], kind: Kinds) {
        if !kind.has(Kinds::TEXT.and(Kinds::REAL)) {
            self.left = 0;
            return;
        }
        let mut buffer = Vec::new();
        let before = self.left;
        for (bit, spelling) in CANDIDATES.iter().enumerate().filter(|(bit, _)| before & (1u32 << *bit) != 0) {
            let kind = Kinds::of(spelling.usual(cell, &mut buffer));
            let fits =
                if spelling.dates.is_some() { kind.has(Kinds::DATE.and(Kinds::LOCAL)) } else { kind.has(NUMBER) };
            if !fits {
                self.left &= !(1 << bit);
            } else if 1 << bit == COMMA_AND_POINTS {
                self.numbers.add(kind);
            }
        }
    }

    /// The only spelling that fits all cells of the column, and the type that the column then has.
    pub fn only(&self, inference: &Inference) -> Option<(&'static Spelling, DataType)> {
        let (numbers, dates) = (self.left & ANY_NUMBER, self.left & !ANY_NUMBER);
        let bit = match (numbers, dates.count_ones()) {
            (0, 1) => dates.trailing_zeros(),
            (numbers, 0) if numbers & THOUSANDS == 0 && numbers != 0 => numbers.trailing_zeros(),
            _ => return None,
        };
        let spelling = CANDIDATES.get(usize::try_from(bit).ok()?)?;
        let data_type = match &spelling.dates {
            Some(format) if format.has_time() => DataType::Timestamp(TimeUnit::Second, None),
            Some(_) => DataType::Date32,
            None => self.numbers.data_type(inference),
        };
        (self.left & ANY_NUMBER == 0 || data_type != DataType::Utf8).then_some((spelling, data_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cells: &[&str]) -> Option<DataType> {
        let mut fitting = FittingSpellings::beside(&Spelling::default(), true);
        for cell in cells {
            fitting.add(cell.as_bytes(), Kinds::of(cell.as_bytes()));
        }
        Some(fitting.only(&Inference::full())?.1)
    }

    #[test]
    fn one_spelling_must_fit_all_cells_and_no_other() {
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        for (cells, expected) in [
            (&["1,5", "2", "", "-0,25"][..], Some(DataType::Float64)),
            (&["1,234", "5,678"], None),
            (&["1,234", "5,6"], Some(DataType::Float64)),
            (&["1.234,5", "12,5"], Some(DataType::Float64)),
            (&["1.234.567", "12"], Some(DataType::Int32)),
            (&["1.234", "1,5"], Some(DataType::Float64)),
            (&["1.5", "1,5"], None),
            (&["1,5", "x"], None),
            (&["31.12.2024", "01.01.2025"], Some(DataType::Date32)),
            (&["31.12.2024 10:00", "01.01.2025 9:30"], Some(seconds)),
            (&["31.12.2024", "01.01.2025 10:00"], None),
            (&["03/09/2024", "04/10/2024"], None),
            (&["03/09/2024", "13/10/2024"], Some(DataType::Date32)),
            (&["03/09/2024", "10/13/2024"], Some(DataType::Date32)),
            (&["2024/02/30"], None),
            (&["2024/02/29"], Some(DataType::Date32)),
            (&["12", "31.12.2024"], None),
            (&[], None),
        ] {
            assert_eq!(found(cells), expected, "{cells:?}");
        }
    }
}
