//! Tables of random types and values, the same for the same seed.

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::*;
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) ^ (self.0 >> 7)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn leaf_type(&mut self) -> DataType {
        let types = [
            DataType::Boolean,
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::UInt8,
            DataType::UInt32,
            DataType::UInt64,
            DataType::Float32,
            DataType::Float64,
            DataType::Utf8,
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Binary,
            DataType::Date32,
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            DataType::Decimal128(20, 3),
            DataType::FixedSizeBinary(3),
            DataType::Null,
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        ];
        types[self.below(types.len())].clone()
    }

    pub fn data_type(&mut self, depth: usize) -> DataType {
        let inner = |r: &mut Self, name: &str| {
            let t = r.data_type(depth - 1);
            Arc::new(Field::new(name, t, true))
        };
        match if depth == 0 { 0 } else { self.below(6) } {
            0 if self.below(6) == 0 => {
                let items = [DataType::Float32, DataType::Int8, DataType::Boolean];
                let item = Field::new("item", items[self.below(3)].clone(), true);
                DataType::FixedSizeList(Arc::new(item), [1, 3, 8, 100][self.below(4)])
            }
            0 => self.leaf_type(),
            1 | 2 => DataType::List(inner(self, "item")),
            3 => DataType::LargeList(inner(self, "element")),
            _ => {
                let count = 1 + self.below(3);
                DataType::Struct((0..count).map(|i| inner(self, &format!("m{i}"))).collect())
            }
        }
    }

    fn nulls(&mut self, n: usize, percent: usize) -> Option<NullBuffer> {
        (percent > 0).then(|| NullBuffer::from_iter((0..n).map(|_| self.below(100) >= percent)))
    }

    pub fn array(&mut self, t: &DataType, n: usize, percent: usize) -> ArrayRef {
        match t {
            DataType::Null => Arc::new(NullArray::new(n)),
            DataType::Struct(fields) => {
                let members = fields.iter().map(|f| self.array(f.data_type(), n, percent)).collect();
                Arc::new(StructArray::new(fields.clone(), members, self.nulls(n, percent)))
            }
            DataType::List(item) | DataType::LargeList(item) => {
                let lengths: Vec<usize> = (0..n)
                    .map(|_| match self.below(20) {
                        0..=5 => 0,
                        19 if self.below(40) == 0 => 3000,
                        k => k % 4,
                    })
                    .collect();
                let nulls = self.nulls(n, percent);
                let items = self.array(item.data_type(), lengths.iter().sum(), percent);
                if matches!(t, DataType::List(_)) {
                    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
                    Arc::new(ListArray::new(item.clone(), offsets, items, nulls))
                } else {
                    let offsets = OffsetBuffer::<i64>::from_lengths(lengths);
                    Arc::new(LargeListArray::new(item.clone(), offsets, items, nulls))
                }
            }
            DataType::FixedSizeList(item, size) => {
                let items = self.array(item.data_type(), n * usize::try_from(*size).unwrap(), percent / 2);
                let nulls = self.nulls(n, percent);
                Arc::new(FixedSizeListArray::new(item.clone(), *size, items, nulls))
            }
            leaf => self.leaf(leaf, n, percent),
        }
    }

    fn leaf(&mut self, t: &DataType, n: usize, percent: usize) -> ArrayRef {
        let style = self.below(5);
        let mut number = |i: usize| match style {
            0 => self.next() as i64,
            1 => self.below(100) as i64,
            2 => (i / 300) as i64,
            3 => 7,
            _ => (self.below(20) * 1_000_003) as i64,
        };
        let numbers: Vec<i64> = (0..n).map(&mut number).collect();
        let nulls = self.nulls(n, percent);
        let wide = self.below(8) == 0;
        let text = |x: &i64| {
            let word = format!("{:x}", x.wrapping_mul(0x9E37_79B9));
            if wide { word.repeat(40) } else { word[..word.len().min(1 + (x & 7) as usize)].to_owned() }
        };
        let valid = |i: usize| nulls.as_ref().is_none_or(|n| n.is_valid(i));
        let texts = numbers.iter().enumerate().map(|(i, x)| valid(i).then(|| text(x)));
        match t {
            DataType::Boolean => Arc::new(BooleanArray::new(numbers.iter().map(|x| x % 3 == 0).collect(), nulls)),
            DataType::Utf8 => Arc::new(StringArray::from_iter(texts)),
            DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(texts)),
            DataType::Binary => Arc::new(BinaryArray::from_iter(texts)),
            DataType::Dictionary(_, _) => {
                let texts: StringArray = texts.map(|t| t.map(|t| t[..t.len().min(1)].to_owned())).collect();
                cast(&texts, t).unwrap()
            }
            fixed => {
                let width = fixed.primitive_width().unwrap_or(3);
                let bytes = numbers.iter().flat_map(|x| {
                    let x = if width == 16 { i128::from(*x % 1_000_000_000_000) } else { i128::from(*x) };
                    x.to_le_bytes().into_iter().take(width).collect::<Vec<u8>>()
                });
                let data = ArrayData::builder(fixed.clone())
                    .len(n)
                    .nulls(nulls)
                    .add_buffer(bytes.collect::<Vec<u8>>().into())
                    .align_buffers(true);
                make_array(data.build().unwrap())
            }
        }
    }

    pub fn table(&mut self) -> RecordBatch {
        let rows = [1, 2, 17, 300, 1024, 1500, 5000][self.below(7)];
        let columns = 1 + self.below(3);
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for i in 0..columns {
            let depth = [0, 0, 1, 1, 2, 3][self.below(6)];
            let t = self.data_type(depth);
            let percent = [0, 0, 10, 50, 100][self.below(5)];
            arrays.push(self.array(&t, rows, percent));
            fields.push(Field::new(format!("c{i}"), t, true));
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }
}
