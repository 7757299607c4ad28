//! The `colkit` command.

#![forbid(unsafe_code)]

#[global_allocator]
static ALLOCATOR: colkit_cli::Counting = colkit_cli::Counting;

fn main() -> std::process::ExitCode {
    colkit_cli::main()
}
