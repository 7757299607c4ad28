//! Lance as a format: recognising and opening files, and datasets by their manifests.

use crate::container::{Container, MAGIC, Version};
use crate::coroutine::{Io, coroutine};
use crate::dataset::Dataset;
use crate::encoding::{Registry, with_embedded};
use crate::extensions;
use crate::read::LanceFile;
use crate::schema::Fields;
use crate::table::LanceTable;
use crate::write::{self, LanceWriteOptions, LanceWriter};
use arrow::datatypes::{DataType, SchemaRef};
use colkit_core::{Boxed, Error, Format, ReadOptions, Result, Sink, Table, TableWriter, WriteOptions};
use std::sync::Arc;

/// The Lance file format, version 2.
#[derive(Clone)]
pub struct Lance {
    registry: Arc<Registry>,
    write_options: LanceWriteOptions,
}

impl Default for Lance {
    fn default() -> Self {
        Self::with_encodings(Registry::extended())
    }
}

impl Lance {
    /// Lance with all encodings of 2.0 to 2.2, and those of [`Registry::extended`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Lance with these encodings.
    pub fn with_encodings(registry: Registry) -> Self {
        Lance { registry: Arc::new(registry), write_options: LanceWriteOptions::default() }
    }

    /// Lance that writes files like this.
    #[must_use]
    pub fn with_write_options(mut self, options: LanceWriteOptions) -> Self {
        self.write_options = options;
        self
    }

    /// Opens a file as what it is, with everything that is particular to Lance.
    pub fn open_table(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<LanceTable>> {
        let (registry, options) = (self.registry.clone(), options.clone());
        coroutine(move |io| async move { Ok(Arc::new(LanceTable::new(open(&io, size, registry, options).await?))) })
    }
}

/// Opens a file of `size` bytes.
pub(crate) fn open_file(size: u64, registry: Arc<Registry>, options: ReadOptions) -> Boxed<LanceFile> {
    coroutine(move |io| async move { open(&io, size, registry, options).await })
}

async fn open(io: &Io, size: u64, registry: Arc<Registry>, options: ReadOptions) -> Result<LanceFile> {
    let container = io.run(Container::open(size, &options)).await?;
    let Some(descriptor) = container.global_buffers().first().copied() else {
        return Err(Error::unsupported("no_schema", "the file has no global buffer 0 and so no schema")
            .hint("its columns can only be read by who knows their types"));
    };
    let io = &io.sealed(container.seal().cloned());
    let bytes = container.fetch(io, vec![descriptor]).await.map_err(|e| e.part("file descriptor"))?;
    let bytes = bytes.into_iter().next().unwrap_or_default();
    let mut fields =
        Fields::parse(bytes, container.version(), &options.limits).map_err(|e| e.at(descriptor.start()))?;
    match extensions::claim(&fields.own, size) {
        extensions::SealClaim::Sealed if options.checksums && container.seal().is_none() => {
            let message = "the checksums that the file says it has are not where they should be";
            return Err(Error::corrupt("checksum_mismatch", message).at(descriptor.start()));
        }
        extensions::SealClaim::Sealed | extensions::SealClaim::Unsealed => {}
        extensions::SealClaim::OfAnother => fields.own.clear(),
    }
    let registry = with_embedded(&container, io, &fields.own, registry).await?;
    let mut file = LanceFile::new(container, fields, registry, options.limits);
    if file.fields.columns != file.container.column_count() {
        match file.container.version() {
            Version::V2_0 => file.renumber(io).await?,
            Version::V2_1 | Version::V2_2 | Version::V2_3 => {}
        }
        if file.fields.columns > file.container.column_count() {
            return Err(Error::corrupt(
                "missing_column",
                format!(
                    "the schema needs {} columns, the file has {}",
                    file.fields.columns,
                    file.container.column_count()
                ),
            )
            .at(descriptor.start()));
        }
    }
    file.load_statistics(io).await?;
    Ok(file)
}

impl Format for Lance {
    fn name(&self) -> &'static str {
        "lance"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["lance"]
    }

    fn sniff(&self, _head: &[u8], tail: &[u8]) -> bool {
        tail.ends_with(MAGIC)
    }

    fn open(&self, size: u64, options: &ReadOptions) -> Boxed<Arc<dyn Table>> {
        let (registry, options) = (self.registry.clone(), options.clone());
        coroutine(move |io| async move {
            // Beside a manifest there are the files that it names.
            let table: Arc<dyn Table> = match options.objects.are_there() {
                true => Arc::new(Dataset::open(&io, size, registry, options).await?),
                false => Arc::new(LanceTable::new(open(&io, size, registry, options).await?)),
            };
            Ok(table)
        })
    }

    fn keeps_metadata(&self) -> bool {
        true
    }

    fn stores(&self, data_type: &DataType) -> bool {
        write::schema::stores(data_type)
    }

    fn writer(&self, schema: SchemaRef, sink: Box<dyn Sink>, options: &WriteOptions) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(LanceWriter::new(schema, sink, options, &self.write_options, self.registry.values())?))
    }
}
