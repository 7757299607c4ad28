//! Converts errors between colkit and DataFusion.

use colkit::{Class, Error, Setting};
use datafusion::error::DataFusionError;

/// An error of ours as DataFusion carries it.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// What DataFusion says, as an error of ours. One that was ours to begin with comes back as it was, out of whatever
/// operators have wrapped around it.
pub fn plain(error: &DataFusionError) -> Error {
    // What follows is advice for the authors of DataFusion.
    let message = || {
        let message = error.strip_backtrace();
        message.split("\nThis issue was likely caused by").next().unwrap_or_default().to_owned()
    };
    match error.find_root() {
        DataFusionError::External(root) => match root.downcast_ref::<Error>() {
            Some(ours) => ours.again(),
            None => Error::data("query_failed", message()),
        },
        DataFusionError::SQL(..) | DataFusionError::Plan(_) | DataFusionError::SchemaError(..) => {
            Error::request("bad_sql", message())
        }
        DataFusionError::NotImplemented(_) => Error::unsupported("not_implemented", message()),
        DataFusionError::ResourcesExhausted(_) => Error::new(Class::Limit, "limit_exceeded", message()).hint(
            Setting::Memory
                .does("gives the query more")
                .and(Setting::SpillFolder.does("names a folder with room for what does not fit")),
        ),
        DataFusionError::ObjectStore(e) => colkit_core::drive::store::failed(e),
        DataFusionError::IoError(e) => std::io::Error::new(e.kind(), message()).into(),
        _ => Error::data("query_failed", message()),
    }
}
