//! `colkit.Alp` as a module.

#![no_std]

// The decoders of colkit itself.
#[allow(dead_code)]
#[path = "../../../crates/colkit-lance/src/extended/decode/mod.rs"]
mod decode;
#[path = "../../abi/src/groups.rs"]
mod groups;

use decode::alp::Alp;

struct Decimals;

impl abi::Decoder for Decimals {
    fn width(description: &[u8]) -> Option<usize> {
        match *description {
            [bytes @ (4 | 8)] => Some(bytes.into()),
            _ => None,
        }
    }

    fn decode(description: &[u8], bytes: &[u8], count: usize, first: usize, wanted: usize, out: &mut [u8]) -> Result<(), &'static str> {
        let range = first..first + wanted;
        match description.first() {
            Some(4) => groups::decode::<u32, Alp<'_, _>>(bytes, count, range, abi::words(out)),
            _ => groups::decode::<u64, Alp<'_, _>>(bytes, count, range, abi::words(out)),
        }
    }
}

abi::plugin!(Decimals, "about.json");

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
