//! `colkit.Frame` as a module.

#![no_std]

// The decoders of colkit itself.
#[allow(dead_code)]
#[path = "../../../crates/colkit-lance/src/extended/decode/mod.rs"]
mod decode;
#[path = "../../abi/src/groups.rs"]
mod groups;

use decode::frame::Frame;

struct Frames;

impl abi::Decoder for Frames {
    fn width(description: &[u8]) -> Option<usize> {
        match *description {
            [bytes @ (1 | 2 | 4 | 8 | 16), stored] if stored == bytes.min(8) => Some(bytes.into()),
            _ => None,
        }
    }

    fn decode(description: &[u8], bytes: &[u8], count: usize, first: usize, wanted: usize, out: &mut [u8]) -> Result<(), &'static str> {
        let range = first..first + wanted;
        match description.first() {
            Some(1) => groups::decode::<u8, Frame<'_, _>>(bytes, count, range, abi::words(out)),
            Some(2) => groups::decode::<u16, Frame<'_, _>>(bytes, count, range, abi::words(out)),
            Some(4) => groups::decode::<u32, Frame<'_, _>>(bytes, count, range, abi::words(out)),
            Some(8) => groups::decode::<u64, Frame<'_, _>>(bytes, count, range, abi::words(out)),
            _ => {
                let (narrow, _) = abi::words::<u64>(out).split_at_mut(wanted);
                groups::decode::<u64, Frame<'_, _>>(bytes, count, range, narrow)?;
                // From the last on, so that none is overwritten before it is read.
                let wide = abi::words::<u64>(out);
                for i in (0..wanted).rev() {
                    let word = wide[i];
                    wide[2 * i] = word;
                    wide[2 * i + 1] = (word.cast_signed() >> 63).cast_unsigned();
                }
                Ok(())
            }
        }
    }
}

abi::plugin!(Frames, "about.json");

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
