//! The explorer of one table: its panes, and what is being read for them.

use super::byte_map::BytesPane;
use super::columns::ColumnsPane;
use super::load::{self, Found, Window};
use super::look::Look;
use super::prompt::Prompt;
use super::rows::RowsPane;
use super::worker::Worker;
use crate::escape::one_line;
use crate::report;
use colkit::{Error, Layout, OpenFile, Result, Stop};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Rows,
    Columns,
    Bytes,
}

pub(super) const TABS: [(Tab, &str); 3] = [(Tab::Rows, "1 Rows"), (Tab::Columns, "2 Columns"), (Tab::Bytes, "3 Bytes")];

/// What is typed into the last line.
pub(super) enum Asking {
    Condition(Prompt),
    Row(Prompt),
}

/// What lies over everything else.
pub(super) struct Popup {
    pub title: String,
    pub text: String,
    pub scrolled: u16,
}

/// What was read.
pub(super) enum Reply {
    Rows(Result<Window>),
    Found(u64, Result<Found>),
    Value(String, Result<(String, bool)>),
    Layout(Result<Layout>),
    Bytes(Range<u64>, Result<Vec<u8>>),
}

/// The explorer of one table.
pub struct App {
    pub(super) file: OpenFile,
    pub(super) look: Look,
    pub(super) tab: Tab,
    pub(super) rows: RowsPane,
    pub(super) columns: ColumnsPane,
    pub(super) bytes: BytesPane,
    pub(super) asking: Option<Asking>,
    pub(super) popup: Option<Popup>,
    pub(super) message: Option<String>,
    /// Which search is the newest: what others found is not wanted.
    pub(super) search: u64,
    pub(super) layout_asked: bool,
    pub(super) row_worker: Worker,
    pub(super) search_worker: Worker,
    pub(super) value_worker: Worker,
    pub(super) layout_worker: Worker,
    pub(super) bytes_worker: Worker,
    pub(super) replies: Sender<Reply>,
    pub(super) received: Receiver<Reply>,
}

impl App {
    pub fn new(file: OpenFile, look: Look) -> Result<Self> {
        let (replies, received) = channel();
        let input = file.input();
        // The byte map of a table of several files has no addresses of its own in them.
        let several = input.is_several() || input.objects().are_there();
        let no_content = several.then(|| "the bytes of single files can be seen".to_owned());
        Ok(App {
            rows: RowsPane::new(&file.schema(), file.row_count()),
            columns: ColumnsPane::new(&file),
            bytes: BytesPane::new(no_content),
            file,
            look,
            tab: Tab::Rows,
            asking: None,
            popup: None,
            message: None,
            search: 0,
            layout_asked: false,
            row_worker: Worker::start("rows")?,
            search_worker: Worker::start("search")?,
            value_worker: Worker::start("value")?,
            layout_worker: Worker::start("layout")?,
            bytes_worker: Worker::start("bytes")?,
            replies,
            received,
        })
    }

    fn workers(&self) -> [&Worker; 5] {
        [&self.row_worker, &self.search_worker, &self.value_worker, &self.layout_worker, &self.bytes_worker]
    }

    /// Whether something is being read.
    pub fn is_waiting(&self) -> bool {
        self.workers().iter().any(|worker| worker.is_busy())
    }

    /// Asks for what is to be seen and is not there.
    pub fn load(&mut self) {
        if self.tab == Tab::Rows
            && let Some((first, rows, columns)) = self.rows.wanted()
        {
            self.ask(
                |app| &app.row_worker,
                move |file, stop| Reply::Rows(load::window(file, first, rows, columns, stop)),
            );
        }
        if self.tab != Tab::Rows && !std::mem::replace(&mut self.layout_asked, true) {
            self.ask(|app| &app.layout_worker, |file, stop| Reply::Layout(load::layout(file, stop)));
        }
        if self.tab == Tab::Bytes
            && let Some(range) = self.bytes.wanted()
        {
            self.ask(
                |app| &app.bytes_worker,
                move |file, stop| {
                    let read = load::bytes(file, range.clone(), stop);
                    Reply::Bytes(range, read)
                },
            );
        }
    }

    pub(super) fn ask(
        &self,
        worker: impl Fn(&Self) -> &Worker,
        work: impl FnOnce(&OpenFile, &Stop) -> Reply + Send + 'static,
    ) {
        let (file, replies) = (self.file.clone(), self.replies.clone());
        worker(self).ask(move |stop| drop(replies.send(work(&file, stop))));
    }

    /// Takes what was read. A bug in a thread is an error of all.
    pub fn receive(&mut self) -> Result<()> {
        if self.workers().iter().any(|worker| worker.has_panicked()) {
            return Err(Error::panicked("reading the file"));
        }
        while let Ok(reply) = self.received.try_recv() {
            match reply {
                Reply::Rows(Ok(window)) => self.rows.take(window),
                Reply::Rows(Err(error)) => told(&error, |text| self.rows.fail(text)),
                Reply::Found(search, _) if search != self.search => {}
                Reply::Found(_, Ok(found)) => self.rows.add_found(found),
                Reply::Found(_, Err(error)) => told(&error, |text| self.message = Some(text)),
                Reply::Value(title, Ok((text, cut))) => {
                    let more = if cut { "\n… (the rest is not shown)" } else { "" };
                    let text = text.lines().map(one_line).collect::<Vec<_>>().join("\n");
                    self.popup = Some(Popup { title, text: format!("{text}{more}"), scrolled: 0 });
                }
                Reply::Value(_, Err(error)) => told(&error, |text| self.message = Some(text)),
                Reply::Layout(Ok(layout)) => {
                    let schema = self.file.schema();
                    let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
                    self.columns.take(&layout, &self.file);
                    self.bytes.take(&layout, &names);
                }
                Reply::Layout(Err(error)) => told(&error, |text| self.bytes.error = Some(text)),
                Reply::Bytes(range, Ok(content)) => self.bytes.take_bytes(range.start, content),
                Reply::Bytes(_, Err(error)) => told(&error, |text| self.bytes.no_content = Some(text)),
            }
        }
        Ok(())
    }
}

/// Tells of an error, unless it is that something newer was asked for.
fn told(error: &Error, tell: impl FnOnce(String)) {
    if error.code() != "interrupted" {
        tell(report::sentence(error));
    }
}
