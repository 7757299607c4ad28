//! Messages between processes: a mark, a version, a kind, then protobuf.
//!
//! The version counts changes that an older process would misunderstand. One of another version is refused: an error is better
//! than a wrong answer.

use colkit::Error;
use colkit_sql::{OpenWords, PlaceParts, TableParts};
use datafusion::error::{DataFusionError, Result};
use prost::Message;
use std::path::PathBuf;

/// The version of all messages here.
pub const WIRE_VERSION: u32 = 1;

/// What our messages begin with. Ballista's are protobuf, which cannot begin so.
const MARK: &[u8; 8] = b"\xffcolkit\n";

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A [`TableMessage`].
    Table = 1,
    /// A [`ScanMessage`].
    Scan = 2,
    /// A [`ConvertMessage`].
    Convert = 3,
}

/// Appends a message.
pub(crate) fn write(kind: Kind, message: &impl Message, to: &mut Vec<u8>) {
    to.extend_from_slice(MARK);
    to.extend_from_slice(&WIRE_VERSION.to_le_bytes());
    to.push(kind as u8);
    to.extend_from_slice(&message.encode_to_vec());
}

/// The kind and the content of a message; `None` if it is not one of ours.
pub(crate) fn read(bytes: &[u8]) -> Option<Result<(Kind, &[u8])>> {
    let rest = bytes.strip_prefix(MARK)?;
    let Some((version, rest)) = rest.split_first_chunk::<4>() else { return Some(Err(damaged("it ends too early"))) };
    let version = u32::from_le_bytes(*version);
    if version != WIRE_VERSION {
        return Some(Err(other_version(version)));
    }
    let Some((kind, content)) = rest.split_first() else { return Some(Err(damaged("it ends too early"))) };
    let known = [Kind::Table, Kind::Scan, Kind::Convert].into_iter().find(|k| *k as u8 == *kind);
    Some(known.map(|known| (known, content)).ok_or_else(|| damaged(&format!("its kind is {kind}"))))
}

/// Decodes the content of a message.
pub(crate) fn decode<M: Message + Default>(content: &[u8]) -> Result<M> {
    M::decode(content).map_err(|e| damaged(&e.to_string()))
}

fn other_version(theirs: u32) -> DataFusionError {
    let what = format!(
        "a message of version {theirs} came from another process of the cluster, and this one, colkit {}, speaks version \
         {WIRE_VERSION}",
        env!("CARGO_PKG_VERSION"),
    );
    external(Error::unsupported("cluster_version", what).hint("run the same colkit everywhere"))
}

pub(crate) fn damaged(why: &str) -> DataFusionError {
    external(Error::internal(format!("a message of the cluster cannot be read: {why}")))
}

pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// An option of a query.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OptionMessage {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// How files are opened.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WordsMessage {
    #[prost(string, optional, tag = "1")]
    pub format: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub options: Vec<OptionMessage>,
}

impl From<OpenWords> for WordsMessage {
    fn from(words: OpenWords) -> Self {
        let options = words.options.into_iter().map(|(name, value)| OptionMessage { name, value }).collect();
        WordsMessage { format: words.format, options }
    }
}

impl From<WordsMessage> for OpenWords {
    fn from(message: WordsMessage) -> Self {
        let options = message.options.into_iter().map(|o| (o.name, o.value)).collect();
        OpenWords { format: message.format, options }
    }
}

/// A table of a query.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableMessage {
    #[prost(string, tag = "1")]
    pub name: String,
    /// A path; stores have none.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub path: Option<Vec<u8>>,
    #[prost(string, optional, tag = "3")]
    pub url: Option<String>,
    #[prost(bytes = "vec", repeated, tag = "4")]
    pub pattern: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub words: Option<WordsMessage>,
    #[prost(uint64, tag = "6")]
    pub file_columns: u64,
}

impl From<TableParts> for TableMessage {
    fn from(parts: TableParts) -> Self {
        let (path, url, pattern) = match parts.place {
            PlaceParts::Local(path) => (Some(path.into_os_string().into_encoded_bytes()), None, Vec::new()),
            PlaceParts::Objects(url, pattern) => (None, Some(url), pattern),
        };
        let (words, file_columns) = (Some(parts.words.into()), parts.file_columns as u64);
        TableMessage { name: parts.name, path, url, pattern, words, file_columns }
    }
}

impl TryFrom<TableMessage> for TableParts {
    type Error = DataFusionError;

    fn try_from(message: TableMessage) -> Result<Self> {
        let place = match (message.path, message.url) {
            (Some(path), None) => PlaceParts::Local(path_of(path)?),
            (None, Some(url)) => PlaceParts::Objects(url, message.pattern),
            _ => return Err(damaged("a table is at a path or a URL")),
        };
        let file_columns = usize::try_from(message.file_columns).map_err(|_| damaged("too many columns"))?;
        let words = message.words.unwrap_or_default().into();
        Ok(TableParts { name: message.name, place, words, file_columns })
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> Result<PathBuf> {
    String::from_utf8(bytes).map(PathBuf::from).map_err(|_| damaged("a path is no text"))
}

/// A scan of files: which of them, which byte ranges, which columns, which rows.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScanMessage {
    #[prost(message, optional, tag = "1")]
    pub files: Option<datafusion_proto::protobuf::FileScanExecConf>,
    #[prost(message, optional, tag = "2")]
    pub filter: Option<datafusion_proto::protobuf::PhysicalExprNode>,
    #[prost(message, optional, tag = "3")]
    pub words: Option<WordsMessage>,
}

/// How the files of a conversion are read and written.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConvertMessage {
    #[prost(message, repeated, tag = "1")]
    pub options: Vec<OptionMessage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TableParts {
        TableParts {
            name: "csv('x.csv', delimiter => ';')".into(),
            place: PlaceParts::Objects("s3://bucket/x/".into(), vec![b"part-*.csv".to_vec()]),
            words: OpenWords { format: Some("csv".into()), options: vec![("delimiter".into(), ";".into())] },
            file_columns: 3,
        }
    }

    #[test]
    fn messages_come_back() {
        let local = TableParts { place: PlaceParts::Local("/data/x.csv".into()), ..table() };
        for parts in [table(), local] {
            let mut bytes = Vec::new();
            write(Kind::Table, &TableMessage::from(parts.clone()), &mut bytes);
            let (kind, content) = read(&bytes).unwrap().unwrap();
            assert_eq!(kind, Kind::Table);
            assert_eq!(TableParts::try_from(decode::<TableMessage>(content).unwrap()).unwrap(), parts);
        }
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let mut bytes = Vec::new();
        write(Kind::Table, &TableMessage::from(table()), &mut bytes);
        bytes[MARK.len()] += 1;
        let error = read(&bytes).unwrap().unwrap_err().to_string();
        assert!(error.contains("version 2") && error.contains("speaks version 1"), "{error}");
        // Whatever is cut off is an error too.
        for length in MARK.len()..MARK.len() + 5 {
            assert!(read(&bytes[..length]).unwrap().is_err());
        }
        assert!(read(b"\x0a\x03abc").is_none());
        let mut unknown = Vec::new();
        write(Kind::Table, &TableMessage::from(table()), &mut unknown);
        unknown[MARK.len() + 4] = 99;
        assert!(read(&unknown).unwrap().is_err());
    }
}
