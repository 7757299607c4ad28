//! Descriptions of pages and columns that lie in one buffer instead of beside each page.
//!
//! Pages of many columns are often described by the same bytes. They are written once, and each page says where.

use super::container::WrittenColumn;
use crate::container::messages::{DeferredEncoding, DirectEncoding, Encoding, Location};
use bytes::Bytes;
use prost::encoding::encoded_len_varint;
use std::collections::HashMap;

/// Bytes that another buffer takes: its entry in the table, and what it is aligned by.
const BUFFER: usize = 16 + 64;

/// The descriptions of some columns that are worth sharing, one after another.
pub(super) struct Shared {
    places: HashMap<Bytes, u64>,
    pub bytes: Vec<u8>,
}

fn encodings(columns: &mut [WrittenColumn]) -> impl Iterator<Item = &mut Encoding> {
    columns.iter_mut().flat_map(|column| {
        let pages = column.pages.iter_mut().filter_map(|page| page.encoding.as_mut());
        pages.chain(std::iter::once(&mut column.encoding))
    })
}

fn direct(encoding: &Encoding) -> Option<&Bytes> {
    match &encoding.location {
        Some(Location::Direct(DirectEncoding { encoding })) => Some(encoding),
        _ => None,
    }
}

/// Bytes of a description in its place, and of a reference to it. Positions are not known yet; `position` is about where.
fn lengths(description: &Bytes, position: u64) -> (usize, usize) {
    let here = description.len() + 1 + encoded_len_varint(description.len() as u64);
    let length = encoded_len_varint(description.len() as u64);
    (here, 2 + encoded_len_varint(position) + length)
}

impl Shared {
    /// What is worth sharing in a file that is about `position` bytes long so far; `None` if nothing is.
    pub fn of(columns: &mut [WrittenColumn], position: u64) -> Option<Shared> {
        let mut counts: HashMap<Bytes, usize> = HashMap::new();
        let mut order = Vec::new();
        for description in encodings(columns).filter_map(|e| direct(e).cloned()) {
            let count = counts.entry(description.clone()).or_insert(0);
            *count += 1;
            if *count == 2 {
                order.push(description);
            }
        }
        let mut shared = Shared { places: HashMap::new(), bytes: Vec::new() };
        let mut saved = 0usize;
        for description in order {
            let count = counts.get(&description).copied().unwrap_or(0);
            let (here, there) = lengths(&description, position.saturating_mul(2));
            let less = count.saturating_mul(here.saturating_sub(there)).saturating_sub(description.len());
            if less > 0 {
                saved += less;
                shared.places.insert(description.clone(), shared.bytes.len() as u64);
                shared.bytes.extend_from_slice(&description);
            }
        }
        (saved > BUFFER).then_some(shared)
    }

    /// Lets the columns refer to what lies from `position` on.
    pub fn refer(&self, columns: &mut [WrittenColumn], position: u64) {
        for encoding in encodings(columns) {
            let place = direct(encoding).and_then(|d| Some((*self.places.get(d)?, d.len() as u64)));
            if let Some((place, length)) = place {
                let there = DeferredEncoding { buffer_location: position + place, buffer_length: length };
                encoding.location = Some(Location::Indirect(there));
            }
        }
    }
}
