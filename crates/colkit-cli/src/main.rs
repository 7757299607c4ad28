//! The `colkit` command.

fn main() -> std::process::ExitCode {
    colkit_cli::run(std::env::args_os(), colkit_cli::Io::of_process())
}
