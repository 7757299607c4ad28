//! Byte maps of files whose parts may lie anywhere, even over each other.

use colkit_core::{ByteRange, Layout, Region};

/// The byte map made of `regions`. Where two claim the same bytes, the one that starts first has them.
pub(crate) fn layout(size: u64, mut regions: Vec<Region>) -> Layout {
    regions.sort_by_key(|r| (r.range.start(), r.range.end()));
    let mut at = 0;
    for region in &mut regions {
        let (start, end) = (region.range.start().max(at), region.range.end().min(size));
        if start != region.range.start() {
            region.parts.clear();
        }
        region.range = ByteRange::between(start.min(size), end);
        at = at.max(region.range.end());
    }
    Layout::cover(size, regions)
}
