//! An object as a sink.

use crate::{Location, failed, wait};
use bytes::Bytes;
use colkit_core::{Error, Existing, Result, Sink, already_exists};
use object_store::{ObjectStoreExt, WriteMultipart};
use std::path::Path;

/// Bytes of one part of an upload; what is smaller goes up in one piece. Stores take at most 10,000 parts.
const PART: usize = 16 << 20;

/// Parts that are on their way at once.
const AT_ONCE: usize = 8;

/// An object that appears when it is complete. Large ones go up in parts, which the store forgets if they are never put
/// together.
pub struct UploadSink {
    location: Location,
    existing: Existing,
    name: String,
    /// What has not been handed to the upload yet.
    buffer: Vec<u8>,
    /// The parts, once there is more than one.
    upload: Option<WriteMultipart>,
}

impl UploadSink {
    /// Starts the object at `location`.
    pub fn create(location: &Location, existing: Existing) -> Result<Self> {
        Self::check(location, existing)?;
        let (location, name) = (location.clone(), location.url.to_string());
        Ok(UploadSink { location, existing, name, buffer: Vec::new(), upload: None })
    }

    /// Whether an object may be written to `location`, as far as its store can tell: one that must not be asked is not in
    /// the way.
    pub fn check(location: &Location, existing: Existing) -> Result<()> {
        let name = location.url.as_str();
        if location.path.as_ref().is_empty() || location.url.path().ends_with('/') {
            return Err(Error::request("not_a_file_name", "expected the name of an object to write").file(name));
        }
        if existing == Existing::Replace {
            return Ok(());
        }
        let head = wait(location.store.head(&location.path))?;
        if head.is_ok() { Err(already_exists(Path::new(name))) } else { Ok(()) }
    }

    /// Sends what was written as a part.
    fn send_part(&mut self) -> Result<()> {
        let bytes = Bytes::from(std::mem::take(&mut self.buffer));
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => {
                let begun = wait(self.location.store.put_multipart(&self.location.path))?;
                let begun = begun.map_err(|e| failed(&self.name, e))?;
                self.upload.insert(WriteMultipart::new_with_chunk_size(begun, PART))
            }
        };
        // Parts are sent by tasks of the runtime that is waited in.
        wait(async {
            upload.wait_for_capacity(AT_ONCE).await?;
            upload.put(bytes);
            Ok(())
        })?
        .map_err(|e| failed(&self.name, e))
    }

    fn finish(&mut self) -> Result<()> {
        if self.upload.is_none() {
            let bytes = Bytes::from(std::mem::take(&mut self.buffer));
            let put = wait(self.location.store.put(&self.location.path, bytes.into()))?;
            return put.map(drop).map_err(|e| failed(&self.name, e));
        }
        self.send_part()?;
        let Some(mut upload) = self.upload.take() else { return Ok(()) };
        let sent = wait(upload.wait_for_capacity(0))?;
        let finished = match sent {
            Ok(()) => wait(upload.finish())?.map(drop),
            Err(error) => {
                abandon(upload);
                Err(error)
            }
        };
        finished.map_err(|e| failed(&self.name, e))
    }
}

impl Sink for UploadSink {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART { self.send_part() } else { Ok(()) }
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        // Somebody else may have been here in the meantime.
        Self::check(&self.location, self.existing)?;
        self.finish()
    }
}

impl Drop for UploadSink {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            abandon(upload);
        }
    }
}

/// Tells the store to forget the parts that are there already. If even that fails, its own rules will.
fn abandon(upload: WriteMultipart) {
    let _ = wait(upload.abort());
}

#[cfg(test)]
mod tests {
    use crate::{Location, ObjectSource, Stores};
    use colkit_core::{ByteRange, Counting, Existing, ReadCount, Sink, Source};

    fn upload(location: &Location) -> Box<super::UploadSink> {
        Box::new(super::UploadSink::create(location, Existing::Replace).unwrap())
    }

    #[test]
    fn an_object_that_is_there_stays_unless_it_may_be_replaced() {
        let location = Stores::default().locate("memory:///x.bin").unwrap();
        let create = || super::UploadSink::create(&location, Existing::Refuse);
        let (first, second) = (create().unwrap(), create().unwrap());
        Box::new(first).commit().unwrap();
        assert_eq!(create().err().unwrap().code(), "already_exists");
        assert_eq!(Box::new(second).commit().unwrap_err().code(), "already_exists", "it appeared in the meantime");
        upload(&location).commit().unwrap();
    }

    #[test]
    fn an_object_appears_whole_or_not_at_all() {
        let location = Stores::default().locate("memory:///folder/x.bin").unwrap();
        let mut sink = upload(&location);
        sink.write(&vec![1; super::PART + 5]).unwrap();
        drop(sink);
        assert_eq!(ObjectSource::open(&location).err().unwrap().code(), "not_found");

        for length in [0, 10, super::PART * 2 + 7] {
            let data: Vec<u8> = (0..length).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let mut sink = upload(&location);
            data.chunks(1 << 20).for_each(|part| sink.write(part).unwrap());
            sink.commit().unwrap();
            let object = ObjectSource::open(&location).unwrap();
            assert_eq!(object.size(), length as u64);
            assert_eq!(object.read(ByteRange::between(0, length as u64)).unwrap(), data);
        }
    }

    #[test]
    fn what_lies_close_together_is_one_request_and_counted_as_such() {
        let location = Stores::default().locate("memory:///y.bin").unwrap();
        let mut sink = upload(&location);
        sink.write(&vec![7; 1 << 20]).unwrap();
        sink.commit().unwrap();
        let source = Counting::new(ObjectSource::open(&location).unwrap());
        let ranges = [ByteRange::between(0, 10), ByteRange::between(1000, 1010), ByteRange::between(900_000, 900_001)];
        let parts = source.read_many(&ranges).unwrap();
        assert_eq!(parts.iter().map(bytes::Bytes::len).collect::<Vec<_>>(), [10, 10, 1]);
        assert_eq!(source.count(), ReadCount { requests: 2, bytes: 1011 });
    }

    #[test]
    fn a_folder_is_no_object() {
        let location = Stores::default().locate("memory:///folder/").unwrap();
        assert_eq!(super::UploadSink::check(&location, Existing::Replace).unwrap_err().code(), "not_a_file_name");
    }
}
