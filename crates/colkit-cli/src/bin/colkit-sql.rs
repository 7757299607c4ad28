//! The command with the query engine in it: what `colkit sql` starts if it has none itself.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: colkit_cli::CountingAllocator = colkit_cli::CountingAllocator;

fn main() -> std::process::ExitCode {
    colkit_cli::main()
}
