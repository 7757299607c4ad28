//! Files of Lance datasets beside those with data: manifests, transactions, and both kinds of deletion files.

use crate::change::Dice;
use crate::{limits, protobuf};
use bytes::Bytes;
use colkit_core::Result;
use colkit_core::drive::blocking;
use colkit_lance::dataset::{
    Base, Change, Deletion, DeletionKind, DeletionVector, NewFile, Seen, Start, VersionSummary, Writer, operation,
};

/// Bytes after the message of a manifest.
const TRAILER: usize = 16;

/// Changes one thing in the message of a manifest, or in a transaction, and makes the rest fit.
pub fn change(file: &[u8], _: usize, dice: &mut Dice) -> Option<Vec<u8>> {
    if file.starts_with(b"ARROW1") || is_bitmap(file) {
        return None;
    }
    if !file.ends_with(b"LANC") {
        return protobuf::change(file, dice);
    }
    let trailer = file.get(file.len().checked_sub(TRAILER)?..)?;
    let at = usize::try_from(u64::from_le_bytes(trailer.get(..8)?.try_into().ok()?)).ok()?;
    let message = file.get(at.checked_add(4)?..file.len() - TRAILER)?;
    let message = protobuf::change(message, dice)?;
    let mut out = file.get(..at)?.to_vec();
    out.extend(u32::try_from(message.len()).ok()?.to_le_bytes());
    out.extend(message);
    out.extend(trailer);
    Some(out)
}

fn is_bitmap(file: &[u8]) -> bool {
    file.starts_with(b"\x3a\x30") || file.starts_with(b"\x3b\x30")
}

/// Asks everything of a file. Versions that are made of a manifest must be readable.
pub fn everything(file: &[u8]) {
    const ROWS: u64 = 1 << 20;
    if file.starts_with(b"ARROW1") || is_bitmap(file) {
        let kind = if is_bitmap(file) { DeletionKind::Bitmap } else { DeletionKind::Arrow };
        if let Ok(Some(all)) = DeletionVector::new(Some((kind, file)), &[], ROWS, &limits()) {
            let again = DeletionVector::new(Some((all.kind(), all.bytes())), &[], ROWS, &limits());
            assert_eq!(again.ok().flatten().map(|a| a.count()), Some(all.count()), "what is written is read");
        }
    } else if file.ends_with(b"LANC") {
        let bytes = Bytes::copy_from_slice(file);
        let _ = blocking::run(VersionSummary::read(file.len() as u64), &bytes);
        if let Ok(base) = Base::parse(&bytes, &limits()) {
            let _ = base.needed();
            let _ = versions_after(&base);
        }
    } else {
        let _ = (Seen::of(file), operation(file));
    }
}

/// Versions that can follow this one.
fn versions_after(base: &Base) -> Result<()> {
    base.check_writable()?;
    let start = Start { uuid: "00000000-0000-4000-8000-000000000000".into(), read_version: base.version() };
    let by = Writer { time: 0 };
    let columns: Vec<usize> = (0..base.schema().fields().len()).collect();
    let file = NewFile { name: "new.lance".into(), rows: 9, bytes: 99 };
    let mut changes = vec![Change::Append(base.file_columns(&columns)?, vec![file])];
    if let Some(fragment) = base.fragments()?.first() {
        let _ = base.lineage(fragment.id, None, &limits());
        if fragment.rows > 0 {
            let vector = DeletionVector::new(None, &[0], fragment.rows, &limits())?;
            let deletion = Deletion { fragment: fragment.id, vector: vector.map(|vector| (vector, 7)) };
            changes.push(Change::Delete(vec![deletion], "true".into()));
        }
    }
    for change in changes {
        let transaction = change.transaction(Some(base), &start)?;
        let next = change.next(Some(base), &transaction, base.version(), by)?;
        match Base::parse(&next.manifest, &limits()) {
            Ok(next) => assert_eq!(next.version(), base.version() + 1),
            Err(error) => panic!("a version that was made cannot be read: {error}"),
        }
    }
    Ok(())
}
