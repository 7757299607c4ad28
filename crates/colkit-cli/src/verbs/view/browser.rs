//! Opens a browser.

use std::process::{Command, Stdio};

/// Whether there is a screen that a browser could be seen on.
pub fn is_there() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(any(windows, target_os = "macos")) {
        !set("SSH_CONNECTION")
    } else {
        set("DISPLAY") || set("WAYLAND_DISPLAY")
    }
}

/// Opens a URL in the browser that the user prefers, without waiting for it. Returns whether that was possible.
pub fn open(url: &str) -> bool {
    let mut command = match () {
        () if cfg!(target_os = "macos") => Command::new("open"),
        () if cfg!(windows) => {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        }
        () => Command::new("xdg-open"),
    };
    let started = command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = started else { return false };
    // Somebody has to ask how it ended.
    std::thread::spawn(move || child.wait());
    true
}
