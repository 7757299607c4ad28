//! The readers of colkit as a WebAssembly module without I/O.
//!
//! The host starts jobs and steps them. A step says which bytes it needs; the host puts them into buffers of the module and
//! steps on. There is no glue: numbers, and bytes in the memory of the module, are all that passes.
//!
//! ```text
//! buffer(n)    room for n bytes of a request or an answer; buffers are taken in the order in which they were asked for
//! start()      a job, as the only buffer says in JSON (see `request`)
//! step(job)    goes on with the bytes needed last, one buffer each: 0 done, 1 needs bytes, 2 failed
//! needed(), needed_count()    pairs of numbers: the first byte and the one behind the last
//! out(), out_length()         after 0 the answer, after 2 what went wrong
//! part(), part_length()       after every step: what it has written of a file that is being made
//! progress(job)               between 0 and 1
//! end(job), close(file)       forgets it
//! ```
//!
//! The files of a job are [`Host::APART`](colkit::hosted::Host::APART) bytes apart: a comparison reads two. Whatever allocates may
//! move the memory, so that the host looks at it anew after every call. A trap loses the instance; `log` hears why before.

mod answer;
mod hints;
mod job;
mod request;

use job::{Job, Outcome};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What the module holds between calls.
#[derive(Default)]
struct Module {
    files: BTreeMap<u32, colkit::hosted::HostedFile>,
    jobs: BTreeMap<u32, Job>,
    started: u32,
    inbox: Vec<Vec<u8>>,
    needed: Vec<f64>,
    out: Vec<u8>,
    part: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::default();
}

fn with<T>(work: impl FnOnce(&mut Module) -> T) -> T {
    MODULE.with_borrow_mut(work)
}

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Hears why the module is about to trap.
    fn log(text: *const u8, length: usize);
}

/// Called once, before anything else.
#[unsafe(no_mangle)]
pub extern "C" fn initialise() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the host reads so many bytes of a text that lives until it returns.
        unsafe { log(text.as_ptr(), text.len()) }
    }));
}

/// Room for so many bytes; null if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(length: usize) -> *mut u8 {
    let mut room = Vec::new();
    if room.try_reserve_exact(length).is_err() {
        return std::ptr::null_mut();
    }
    room.resize(length, 0);
    with(|module| {
        module.inbox.push(room);
        module.inbox.last_mut().map_or(std::ptr::null_mut(), Vec::as_mut_ptr)
    })
}

/// Starts the job that the buffer asks for. 0 if it cannot be: `out` says why.
#[unsafe(no_mangle)]
pub extern "C" fn start() -> u32 {
    with(|module| {
        let request = module.inbox.drain(..).next().unwrap_or_default();
        match Job::new(&request, &module.files) {
            Ok(job) => {
                module.started += 1;
                module.jobs.insert(module.started, job);
                module.started
            }
            Err(error) => {
                module.out = answer::problem(&error);
                0
            }
        }
    })
}

/// Goes on with a job.
#[unsafe(no_mangle)]
pub extern "C" fn step(job: u32) -> u32 {
    with(|module| {
        let got = module.inbox.drain(..).map(bytes::Bytes::from).collect();
        let Some(running) = module.jobs.get_mut(&job) else {
            module.out = answer::problem(&colkit::Error::internal("there is no such job"));
            return 2;
        };
        let outcome = running.step(got);
        module.part = running.part();
        match outcome {
            Outcome::Needs(ranges) => {
                #[expect(clippy::cast_precision_loss, reason = "addresses of files have less than 53 bits")]
                let numbers = |r: &colkit::ByteRange| [r.start() as f64, r.end() as f64];
                module.needed = ranges.iter().flat_map(numbers).collect();
                return 1;
            }
            Outcome::Done(answer) => module.out = answer,
            Outcome::Opened(id, file, answer) => {
                module.files.insert(id, *file);
                module.out = answer;
            }
            Outcome::Failed(error) => {
                module.out = answer::problem(&error);
                module.jobs.remove(&job);
                return 2;
            }
        }
        module.jobs.remove(&job);
        0
    })
}

/// The ranges needed.
#[unsafe(no_mangle)]
pub extern "C" fn needed() -> *const f64 {
    with(|module| module.needed.as_ptr())
}

/// How many numbers they are.
#[unsafe(no_mangle)]
pub extern "C" fn needed_count() -> usize {
    with(|module| module.needed.len())
}

/// The answer, or what went wrong.
#[unsafe(no_mangle)]
pub extern "C" fn out() -> *const u8 {
    with(|module| module.out.as_ptr())
}

/// Its length.
#[unsafe(no_mangle)]
pub extern "C" fn out_length() -> usize {
    with(|module| module.out.len())
}

/// What the last step has written.
#[unsafe(no_mangle)]
pub extern "C" fn part() -> *const u8 {
    with(|module| module.part.as_ptr())
}

/// Its length.
#[unsafe(no_mangle)]
pub extern "C" fn part_length() -> usize {
    with(|module| module.part.len())
}

/// How much of a job is done.
#[unsafe(no_mangle)]
pub extern "C" fn progress(job: u32) -> f64 {
    with(|module| module.jobs.get(&job).map_or(1.0, Job::progress))
}

/// Forgets a job.
#[unsafe(no_mangle)]
pub extern "C" fn end(job: u32) {
    with(|module| {
        module.inbox.clear();
        module.jobs.remove(&job);
    });
}

/// Forgets a file.
#[unsafe(no_mangle)]
pub extern "C" fn close(file: u32) {
    with(|module| module.files.remove(&file));
}
