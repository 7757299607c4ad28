//! Files in stores, for programs with an async runtime.

use super::sample::{batch, formats, write};
use arrow::array::UInt64Array;
use arrow::compute::{concat_batches, filter_record_batch, take_record_batch};
use colkit::core::{LateMaterialization, Scan};
use colkit::store::Stores;
use colkit::{Limits, OpenOptions, Predicate};
use futures::TryStreamExt;

async fn put(name: &str, bytes: Vec<u8>) -> String {
    let url = format!("memory:///{name}");
    let location = Stores::shared().locate(&url).unwrap();
    location.store.put_opts(&location.path, bytes.into(), Default::default()).await.unwrap();
    url
}

/// A runtime with one thread, which must not be blocked by its own.
fn inside_a_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn every_format_is_read_as_a_stream() {
    inside_a_runtime(async {
        for format in formats() {
            let bytes = write(format.as_ref(), &batch());
            let extension = format.extensions()[0];
            let url = put(&format!("streamed.{extension}"), bytes.to_vec()).await;
            // The blocking way works here too, though it blocks.
            let opened = OpenOptions::new().open(&url).unwrap();
            let all: Vec<_> = opened.scan().batches().unwrap().collect::<Result<_, _>>().unwrap();
            let all = concat_batches(&opened.schema(), &all).unwrap();
            let file = colkit::open_url(&url).await.unwrap();
            assert_eq!((file.schema(), file.row_count()), (opened.schema(), opened.row_count()));
            let streamed: Vec<_> = file.scan().stream().unwrap().try_collect().await.unwrap();
            assert_eq!(concat_batches(&file.schema(), &streamed).unwrap(), all, "{extension}");
            let rows = [999, 3, 3, 500];
            let taken = file.take(rows).batch().await.unwrap();
            assert_eq!(taken, take_record_batch(&all, &UInt64Array::from(rows.to_vec())).unwrap(), "{extension}");
            let name = file.schema().field(0).name().clone();
            let condition = Predicate::parse(&format!("{name} is not null"), &file.schema()).unwrap();
            let bound = condition.bind(&file.schema()).unwrap();
            let expected = filter_record_batch(&all, &bound.evaluate(&all, &Some).unwrap()).unwrap();
            for late in [LateMaterialization::Adaptive, LateMaterialization::Always] {
                let scan = Scan { predicate: Some(bound.clone()), late, ..Scan::default() };
                let found: Vec<_> =
                    file.bytes().clone().scan(file.table().clone(), &scan, file.limits()).try_collect().await.unwrap();
                assert_eq!(concat_batches(&file.schema(), &found).unwrap(), expected, "{extension} {late:?}");
            }
        }
    });
}

#[test]
fn a_stream_that_is_dropped_asks_for_nothing_more() {
    inside_a_runtime(async {
        let lines: String = (0..400_000).map(|i| format!("{i},{}\n", i * 7)).collect();
        let url = put("long.csv", format!("a,b\n{lines}").into_bytes()).await;
        let file = colkit::open_url(&url).await.unwrap();
        let before = file.bytes().count().bytes;
        let mut batches = file.scan().batch_rows(100).stream().unwrap();
        assert_eq!(batches.next().await.unwrap().unwrap().num_rows(), 100);
        drop(batches);
        let read = file.bytes().count().bytes - before;
        assert!(read < file.bytes().size(), "{read} of {} bytes", file.bytes().size());
    });
}

#[test]
fn limits_hold_for_streams_and_rows_that_are_taken() {
    inside_a_runtime(async {
        let texts: String = (0..200).map(|i| format!("{i},{}\n", "x".repeat(100_000))).collect();
        let url = put("wide.csv", format!("a,b\n{texts}").into_bytes()).await;
        let limits = Limits { output_bytes: 1 << 20, memory: 4 << 20, ..Limits::default() };
        let file = OpenOptions::new().with_limits(limits).open_url(&url).await.unwrap();
        let error = file.scan().stream().unwrap().try_collect::<Vec<_>>().await.unwrap_err();
        assert_eq!((error.code(), error.file_name()), ("limit_exceeded", Some(file.name())));
        let error = file.take(0..200).batch().await.unwrap_err();
        assert_eq!((error.code(), error.file_name()), ("limit_exceeded", Some(file.name())));
    });
}
