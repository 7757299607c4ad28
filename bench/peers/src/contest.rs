//! What a contestant must be able to do, and how its time is taken.

use arrow::array::RecordBatch;
use std::time::Instant;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// One tool with one kind of file.
pub trait Contestant {
    fn name(&self) -> &'static str;
    /// How the name of its file ends, after the name of the table.
    fn file(&self) -> &'static str;
    fn open(&self, path: &str) -> Result<Box<dyn Open>>;

    /// One column of a file that was not open yet, by name (and place, for who needs it).
    fn open_and_scan(&self, path: &str, column: (&str, u32)) -> Result<Answer> {
        self.open(path)?.scan(Some(&[column.0]))
    }
}

/// A file that has been opened, ready to be asked again and again.
pub trait Open {
    /// Rows by number: sorted, without repeats (what every contestant takes).
    fn take(&self, rows: &[u64]) -> Result<Answer>;
    /// The whole table, or some columns of it.
    fn scan(&self, columns: Option<&[&str]>) -> Result<Answer>;
}

/// Batches, in the version of arrow that the contestant speaks.
pub enum Answer {
    Arrow59(Vec<RecordBatch>),
    Arrow58(Vec<arrow58::array::RecordBatch>),
}

impl Answer {
    pub fn rows(&self) -> usize {
        match self {
            Answer::Arrow59(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
            Answer::Arrow58(batches) => batches.iter().map(arrow58::array::RecordBatch::num_rows).sum(),
        }
    }

    /// One batch of plain types, to be compared with the others' answers.
    pub fn plain(self) -> Result<RecordBatch> {
        let batches = match self {
            Answer::Arrow59(batches) => batches,
            Answer::Arrow58(batches) => carried_over(&batches)?,
        };
        let first = batches.first().ok_or("no batch")?;
        let whole = arrow::compute::concat_batches(&first.schema(), &batches)?;
        let columns = whole.columns().iter().map(|c| plain_type(c)).collect::<Result<Vec<_>>>()?;
        let names = whole.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
        Ok(RecordBatch::try_from_iter_with_nullable(names.into_iter().zip(columns).map(|(n, c)| (n, c, true)))?)
    }
}

fn carried_over(batches: &[arrow58::array::RecordBatch]) -> Result<Vec<RecordBatch>> {
    let first = batches.first().ok_or("no batch")?;
    let mut writer = arrow58::ipc::writer::StreamWriter::try_new(Vec::new(), &first.schema())?;
    for batch in batches {
        writer.write(batch)?;
    }
    let bytes = writer.into_inner()?;
    Ok(arrow::ipc::reader::StreamReader::try_new(bytes.as_slice(), None)?.collect::<std::result::Result<_, _>>()?)
}

fn plain_type(column: &arrow::array::ArrayRef) -> Result<arrow::array::ArrayRef> {
    use arrow::datatypes::{DataType, Field};
    let to = match column.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Dictionary(_, _) => DataType::Utf8,
        DataType::FixedSizeList(item, n) => {
            DataType::FixedSizeList(Field::new("item", item.data_type().clone(), true).into(), *n)
        }
        other => other.clone(),
    };
    Ok(arrow::compute::cast(column, &to)?)
}

/// One measurement: wall and CPU seconds (all threads of this process), and bytes that came from the disk.
#[derive(Clone, Copy)]
pub struct Cost {
    pub wall: f64,
    pub cpu: f64,
    pub disk: u64,
}

pub fn measured<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    let (disk, cpu, start) = (bytes_from_disk(), cpu_seconds(), Instant::now());
    let answer = work()?;
    let wall = start.elapsed().as_secs_f64();
    Ok((answer, Cost { wall, cpu: cpu_seconds() - cpu, disk: bytes_from_disk() - disk }))
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call, which only writes it.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn bytes_from_disk() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("read_bytes: "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Drops the file from the page cache.
pub fn evict(path: &str) -> Result<()> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path)?;
    file.sync_all()?;
    // SAFETY: a call on an open descriptor, which touches no memory of ours.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if failed == 0 { Ok(()) } else { Err("posix_fadvise refused".into()) }
}
