//! The `colkit` command.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: colkit_cli::CountingAllocator = colkit_cli::CountingAllocator;

fn main() -> std::process::ExitCode {
    colkit_cli::main()
}
