//! Where a table is written to, and in which format.

use crate::registry::known;
use crate::{Input, Registry, TextReading};
use colkit_core::{Error, FileSink, Format, Result, Sink};
use std::path::Path;
use std::sync::Arc;

/// The format to write: the one named or, if none is, the one the extension of `path` stands for.
pub fn target_format(registry: &Registry, to: Option<&str>, path: Option<&Path>) -> Result<Arc<dyn Format>> {
    let text = TextReading::default();
    if let Some(name) = to {
        return registry.named(name, &text);
    }
    let extension = path.and_then(Path::extension).and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let found = extension.as_deref().and_then(|e| registry.with_extension(e, &text));
    found.ok_or_else(|| {
        let advice = format!("name it with --to; {}", known(&registry.formats(&text)));
        let what = match (path, extension) {
            (Some(path), Some(extension)) => {
                return Error::request("no_such_format", format!("no format has the extension {extension:?}"))
                    .file(path.display().to_string())
                    .hint(advice);
            }
            (Some(path), None) => format!("the name {} does not say which format to write", path.display()),
            (None, _) => "the format to write to the stream is not named".into(),
        };
        Error::request("no_format_named", what).hint(advice)
    })
}

/// Starts a file at `path` that appears only when complete. It must not be one of the inputs. With the feature `store`,
/// the path may be the URL of an object.
pub fn create(path: &Path, inputs: &[Input]) -> Result<Box<dyn Sink>> {
    #[cfg(feature = "store")]
    let path = match crate::place::of(path)? {
        crate::place::Place::Object(location) => {
            // An object may be replaced while it is read: it appears when all of it has been.
            return Ok(Box::new(colkit_store::UploadSink::create(&location)?));
        }
        crate::place::Place::File(path) => &path.into_owned(),
    };
    if inputs.iter().filter_map(Input::file_path).any(|input| same_file(input, path)) {
        return Err(Error::request("output_is_input", "the file to write is also a file to read")
            .file(path.display().to_string())
            .hint("write to another name and rename it afterwards"));
    }
    if path.is_dir() {
        return Err(Error::request("is_a_folder", "expected the name of a file to write, found a folder")
            .file(path.display().to_string()));
    }
    Ok(Box::new(FileSink::create(path)?))
}

/// Whether two paths lead to the same file, through links too.
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        match (std::fs::metadata(a), std::fs::metadata(b)) {
            (Ok(a), Ok(b)) => a.dev() == b.dev() && a.ino() == b.ino(),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
    }
}
