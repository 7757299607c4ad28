//! The scripts that ask.

use clap_complete::Shell;

/// The script for a shell, if it asks as the words are typed. For other shells there is a list of verbs and options.
pub fn script(shell: Shell) -> Option<&'static str> {
    match shell {
        Shell::Bash => Some(include_str!("colkit.bash")),
        Shell::Zsh => Some(include_str!("colkit.zsh")),
        Shell::Fish => Some(include_str!("colkit.fish")),
        _ => None,
    }
}
