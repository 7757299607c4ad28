//! The query engine is most of what there is to build, and only `sql` and the queries of `view` need it. So it is a cargo feature,
//! which the first build leaves out.

use colkit::Error;

/// The error of `sql` in a build without the engine.
pub fn missing() -> Error {
    Error::unsupported("no_query_engine", "this colkit was built without the SQL engine")
        .hint("cargo build --release --features full builds it in; released programs have it")
}
