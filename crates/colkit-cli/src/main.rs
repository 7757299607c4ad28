//! The `colkit` command.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: colkit_cli::Counting = colkit_cli::Counting;

fn main() -> std::process::ExitCode {
    // What makes a decoder panic is reported as an error of the file.
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !colkit::interop::inside_decoder() {
            tell(info);
        }
    }));
    let run = || colkit_cli::run(std::env::args_os(), colkit_cli::Io::of_process());
    std::panic::catch_unwind(run).unwrap_or_else(|_| colkit_cli::panicked())
}
