//! Tables made of a fuzzer's bytes: types, nulls, repetition and lengths are all up to them.

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int8Type, Schema};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// The bytes, from front to back; zeros when they are used up.
pub struct Feed<'a>(pub &'a [u8]);

impl Feed<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        // Few different numbers, many different numbers, numbers in order: what encodings are chosen by.
        match self.byte() {
            n @ 0..=199 => u64::from(n),
            200..=229 => u64::from(self.byte()) << 8 | u64::from(self.byte()),
            _ => (0..8).fold(0, |n, _| n << 8 | u64::from(self.byte())),
        }
    }

    fn text(&mut self) -> String {
        let length = self.byte() % 24;
        let repeat = if self.byte() > 250 { 200 } else { 1 };
        let text: String = (0..length).map(|_| char::from(self.byte())).collect();
        text.repeat(repeat)
    }

    fn nulls(&mut self, rows: usize) -> Option<NullBuffer> {
        match self.byte() % 4 {
            0 => Some((0..rows).map(|_| self.byte() % 3 > 0).collect()),
            1 if self.byte() > 200 => Some(NullBuffer::new_null(rows)),
            _ => None,
        }
    }

    fn array(&mut self, rows: usize, depth: u32) -> ArrayRef {
        let kind = self.byte() % if depth > 0 { 14 } else { 10 };
        let nulls = self.nulls(rows);
        let start = self.number();
        let in_order = self.byte() % 4 == 0;
        let mut at = 0;
        let mut number = |feed: &mut Self| {
            at += 1;
            if in_order { start.wrapping_add(at) } else { feed.number() }
        };
        match kind {
            0 => Arc::new(Int32Array::new((0..rows).map(|_| number(self) as i32).collect(), nulls)),
            1 => Arc::new(Int64Array::new((0..rows).map(|_| number(self) as i64).collect(), nulls)),
            2 => Arc::new(UInt8Array::new((0..rows).map(|_| number(self) as u8).collect(), nulls)),
            3 => Arc::new(Float64Array::new((0..rows).map(|_| f64::from_bits(number(self))).collect(), nulls)),
            4 => Arc::new(BooleanArray::new((0..rows).map(|_| self.byte() & 1 == 1).collect(), nulls)),
            5 => {
                let texts: Vec<String> = (0..rows).map(|_| self.text()).collect();
                let valid = |i| nulls.as_ref().is_none_or(|n| n.is_valid(i));
                Arc::new(StringArray::from_iter(texts.into_iter().enumerate().map(|(i, t)| valid(i).then_some(t))))
            }
            6 => {
                let texts: Vec<String> = (0..rows).map(|_| self.text()).collect();
                Arc::new(LargeBinaryArray::from_iter_values(texts))
            }
            7 => {
                let words: Vec<String> = (0..1 + self.byte() % 4).map(|i| format!("{i}{}", self.text())).collect();
                let keys = (0..rows).map(|_| (self.byte() as usize % words.len()) as i8).collect::<Vec<_>>();
                Arc::new(DictionaryArray::<Int8Type>::new(
                    PrimitiveArray::new(keys.into(), nulls),
                    Arc::new(StringArray::from(words)),
                ))
            }
            8 => Arc::new(Decimal128Array::new((0..rows).map(|_| number(self) as i128).collect(), nulls)),
            9 => {
                let width = 1 + i32::from(self.byte() % 4);
                let bytes: Vec<u8> = (0..rows * width as usize).map(|_| self.byte()).collect();
                Arc::new(FixedSizeBinaryArray::new(width, bytes.into(), nulls))
            }
            10 | 11 => {
                let lengths: Vec<usize> = (0..rows).map(|_| self.byte() as usize % 4).collect();
                let items = self.array(lengths.iter().sum(), depth - 1);
                let field = Arc::new(Field::new("item", items.data_type().clone(), true));
                Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls))
            }
            12 => {
                let (a, b) = (self.array(rows, depth - 1), self.array(rows, depth - 1));
                let fields =
                    vec![Field::new("a", a.data_type().clone(), true), Field::new("b", b.data_type().clone(), true)];
                Arc::new(StructArray::new(fields.into(), vec![a, b], nulls))
            }
            _ => {
                let width = 1 + self.byte() as usize % 4;
                let items: Vec<f32> = (0..rows * width).map(|_| f32::from(self.byte())).collect();
                let items: ArrayRef = Arc::new(Float32Array::from(items));
                let field = Arc::new(Field::new("item", DataType::Float32, true));
                Arc::new(FixedSizeListArray::new(field, width as i32, items, nulls))
            }
        }
    }

    /// A table of up to 300 rows and 4 columns.
    pub fn batch(&mut self) -> RecordBatch {
        let rows = match self.byte() {
            n @ 0..=127 => usize::from(n),
            n => usize::from(n) + usize::from(self.byte()) * 8,
        };
        let columns: Vec<ArrayRef> = (0..1 + self.byte() % 4).map(|_| self.array(rows, 2)).collect();
        let fields: Vec<Field> =
            columns.iter().enumerate().map(|(i, c)| Field::new(format!("c{i}"), c.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    }
}
