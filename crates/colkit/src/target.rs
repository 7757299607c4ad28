//! Where a table is written to, and in which format.

#[cfg(feature = "fs")]
use crate::place::Place;
use crate::registry::known;
use crate::{Compression, Registry, TextOptions};
use colkit_core::{Error, Format, Result};
#[cfg(feature = "fs")]
use colkit_core::{Existing, FileSink, Sink};
use std::path::Path;
use std::sync::Arc;

/// The format to write: the one named or, if none is, the one the extension of `path` stands for. If the path ends like
/// `.csv.gz`, the text is compressed. `option` is how a format is named, for the message.
pub fn target_format(
    registry: &Registry,
    to: Option<&str>,
    path: Option<&Path>,
    option: &str,
) -> Result<Arc<dyn Format>> {
    let Some((compression, inner)) = path.and_then(Compression::in_name) else {
        return plain_format(registry, to, path, option);
    };
    let format = plain_format(registry, to, Some(inner), option)?;
    if registry.is_text(format.name()) {
        compression.of_text(format)
    } else {
        Err(compression.not_for(format.as_ref()))
    }
}

fn plain_format(registry: &Registry, to: Option<&str>, path: Option<&Path>, option: &str) -> Result<Arc<dyn Format>> {
    let text = TextOptions::default();
    if let Some(name) = to {
        return registry.named(name, &text);
    }
    let extension = path.and_then(Path::extension).and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    let found = extension.as_deref().and_then(|e| registry.with_extension(e, &text));
    found.ok_or_else(|| {
        let advice = format!("name it with {option}; {}", known(&registry.formats(&text)));
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

/// Starts a file at `path` that appears only when complete. It must not be one of the inputs, paths or URLs themselves,
/// and is no more readable than they are. With the feature `object-store`, the path may be the URL of an object.
#[cfg(feature = "fs")]
pub fn create<'a>(
    path: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
    existing: Existing,
) -> Result<Box<dyn Sink>> {
    let target = Place::of(path)?;
    let inputs = inputs.into_iter().map(Place::of).collect::<Result<Vec<_>>>()?;
    if inputs.iter().any(|input| input.is_same(&target)) {
        return Err(Error::request("output_is_input", "the file to write is also a file to read")
            .file(path.display().to_string())
            .hint("write to another name and rename it afterwards"));
    }
    match target {
        #[cfg(feature = "object-store")]
        Place::Object(location) => Ok(Box::new(colkit_store::UploadSink::create(&location, existing)?)),
        Place::File(path) => {
            let sink = FileSink::start(&path, existing)?;
            for input in inputs.iter().filter_map(Place::file) {
                sink.as_private_as(input)?;
            }
            Ok(Box::new(sink))
        }
    }
}

/// Whether `path` may be written to, as far as can be told before anything is: for those who have much to do first.
#[cfg(feature = "fs")]
pub fn check_target(path: &Path, existing: Existing) -> Result<()> {
    match Place::of(path)? {
        #[cfg(feature = "object-store")]
        Place::Object(location) => colkit_store::UploadSink::check(&location, existing),
        Place::File(path) => FileSink::check(&path, existing),
    }
}

/// Whether two paths lead to the same file, through links too.
#[cfg(feature = "fs")]
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
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
