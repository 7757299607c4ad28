//! AT-1 files as tables.

pub mod builder;
pub mod cells;
pub mod column_reader;
pub mod groups;
pub mod in_memory;
pub mod opaque;
pub mod resident;
pub mod rows;
pub mod text;
pub mod verify;
pub mod verify_bundle;

use crate::backend::Backend;
use crate::checksum;
use crate::codec::{Codec, View};
use crate::container::{Container, Content, HEAD};
use crate::queryable::Queryable;
use crate::queryable::shape::{Blocks, Shape, Zone};
use crate::stream_set::Entry;
use arrow::record_batch::RecordBatch;
use colkit_core::{Boxed, ByteRange, Layout, Limits, Region, RegionKind, Result, Scan, Verified};
use std::sync::Arc;

/// What every table knows about the file it comes from.
pub struct File {
    /// The parts of the file.
    pub container: Arc<Container>,
    /// The ceilings it was opened with.
    pub limits: Limits,
}

impl File {
    /// Facts about the container.
    pub fn properties(&self) -> Vec<(&'static str, String)> {
        let container = &self.container;
        let kind = if container.is_streaming() { "streaming" } else { "whole-file" };
        let mut facts = vec![("codec", container.codec.name().to_string()), ("container", kind.to_string())];
        let list = |names: &mut dyn Iterator<Item = &'static str>| {
            let mut names: Vec<&str> = names.collect();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        };
        match &container.content {
            Content::Raw(payload) => {
                facts.push(("framing", payload.framing.name().to_string()));
                facts.push(("backends", payload.backend.name().to_string()));
            }
            Content::Streams(entries) => {
                facts.push(("framing", list(&mut entries.iter().map(|e| e.framing.name()))));
                facts.push(("backends", list(&mut entries.iter().map(|e| e.backend.name()))));
                facts.push(("streams", entries.len().to_string()));
            }
            Content::Frames { chunk_lines, frames, .. } => {
                facts.push(("chunk_lines", chunk_lines.to_string()));
                facts.push(("frames", frames.len().to_string()));
                facts.push(("raw_frames", frames.iter().filter(|f| !f.structured).count().to_string()));
            }
        }
        let trailer = match container.trailer {
            Some(hash) => format!("sha256 {}", hash.iter().map(|b| format!("{b:02x}")).collect::<String>()),
            None => "none".to_string(),
        };
        facts.push(("trailer", trailer));
        facts
    }

    /// The byte map; for queryable files block by block.
    pub fn layout(&self, lines: Option<&Queryable>) -> Result<Layout> {
        let container = &self.container;
        let blocks = lines.iter().flat_map(|l| &l.shapes).map(|shape| shape.index.len()).sum::<usize>();
        let frames = match &container.content {
            Content::Frames { frames, .. } => 2 * frames.len(),
            _ => 0,
        };
        self.limits.check_regions(blocks + frames)?;
        let mut regions = vec![Region::new(ByteRange::between(0, HEAD), RegionKind::Header, "magic and codec")];
        match &container.content {
            Content::Raw(payload) => {
                let backend = ByteRange::between(HEAD, payload.data.start());
                regions.push(Region::new(backend, RegionKind::Header, "backend"));
                let mut data = Region::new(payload.data, RegionKind::Data, "payload");
                data.encoding = Some(payload.backend.name().to_string());
                regions.push(data);
            }
            Content::Streams(entries) => {
                let first = entries.first().map_or(container.body_end, |e| e.header.start());
                let count = ByteRange::between(HEAD, first);
                regions.push(Region::new(count, RegionKind::Metadata, "number of streams"));
                for entry in entries {
                    let name = format!("header of stream {:?}", entry.name);
                    regions.push(Region::new(entry.header, RegionKind::Metadata, name));
                    stream_regions(entry, container.codec, lines, &mut regions);
                }
            }
            Content::Frames { start, frames, .. } => {
                let range = ByteRange::between(HEAD, *start);
                regions.push(Region::new(range, RegionKind::Metadata, "chunk_lines"));
                for (i, frame) in frames.iter().enumerate() {
                    let kind = if frame.structured { "structured" } else { "raw" };
                    regions.push(Region::new(frame.header, RegionKind::Metadata, format!("header of frame {i}")));
                    regions.push(Region::new(frame.payload, RegionKind::Data, format!("frame {i} ({kind})")));
                }
            }
        }
        let trailer = ByteRange::between(container.body_end, container.size);
        regions.push(Region::new(trailer, RegionKind::Metadata, "trailer"));
        Ok(Layout::cover(container.size, regions))
    }

    /// Restores the file without keeping it, and compares its hash; of a bundle all entries.
    pub fn verify(self: &Arc<Self>) -> Boxed<Verified> {
        match self.container.codec.coder().view() {
            View::Files => Box::new(verify_bundle::VerifyBundle::new(self.clone())),
            _ => Box::new(verify::Verify::new(self.clone(), None)),
        }
    }
}

fn stream_regions(entry: &Entry, codec: Codec, lines: Option<&Queryable>, regions: &mut Vec<Region>) {
    let shape = lines.and_then(|q| q.shapes.iter().find(|s| entry.name == format!("{}blocks", s.prefix)));
    if let (Some(shape), Some(q)) = (shape, lines)
        && let Blocks::File(offset) = shape.blocks
    {
        return block_regions(shape, offset, &groups::table_columns(q, shape), regions);
    }
    let plain = entry.name.rsplit_once(':').map_or(entry.name.as_str(), |(_, name)| name);
    let metadata = plain == checksum::NAME || codec.is_queryable() || codec.coder().metadata().contains(&plain);
    let kind = if metadata { RegionKind::Metadata } else { RegionKind::Data };
    let mut region = Region::new(entry.data, kind, format!("stream {:?}", entry.name));
    region.encoding = Some(entry.backend.name().to_string());
    region.raw_bytes = match entry.backend {
        Backend::Stored => Some(entry.data.len()),
        _ if entry.packed.is_some() => entry.raw_size().ok(),
        _ => None,
    };
    regions.push(region);
}

fn block_regions(shape: &Shape, offset: u64, columns: &[Option<usize>], regions: &mut Vec<Region>) {
    let width = shape.width().max(1);
    for (i, block) in shape.index.iter().enumerate() {
        let (group, c) = (i / width, i % width);
        let start = offset.saturating_add(block.at);
        let range = ByteRange::between(start, start.saturating_add(block.length));
        let zone = match block.zone {
            Zone::None => String::new(),
            Zone::Integer(min, max) => format!(", {min} to {max}"),
            Zone::Decimal(min, max) => format!(", {min:?} to {max:?}"),
        };
        let name = format!("{}block of column {c} in group {group}{zone}", shape.prefix);
        let mut region = Region::new(range, RegionKind::Data, name);
        region.column = columns.get(c).copied().flatten();
        regions.push(region);
    }
}

/// How many rows of this batch to give at a time.
pub fn batch_rows(batch: &RecordBatch, scan: &Scan) -> usize {
    let row = batch.get_array_memory_size() / batch.num_rows().max(1);
    scan.batch_rows.min(scan.batch_bytes / row.max(1)).max(1)
}
