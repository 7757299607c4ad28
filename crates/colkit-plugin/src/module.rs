//! The sections of a module, looked at before anything is compiled: what is refused here costs nothing.
//!
//! ```text
//!  0  "\0asm"           then sections: id (a byte), size (LEB128), content
//!  4  version u32 = 1   id 0: custom, 2: imports, 3: functions, 8: start, 10: code
//! ```

use colkit_core::{Error, Result};

/// The custom section that says what the module is.
pub(crate) const SECTION: &str = "colkit.plugin";

/// Bytes of a module.
pub(crate) const MOST_BYTES: usize = 4 << 20;

/// Functions of a module.
const MOST_FUNCTIONS: u64 = 10_000;

/// What the sections say.
#[derive(Debug)]
pub(crate) struct Sections<'a> {
    /// The content of the section [`SECTION`].
    pub about: &'a [u8],
}

/// An error about a module.
pub(crate) fn bad(what: impl Into<String>) -> Error {
    Error::unsupported("bad_plugin", what)
}

/// Looks at the sections of a module.
pub(crate) fn sections(bytes: &[u8]) -> Result<Sections<'_>> {
    if bytes.len() > MOST_BYTES {
        return Err(bad(format!("a module of {} bytes; {MOST_BYTES} are allowed", bytes.len())));
    }
    let Some(mut rest) = bytes.strip_prefix(b"\0asm\x01\0\0\0") else {
        return Err(bad("this is not a WebAssembly module of version 1"));
    };
    let mut about = None;
    while let Some((id, after)) = rest.split_first() {
        let (size, after) = number(after)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let (content, after) =
            after.split_at_checked(size).ok_or_else(|| bad("a section that goes beyond the module"))?;
        rest = after;
        match id {
            0 => {
                let (length, named) = number(content)?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let (name, content) = named.split_at_checked(length).ok_or_else(|| bad("a section without a name"))?;
                if name == SECTION.as_bytes() && about.replace(content).is_some() {
                    return Err(bad(format!("two sections {SECTION:?}")));
                }
            }
            2 if number(content)?.0 > 0 => {
                return Err(
                    bad("the module has imports").hint("a plugin computes from what it is given, and needs none")
                );
            }
            3 if number(content)?.0 > MOST_FUNCTIONS => {
                return Err(bad(format!("{} functions; {MOST_FUNCTIONS} are allowed", number(content)?.0)));
            }
            8 => return Err(bad("the module has a start function").hint("a plugin runs only when it is called")),
            _ => {}
        }
    }
    let lacks =
        || bad(format!("the module has no section {SECTION:?}")).hint("it is no plugin of colkit; see docs/plugins.md");
    Ok(Sections { about: about.ok_or_else(lacks)? })
}

/// A number in LEB128, and what follows it.
fn number(bytes: &[u8]) -> Result<(u64, &[u8])> {
    let mut value = 0u64;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok((value, bytes.get(place + 1..).unwrap_or_default()));
        }
    }
    Err(bad("a number that does not end"))
}
