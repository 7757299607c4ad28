//! Compiled modules and their instances.
//!
//! An instance is used by one thread at a time and kept for the next one: there are as many as threads decode at once. Its
//! memory is kept too, unless it has grown large.

use crate::abi::{Answer, NoAnswer, OwnedAnswer, Request};
use crate::effort;
use crate::module::bad;
use colkit_core::{Error, Limits, Result, Setting};
use std::sync::{Mutex, OnceLock, PoisonError};
use wasmtime::{Config, Engine, Instance, Memory, Module, ResourceLimiter, Store, Trap, TypedFunc};

/// Fuel of a call, and for each byte that goes in or comes out. An instruction takes about one; decoders of fast encodings need
/// 2 to 20 for a byte.
const FUEL: u64 = 1_000_000;
const FUEL_PER_BYTE: u64 = 500;

fn fuel_for(bytes: usize) -> u64 {
    FUEL.saturating_add((bytes as u64).saturating_mul(FUEL_PER_BYTE))
}

/// An instance whose memory is larger is not kept.
const MOST_KEPT: usize = 16 << 20;

/// Instances that are kept.
const MOST_INSTANCES: usize = 64;

/// One for the process.
fn engine() -> Result<&'static Engine> {
    static ENGINE: OnceLock<std::result::Result<Engine, String>> = OnceLock::new();
    let made = ENGINE.get_or_init(|| {
        let mut config = Config::new();
        config.consume_fuel(true);
        // Equal bytes give equal values on every machine.
        config.cranelift_nan_canonicalization(true);
        config.wasm_relaxed_simd(false);
        config.wasm_multi_memory(false);
        config.wasm_memory64(false);
        config.max_wasm_stack(256 << 10);
        Engine::new(&config).map_err(|e| e.to_string())
    });
    made.as_ref().map_err(|e| Error::unsupported("not_implemented", format!("plugins cannot be run here: {e}")))
}

/// A module, compiled.
pub(crate) struct Compiled {
    module: Module,
    label: String,
    idle: Mutex<Vec<Running>>,
}

/// What an instance may take.
struct Bounds {
    memory: usize,
    /// Whether it asked for more.
    exceeded: bool,
}

impl ResourceLimiter for Bounds {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.exceeded |= desired > self.memory;
        Ok(desired <= self.memory)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MOST_ELEMENTS)
    }

    fn instances(&self) -> usize {
        1
    }

    fn memories(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        MOST_TABLES
    }
}

/// Tables of an instance, and what one may hold: functions that are called by number.
const MOST_TABLES: usize = 4;
const MOST_ELEMENTS: usize = 100_000;

/// What a module can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Values of a chunk.
    Decode,
    /// How the values of a page would be described.
    Plan,
    /// The buffers of a chunk.
    Encode,
}

/// An instance.
struct Running {
    store: Store<Bounds>,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    form: TypedFunc<(u32, u32), i32>,
    decode: Call,
    /// Those that encode too have both.
    plan: Option<Call>,
    encode: Option<Call>,
}

/// A function of a module: where a request is and its bytes; where the answer is.
type Call = TypedFunc<(u32, u32), u32>;

impl Compiled {
    pub fn new(bytes: &[u8], label: String) -> Result<Self> {
        effort::check(bytes)?;
        let module = Module::new(engine()?, bytes).map_err(|e| bad(format!("the module cannot be compiled: {e:#}")))?;
        Ok(Compiled { module, label, idle: Mutex::new(Vec::new()) })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new instance, whose functions are what the interface says.
    fn start(&self, memory: usize) -> Result<Running> {
        let lacks = |e: wasmtime::Error| bad(format!("the module does not have what a plugin exports: {e:#}"));
        let mut store = Store::new(engine()?, Bounds { memory, exceeded: false });
        store.limiter(|bounds| bounds);
        store.set_fuel(FUEL).map_err(lacks)?;
        let instance = match Instance::new(&mut store, &self.module, &[]) {
            Ok(instance) => instance,
            Err(_) if store.data().exceeded => return Err(too_much(memory)),
            Err(e) => return Err(bad(format!("the module cannot be started: {e:#}"))),
        };
        let exported = instance.get_memory(&mut store, "memory");
        let exported = exported.ok_or_else(|| bad("the module does not export its memory as \"memory\""))?;
        let alloc = instance.get_typed_func(&mut store, "colkit_alloc").map_err(lacks)?;
        let form = instance.get_typed_func(&mut store, "colkit_form").map_err(lacks)?;
        let decode = instance.get_typed_func(&mut store, "colkit_decode").map_err(lacks)?;
        let mut optional = |name: &str| match instance.get_export(&mut store, name) {
            Some(_) => instance.get_typed_func(&mut store, name).map(Some).map_err(lacks),
            None => Ok(None),
        };
        let (plan, encode) = (optional("colkit_plan")?, optional("colkit_encode")?);
        if plan.is_some() != encode.is_some() {
            return Err(bad("the module exports one of colkit_plan and colkit_encode, but not the other"));
        }
        Ok(Running { store, memory: exported, alloc, form, decode, plan, encode })
    }

    /// Lets an instance work. One that failed is not used again.
    fn with<T>(&self, limits: &Limits, work: impl FnOnce(&mut Running) -> Result<T>) -> Result<T> {
        let most = usize::try_from(limits.memory).unwrap_or(usize::MAX);
        let kept = self.idle().pop().filter(|kept| kept.memory.data_size(&kept.store) <= most);
        let mut running = match kept {
            Some(kept) => kept,
            None => self.start(most).map_err(|e| self.named(e))?,
        };
        *running.store.data_mut() = Bounds { memory: most, exceeded: false };
        let result = work(&mut running).map_err(|e| self.named(e))?;
        if running.memory.data_size(&running.store) <= MOST_KEPT {
            let mut idle = self.idle();
            if idle.len() < MOST_INSTANCES {
                idle.push(running);
            }
        }
        Ok(result)
    }

    /// Names the plugin in an error.
    pub fn named(&self, e: Error) -> Error {
        e.part(format!("plugin {}", self.label))
    }

    /// What the values are that this description stands for: bits of each, or 0 for values of any length.
    pub fn form(&self, description: &[u8], limits: &Limits) -> Result<u32> {
        self.with(limits, |running| {
            running.fuel(description.len())?;
            let at = running.room(description.len())?;
            running.slice(at, description.len())?.copy_from_slice(description);
            let length = u32::try_from(description.len()).unwrap_or(u32::MAX);
            let bits = running.form.call(&mut running.store, (at, length)).map_err(|e| running.trapped(&e))?;
            match u32::try_from(bits) {
                Ok(bits) if bits <= 1 || bits.is_multiple_of(8) && bits <= MOST_BITS => Ok(bits),
                Ok(bits) => Err(failed(format!("it decodes values of {bits} bits, which no type has"))),
                Err(_) => Err(failed("it does not understand the description of the encoding")),
            }
        })
    }

    /// Whether it encodes, too.
    pub fn encodes(&self) -> Result<bool> {
        self.with(&Limits::default(), |running| Ok(running.encode.is_some()))
    }

    /// Decodes, and gives the answer to `take`. `output` bytes are expected. With `twice`, it is asked a second time and must
    /// answer the same.
    pub fn decode<T>(
        &self,
        request: &Request<'_>,
        output: usize,
        twice: bool,
        limits: &Limits,
        take: impl FnOnce(Answer<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with(limits, |running| {
            let first = match twice {
                true => Some(running.ask(Task::Decode, request, output, |answer| Ok(answer.to_owned()))?),
                false => None,
            };
            running.ask(Task::Decode, request, output, |answer| match first {
                Some(first) if first != answer.to_owned() => {
                    Err(failed("it answers differently when it is asked the same again"))
                }
                _ => take(answer),
            })
        })
    }

    /// The same for an answer that is kept, and with the fuel that it took.
    pub fn decode_owned(&self, request: &Request<'_>, output: usize, limits: &Limits) -> Result<(OwnedAnswer, u64)> {
        self.with(limits, |running| {
            let answer = running.ask(Task::Decode, request, output, |answer| Ok(answer.to_owned()))?;
            Ok((answer, running.taken(request, output)))
        })
    }

    /// What is written to a file: the description of a page, or the buffers of a chunk. `None`: the plugin does not want to.
    pub fn encode(&self, task: Task, request: &Request<'_>, limits: &Limits) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        // What is encoded is seldom larger than the values.
        let output = request.content();
        self.with(limits, |running| {
            let at = running.call(task, request, output)?;
            match Answer::read(running.memory.data(&running.store), at) {
                Ok(Answer { values, ends, .. }) => Ok(Some((values.to_vec(), ends.to_vec()))),
                Err(NoAnswer::Said(_)) if task == Task::Plan => Ok(None),
                Err(no) => Err(no.into()),
            }
        })
    }
}

impl From<NoAnswer> for Error {
    fn from(no: NoAnswer) -> Error {
        match no {
            NoAnswer::Said(message) => failed(format!("it says {message:?}")),
            NoAnswer::Wrong(what) => failed(what),
        }
    }
}

/// Bits of a value at most.
const MOST_BITS: u32 = 8 << 16;

impl Running {
    fn fuel(&mut self, bytes: usize) -> Result<()> {
        self.store.set_fuel(fuel_for(bytes)).map_err(|e| Error::internal(e.to_string()))
    }

    /// The fuel that a request has taken.
    fn taken(&self, request: &Request<'_>, output: usize) -> u64 {
        let given = fuel_for(request.len().saturating_add(output));
        given.saturating_sub(self.store.get_fuel().unwrap_or(0))
    }

    /// Memory of the module for so many bytes.
    fn room(&mut self, bytes: usize) -> Result<u32> {
        let length = u32::try_from(bytes).map_err(|_| Error::limit("what a plugin is given", bytes, u32::MAX))?;
        self.alloc.call(&mut self.store, length).map_err(|e| self.trapped(&e))
    }

    fn slice(&mut self, at: u32, length: usize) -> Result<&mut [u8]> {
        let memory = self.memory.data_mut(&mut self.store);
        let place = usize::try_from(at).ok().filter(|at| at.is_multiple_of(16));
        let room = place.and_then(|at| memory.get_mut(at..)).and_then(|m| m.get_mut(..length));
        room.ok_or_else(|| failed(format!("it offers {length} bytes at {at}, which it does not have")))
    }

    /// Where the answer to a request is.
    fn call(&mut self, task: Task, request: &Request<'_>, output: usize) -> Result<u32> {
        let function = match task {
            Task::Decode => Some(&self.decode),
            Task::Plan => self.plan.as_ref(),
            Task::Encode => self.encode.as_ref(),
        };
        let function = function.cloned().ok_or_else(|| bad("the module only decodes"))?;
        let length = request.len();
        self.fuel(length.saturating_add(output))?;
        let at = self.room(length)?;
        request.write(self.slice(at, length)?)?;
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        function.call(&mut self.store, (at, length)).map_err(|e| self.trapped(&e))
    }

    fn ask<T>(
        &mut self,
        task: Task,
        request: &Request<'_>,
        output: usize,
        take: impl FnOnce(Answer<'_>) -> Result<T>,
    ) -> Result<T> {
        let at = self.call(task, request, output)?;
        take(Answer::read(self.memory.data(&self.store), at)?)
    }

    fn trapped(&self, e: &wasmtime::Error) -> Error {
        if self.store.data().exceeded {
            return too_much(self.store.data().memory);
        }
        match e.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => failed("it takes longer than these bytes can be worth"),
            Some(Trap::MemoryOutOfBounds) => failed("it reaches outside of its memory"),
            Some(Trap::StackOverflow) => failed("its calls go too deep"),
            Some(trap) => failed(format!("it stopped: {trap}")),
            None => failed(format!("it stopped: {e:#}")),
        }
    }
}

/// A plugin did not do what it should.
pub(crate) fn failed(what: impl Into<String>) -> Error {
    Error::corrupt("plugin_failed", what)
}

fn too_much(allowed: usize) -> Error {
    failed(format!("it needs more memory than the {allowed} bytes that it may have"))
        .hint(Setting::Memory.does("allows more"))
}
