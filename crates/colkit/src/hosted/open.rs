//! Opening a file whose bytes a host brings.

use super::HostedFile;
use crate::{Compression, OpenOptions, TextOptions};
use colkit_core::drive::hosted::Host;
use colkit_core::{ByteRange, Error, Format, Result, recognition};
use std::path::Path;
use std::sync::Arc;

/// How much of a text is read to open it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// All of it: only then are the types of its columns and the number of its rows known.
    #[default]
    Whole,
    /// Its first bytes alone, of texts that are longer than this: the rows in them are the table.
    Start(u64),
}

impl OpenOptions {
    /// Opens a file of `size` bytes whose bytes a host brings.
    pub async fn open_hosted(&self, host: &Host, name: &str, size: u64, text: Text) -> Result<HostedFile> {
        let opened = async {
            let format = self.format_from(host, name, size).await?;
            match text {
                Text::Start(most) if size > most && self.registry.is_text(format.name()) => {
                    self.open_start_of(host, name, size, most).await
                }
                _ => self.open_format(host, name, format, size, None).await,
            }
        };
        opened.await.map_err(|e: Error| e.file(name))
    }

    pub(super) async fn format_from(&self, host: &Host, name: &str, size: u64) -> Result<Arc<dyn Format>> {
        if let Some(name) = &self.format {
            return self.registry.named(name, &TextOptions { lines: false, ..self.text.clone() });
        }
        let extension = Path::new(name).extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let formats = self.registry.formats(&self.text);
        let format = host.run(recognition(size, &formats, extension.as_deref())).await;
        if format.as_ref().is_ok_and(|format| format.has_magic()) {
            return format;
        }
        // What looks like any text, or like nothing, may be compressed as a whole.
        let head = host.read(vec![ByteRange::between(0, size.min(Compression::HEAD_BYTES))]).await?;
        match head.first().and_then(|head| Compression::of(head)) {
            None => format,
            Some(compression) => {
                let what = format!("the file is compressed as a whole, with {}", compression.name());
                Err(Error::unsupported("not_built", what).at(0).hint("decompress it first"))
            }
        }
    }

    /// Opens the first bytes of a text as if there were no more. A line that they cut is left out.
    async fn open_start_of(&self, host: &Host, name: &str, size: u64, most: u64) -> Result<HostedFile> {
        let head = host.read(vec![ByteRange::between(0, most.min(size))]).await?.pop().unwrap_or_default();
        if head.trim_ascii_start().starts_with(b"[") {
            // The end of an array of JSON is part of it.
            let format = self.format_from(host, name, size).await?;
            return self.open_format(host, name, format, size, None).await;
        }
        let whole = crate::whole_lines::whole_lines(&head).len() as u64;
        let text = TextOptions { pad_short_rows: true, ..self.text.clone() };
        let options = OpenOptions { text, ..self.clone() };
        let format = options.format_from(host, name, whole).await?;
        options.open_format(host, name, format, size, Some(whole)).await
    }

    pub(super) async fn open_format(
        &self,
        host: &Host,
        name: &str,
        format: Arc<dyn Format>,
        size: u64,
        start: Option<u64>,
    ) -> Result<HostedFile> {
        let table = host.run(format.open(start.unwrap_or(size), &self.read)).await?;
        self.read.limits.check_schema(&table.schema())?;
        Ok(HostedFile { name: name.into(), size, format, table, options: Arc::new(self.clone()), start })
    }
}

impl HostedFile {
    /// Whether it is text.
    pub(crate) fn is_text(&self) -> bool {
        self.options.registry.is_text(self.format.name())
    }

    /// The same file, opened like this, as much of it as before.
    pub(crate) async fn reopened(&self, host: &Host, options: &OpenOptions) -> Result<HostedFile> {
        let reopened = async {
            let format = options.format_from(host, &self.name, self.start.unwrap_or(self.size)).await?;
            options.open_format(host, &self.name, format, self.size, self.start).await
        };
        self.named(reopened).await
    }
}
