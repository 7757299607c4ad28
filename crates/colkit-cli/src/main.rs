//! The `colkit` command.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: colkit_cli::CountingAllocator = colkit_cli::CountingAllocator;

fn main() -> std::process::ExitCode {
    // Panics inside third-party decoders become errors of the file.
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !colkit::interop::inside_decoder() {
            default_hook(info);
        }
    }));
    colkit_cli::run(std::env::args_os(), colkit_cli::Io::of_process())
}
