//! Transactions: what makes a version, so that others who write at the same time know whether it is in their way.
//!
//! ```text
//! _transactions/{version that was read}-{uuid}.txn
//! ```

use super::messages::{DataFragment, Transaction as Message};
use super::wire::{put, put_number};
use bytes::Bytes;
use prost::Message as _;

/// A transaction that is to be committed.
#[derive(Clone, Debug)]
pub struct Transaction {
    uuid: String,
    read_version: u64,
    bytes: Bytes,
}

/// Numbers of operations.
const APPEND: u32 = 100;
const DELETE: u32 = 101;
const OVERWRITE: u32 = 102;
const REWRITE: u32 = 104;
const RESTORE: u32 = 106;

impl Transaction {
    /// What its file in the folder `_transactions` is called.
    pub fn file_name(&self) -> String {
        format!("{}-{}.txn", self.read_version, self.uuid)
    }

    /// What is in the file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Its own name, by which it is recognised.
    pub fn uuid(&self) -> &str {
        &self.uuid
    }

    fn new(start: &Start, operation: u32, body: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(body.len() + 64);
        put_number(1, start.read_version, &mut bytes);
        put(2, start.uuid.as_bytes(), &mut bytes);
        put(operation, body, &mut bytes);
        Transaction { uuid: start.uuid.clone(), read_version: start.read_version, bytes: bytes.into() }
    }

    pub(super) fn append(start: &Start, fragments: &[DataFragment]) -> Self {
        let mut body = Vec::new();
        fragments.iter().for_each(|fragment| put(1, &fragment.encode_to_vec(), &mut body));
        Self::new(start, APPEND, &body)
    }

    /// `schema` has the fields and the metadata of the new schema as a manifest has them.
    pub(super) fn overwrite(
        start: &Start,
        fragments: &[DataFragment],
        fields: &[Vec<u8>],
        metadata: &[Vec<u8>],
    ) -> Self {
        let mut body = Vec::new();
        fragments.iter().for_each(|fragment| put(1, &fragment.encode_to_vec(), &mut body));
        fields.iter().for_each(|field| put(2, field, &mut body));
        metadata.iter().for_each(|entry| put(3, entry, &mut body));
        Self::new(start, OVERWRITE, &body)
    }

    pub(super) fn delete(start: &Start, changed: &[Bytes], removed: &[u64], predicate: &str) -> Self {
        let mut body = Vec::new();
        changed.iter().for_each(|fragment| put(1, fragment, &mut body));
        removed.iter().for_each(|id| put_number(2, *id, &mut body));
        put(3, predicate.as_bytes(), &mut body);
        Self::new(start, DELETE, &body)
    }

    /// Each group has the fragments before and those after.
    pub(super) fn rewrite(start: &Start, groups: &[(Vec<Bytes>, Vec<Bytes>)]) -> Self {
        let mut body = Vec::new();
        for (before, after) in groups {
            let mut group = Vec::new();
            before.iter().for_each(|fragment| put(1, fragment, &mut group));
            after.iter().for_each(|fragment| put(2, fragment, &mut group));
            put(3, &group, &mut body);
        }
        Self::new(start, REWRITE, &body)
    }

    pub(super) fn restore(start: &Start, version: u64) -> Self {
        let mut body = Vec::new();
        put_number(1, version, &mut body);
        Self::new(start, RESTORE, &body)
    }
}

/// What a transaction begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// A name of its own, as a UUID.
    pub uuid: String,
    /// The version that was read.
    pub read_version: u64,
}

/// What another transaction means for one of ours that was made at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Rows came, went or moved; columns are as they were.
    Rows,
    /// Columns came, went or changed.
    Columns,
    /// The table is another one, or nobody knows.
    Everything,
}

impl Seen {
    /// What a transaction means; one that cannot be read may be anything.
    pub fn of(transaction: &[u8]) -> Self {
        use super::messages::Operation as O;
        let known = Message::decode(transaction).ok().and_then(|transaction| transaction.operation);
        match known {
            Some(
                O::Append(_)
                | O::Delete(_)
                | O::Update(_)
                | O::Rewrite(_)
                | O::CreateIndex(_)
                | O::ReserveFragments(_)
                | O::UpdateConfig(_)
                | O::UpdateBases(_)
                | O::DataReplacement(_)
                | O::DataOverlay(_)
                | O::Clone(_),
            ) => Seen::Rows,
            Some(O::Merge(_) | O::Project(_)) => Seen::Columns,
            Some(O::Overwrite(_) | O::Restore(_) | O::UpdateMemWal(_)) | None => Seen::Everything,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::operation;
    use super::*;

    fn start() -> Start {
        Start { uuid: "0c6e9b3e-0000-4000-8000-000000000000".into(), read_version: 7 }
    }

    #[test]
    fn transactions_say_what_they_do() {
        let append = Transaction::append(&start(), &[DataFragment::default()]);
        assert_eq!(operation(append.bytes()), Some("append"));
        assert_eq!(append.file_name(), "7-0c6e9b3e-0000-4000-8000-000000000000.txn");
        assert_eq!(append.bytes().get(..4), Some([0x08, 7, 0x12, 36].as_slice()));
        assert_eq!(operation(Transaction::delete(&start(), &[], &[1, 2], "a > 1").bytes()), Some("delete"));
        assert_eq!(operation(Transaction::overwrite(&start(), &[], &[], &[]).bytes()), Some("overwrite"));
        assert_eq!(operation(Transaction::rewrite(&start(), &[]).bytes()), Some("rewrite"));
        assert_eq!(operation(Transaction::restore(&start(), 3).bytes()), Some("restore"));
    }

    #[test]
    fn what_others_do_is_told_apart() {
        assert_eq!(Seen::of(Transaction::append(&start(), &[]).bytes()), Seen::Rows);
        assert_eq!(Seen::of(Transaction::restore(&start(), 3).bytes()), Seen::Everything);
        assert_eq!(Seen::of(&[0xea, 0x06, 0x00]), Seen::Columns, "a projection");
        assert_eq!(Seen::of(&[0xa2, 0x07, 0x00]), Seen::Everything, "operation 116 is not known");
        assert_eq!(Seen::of(b"\xff"), Seen::Everything);
    }
}
