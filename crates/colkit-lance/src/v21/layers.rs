//! Repetition and definition levels.
//!
//! A column carries one layer per step from the leaf to the top: an item (leaf, struct) or a list. Definition levels
//! are numbered from the inside out: 0 means that everything is there, each nullable layer takes one number, a list
//! that may be null or empty takes two. Repetition level r says that the r-th list, counted from the inside, starts at
//! this entry; 0 continues the innermost. (Parquet counts both the other way round.)
//!
//! An entry whose definition level lies above those of the items inside the first list stands for a list without
//! items or for something around it: it has no value.

use crate::encoding::Shape;
use crate::schema::Kind;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use colkit_core::{Error, Result};

/// One layer, as it is in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    AllValidItem,
    AllValidList,
    NullableItem,
    NullableList,
    EmptyableList,
    NullAndEmptyList,
}

impl Layer {
    fn parse(number: i32) -> Result<Layer> {
        Ok(match number {
            1 => Layer::AllValidItem,
            2 => Layer::AllValidList,
            3 => Layer::NullableItem,
            4 => Layer::NullableList,
            5 => Layer::EmptyableList,
            6 => Layer::NullAndEmptyList,
            other => return Err(bad_levels(format!("an unknown layer {other}"))),
        })
    }

    /// Definition levels it takes.
    fn levels(self) -> u16 {
        match self {
            Layer::AllValidItem | Layer::AllValidList => 0,
            Layer::NullableItem | Layer::NullableList | Layer::EmptyableList => 1,
            Layer::NullAndEmptyList => 2,
        }
    }

    fn is_list(self) -> bool {
        !matches!(self, Layer::AllValidItem | Layer::NullableItem)
    }

    /// Its level for an empty list, given the levels inside.
    fn empty_level(self, inside: u16) -> Option<u16> {
        match self {
            Layer::EmptyableList => Some(inside + 1),
            Layer::NullAndEmptyList => Some(inside + 2),
            _ => None,
        }
    }
}

fn bad_levels(what: impl Into<String>) -> Error {
    Error::corrupt("bad_levels", what)
}

/// The layers of a page, innermost first.
#[derive(Debug)]
pub(super) struct Layers {
    layers: Vec<Layer>,
    /// The highest level of an entry that has a value.
    pub max_visible: u16,
    pub max_def: u16,
    /// The number of lists; the repetition level that starts a row.
    pub max_rep: u16,
    /// For each definition level, the lists up to and including the layer that it belongs to.
    owners: Vec<u16>,
}

/// Levels of some rows. `None` stands for all zero.
#[derive(Debug, Default)]
pub(super) struct Levels {
    pub rep: Option<Vec<u16>>,
    pub def: Option<Vec<u16>>,
    /// Number of entries.
    pub entries: usize,
}

/// More nesting than any schema has.
const MOST_LAYERS: usize = 256;

impl Layers {
    pub fn parse(numbers: &[i32]) -> Result<Layers> {
        if numbers.is_empty() || numbers.len() > MOST_LAYERS {
            return Err(bad_levels(format!("a page with {} layers", numbers.len())));
        }
        let layers = numbers.iter().map(|n| Layer::parse(*n)).collect::<Result<Vec<_>>>()?;
        let (mut max_def, mut max_rep, mut max_visible, mut owners) = (0, 0, 0, vec![0]);
        for layer in &layers {
            max_rep += u16::from(layer.is_list());
            max_def += layer.levels();
            owners.extend((0..layer.levels()).map(|_| max_rep));
            if max_rep == 0 {
                max_visible = max_def;
            }
        }
        Ok(Layers { layers, max_visible, max_def, max_rep, owners })
    }

    /// An error unless the layers are those of a leaf with this around it.
    pub fn check(&self, around: &[Kind]) -> Result<()> {
        let lists = around.iter().map(|k| matches!(k, Kind::List | Kind::Map));
        let same = self.layers.iter().map(|l| l.is_list()).eq(std::iter::once(false).chain(lists));
        if same { Ok(()) } else { Err(bad_levels(format!("layers {:?} for a field inside {around:?}", self.layers))) }
    }

    /// An error if a level is higher than the layers allow.
    pub fn check_levels(&self, levels: &Levels) -> Result<()> {
        let too_high = |levels: &Option<Vec<u16>>, most: u16| {
            levels.as_ref().and_then(|l| l.iter().copied().max()).filter(|highest| *highest > most)
        };
        if let Some(found) = too_high(&levels.rep, self.max_rep) {
            return Err(bad_levels(format!("repetition level {found} where {} is the highest", self.max_rep)));
        }
        if let Some(found) = too_high(&levels.def, self.max_def) {
            return Err(bad_levels(format!("definition level {found} where {} is the highest", self.max_def)));
        }
        Ok(())
    }

    /// How many of these entries have a value.
    pub fn visible(&self, def: &[u16]) -> usize {
        if self.max_visible >= self.max_def {
            return def.len();
        }
        def.iter().filter(|d| **d <= self.max_visible).count()
    }

    /// Whether some entries may be without a value.
    pub fn hides(&self) -> bool {
        self.max_visible < self.max_def
    }

    /// The leaf's nulls, and the shape of each layer around it.
    pub fn unravel(&self, levels: Levels, around: &[Kind]) -> Result<(Option<NullBuffer>, Vec<Shape>)> {
        self.check(around)?;
        self.check_levels(&levels)?;
        let mut state = Unravel { layers: self, levels, inside: 0, lists: 0 };
        let mut kinds = around.iter();
        let mut shapes = Vec::with_capacity(around.len());
        let mut leaf = None;
        for (depth, layer) in self.layers.iter().enumerate() {
            if depth > 0
                && let Some(Kind::FixedSizeList(dimension)) = kinds.next()
            {
                state.thin(*dimension)?;
            }
            let shape = if layer.is_list() { state.list(depth, *layer)? } else { state.item(*layer) };
            match shape {
                Shape::Item { nulls, .. } if depth == 0 => leaf = nulls,
                shape => shapes.push(shape),
            }
        }
        Ok((leaf, shapes))
    }
}

struct Unravel<'a> {
    layers: &'a Layers,
    levels: Levels,
    /// Definition levels of the layers handled so far.
    inside: u16,
    /// Lists among them.
    lists: u16,
}

impl Unravel<'_> {
    fn item(&mut self, layer: Layer) -> Shape {
        let inside = self.inside;
        self.inside += layer.levels();
        let Some(def) = &self.levels.def else { return Shape::Item { length: self.levels.entries, nulls: None } };
        // Entries of lists further out have no slot in this layer.
        let highest = self.layers.owners.iter().rposition(|o| *o <= self.lists).unwrap_or(0);
        let all = highest >= usize::from(self.layers.max_def);
        if all && layer == Layer::NullableItem {
            return Shape::Item { length: def.len(), nulls: valid_up_to(def, inside) };
        }
        if all {
            return Shape::Item { length: def.len(), nulls: None };
        }
        let slots: Vec<u16> = def.iter().copied().filter(|d| usize::from(*d) <= highest).collect();
        let nulls = if layer == Layer::NullableItem { valid_up_to(&slots, inside) } else { None };
        Shape::Item { length: slots.len(), nulls }
    }

    fn list(&mut self, depth: usize, layer: Layer) -> Result<Shape> {
        let inside = self.inside;
        let empty = layer.empty_level(inside);
        let upper = inside + layer.levels();
        // Structs between this list and the next hide the list when they are null, but still give it a slot.
        let structs = self.layers.layers.iter().skip(depth + 1).take_while(|l| !l.is_list());
        let top = upper + structs.map(|l| l.levels()).sum::<u16>();
        self.inside = upper;
        self.lists += 1;
        let Some(rep) = self.levels.rep.take() else { return Err(bad_levels("lists without repetition levels")) };
        let def = self.levels.def.take();
        if def.as_ref().is_some_and(|d| d.len() != rep.len()) {
            return Err(bad_levels(format!(
                "{} repetition levels, {:?} definition levels",
                rep.len(),
                def.map(|d| d.len())
            )));
        }
        let (mut offsets, mut valid) = (Vec::new(), Vec::new());
        let (mut outer_rep, mut outer_def) = (Vec::new(), Vec::new());
        let mut some_null = false;
        let mut items = 0u64;
        let defs = def.as_deref().unwrap_or_default().iter().copied().map(Some).chain(std::iter::repeat(None));
        for (rep, d) in rep.iter().copied().zip(defs) {
            let level = d.unwrap_or(0);
            if rep == 0 {
                items += 1;
                continue;
            }
            outer_rep.push(rep - 1);
            outer_def.extend(d);
            if level > top {
                continue;
            }
            offsets.push(items);
            let starts = level <= inside;
            let is_valid = starts || Some(level) == empty;
            items += u64::from(starts);
            some_null |= !is_valid;
            valid.push(is_valid);
        }
        offsets.push(items);
        self.levels.entries = outer_rep.len();
        self.levels.rep = Some(outer_rep);
        self.levels.def = def.is_some().then_some(outer_def);
        let nulls = some_null.then(|| NullBuffer::from(valid));
        Ok(Shape::List { offsets, nulls })
    }

    /// Above a fixed-size list of structs only one of each list's entries counts.
    fn thin(&mut self, dimension: u32) -> Result<()> {
        if self.layers.max_rep > 0 {
            return Err(Error::unsupported("unknown_type", "lists inside or around fixed-size lists of structs"));
        }
        let step = usize::try_from(dimension).unwrap_or(usize::MAX).max(1);
        if !self.levels.entries.is_multiple_of(step) {
            return Err(bad_levels(format!("{} entries in fixed-size lists of {step}", self.levels.entries)));
        }
        self.levels.entries /= step;
        if let Some(def) = &mut self.levels.def {
            *def = def.iter().copied().step_by(step).collect();
        }
        Ok(())
    }
}

/// Validity of slots that are valid up to a level; `None` if all are.
fn valid_up_to(def: &[u16], highest: u16) -> Option<NullBuffer> {
    let mut words = Vec::with_capacity(def.len().div_ceil(64));
    for part in def.chunks(64) {
        let bits = part.iter().rev().fold(0u64, |bits, d| bits << 1 | u64::from(*d <= highest));
        words.push(bits);
    }
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, def.len()));
    (nulls.null_count() > 0).then_some(nulls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(length: usize, valid: Option<&[bool]>) -> Shape {
        Shape::Item { length, nulls: valid.map(|v| NullBuffer::from(v.to_vec())) }
    }

    #[test]
    fn lists_with_null_and_empty() {
        // [[1,2,3], null, [], [4,null], [5]]
        let layers = Layers::parse(&[3, 6]).unwrap();
        assert_eq!((layers.max_visible, layers.max_def, layers.max_rep), (1, 3, 1));
        let levels =
            Levels { rep: Some(vec![1, 0, 0, 1, 1, 1, 0, 1]), def: Some(vec![0, 0, 0, 2, 3, 0, 1, 0]), entries: 8 };
        let (leaf, shapes) = layers.unravel(levels, &[Kind::List]).unwrap();
        assert_eq!(leaf, Some(NullBuffer::from(vec![true, true, true, true, false, true])));
        let nulls = Some(NullBuffer::from(vec![true, false, true, true, true]));
        assert_eq!(shapes, [Shape::List { offsets: vec![0, 3, 3, 3, 5, 6], nulls }]);
    }

    #[test]
    fn three_lists_deep() {
        // [{<0,1>,<>,<2>},{<3>},{}], [], [{<4>}]
        let layers = Layers::parse(&[1, 5, 5, 5]).unwrap();
        let levels =
            Levels { rep: Some(vec![3, 0, 1, 1, 2, 2, 3, 3]), def: Some(vec![0, 0, 1, 0, 0, 2, 3, 0]), entries: 8 };
        let (leaf, shapes) = layers.unravel(levels, &[Kind::List; 3]).unwrap();
        assert_eq!(leaf, None);
        let offsets = |o: &[u64]| Shape::List { offsets: o.to_vec(), nulls: None };
        assert_eq!(shapes, [offsets(&[0, 2, 2, 3, 4, 5]), offsets(&[0, 3, 4, 4, 5]), offsets(&[0, 3, 3, 4])]);
    }

    #[test]
    fn structs_without_lists() {
        // [{1}, null, {null}]: 1 = null child, 2 = null struct
        let layers = Layers::parse(&[3, 3]).unwrap();
        let levels = Levels { rep: None, def: Some(vec![0, 2, 1]), entries: 3 };
        let (leaf, shapes) = layers.unravel(levels, &[Kind::Struct]).unwrap();
        assert_eq!(leaf, Some(NullBuffer::from(vec![true, false, false])));
        assert_eq!(shapes, [item(3, Some(&[true, false, true]))]);
    }

    #[test]
    fn a_null_struct_around_a_list_is_a_null_list_too() {
        // struct<list<int>>: {[7]}, null, {null}, {[]}
        let layers = Layers::parse(&[3, 6, 3]).unwrap();
        let levels = Levels { rep: Some(vec![1, 1, 1, 1]), def: Some(vec![0, 4, 2, 3]), entries: 4 };
        let (leaf, shapes) = layers.unravel(levels, &[Kind::List, Kind::Struct]).unwrap();
        assert_eq!(leaf, None);
        let nulls = Some(NullBuffer::from(vec![true, false, false, true]));
        assert_eq!(shapes[0], Shape::List { offsets: vec![0, 1, 1, 1, 1], nulls });
        assert_eq!(shapes[1], item(4, Some(&[true, false, true, true])));
    }

    #[test]
    fn impossible_levels_are_refused() {
        let layers = Layers::parse(&[3, 4]).unwrap();
        let levels = |rep: u16, def: u16| Levels { rep: Some(vec![rep]), def: Some(vec![def]), entries: 1 };
        assert!(layers.unravel(levels(2, 0), &[Kind::List]).is_err());
        assert!(layers.unravel(levels(1, 3), &[Kind::List]).is_err());
        assert!(layers.unravel(levels(1, 0), &[Kind::Struct]).is_err());
        assert!(layers.unravel(levels(1, 0), &[]).is_err());
        assert!(Layers::parse(&[]).is_err() && Layers::parse(&[7]).is_err());
    }
}
