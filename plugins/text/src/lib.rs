//! `colkit.Text` as a module.

#![no_std]

// The decoders of colkit itself.
#[allow(dead_code)]
#[path = "../../../crates/colkit-lance/src/extended/decode/mod.rs"]
mod decode;
#[path = "../../abi/src/groups.rs"]
mod groups;

use decode::frame::Frame;

const ESCAPE: u8 = 255;
const LONGEST: usize = 8;

/// Symbols by code, their first byte lowest, and their lengths. Codes that stand for nothing have length 0.
struct Symbols {
    words: [u64; 256],
    lengths: [u8; 256],
}

impl Symbols {
    /// The symbols of a description; `None` if it is not understood.
    fn parse(description: &[u8]) -> Option<Symbols> {
        let (count, rest) = description.split_first()?;
        let (lengths, mut rest) = rest.split_at_checked((*count).into())?;
        let mut symbols = Symbols { words: [0; 256], lengths: [0; 256] };
        for (code, length) in lengths.iter().enumerate() {
            if !(1..=8).contains(length) {
                return None;
            }
            let (symbol, after) = rest.split_at_checked((*length).into())?;
            let mut word = [0; LONGEST];
            word[..symbol.len()].copy_from_slice(symbol);
            symbols.words[code] = u64::from_le_bytes(word);
            symbols.lengths[code] = *length;
            rest = after;
        }
        rest.is_empty().then_some(symbols)
    }

    /// What the codes of a value stand for, from `at` on; returns where it ends. There is room for 8 bytes of each code, and 8 more.
    fn decode(&self, codes: &[u8], out: &mut [u8], mut at: usize) -> Result<usize, &'static str> {
        let mut codes = codes.iter();
        while let Some(code) = codes.next() {
            let (mut word, mut length) = (self.words[usize::from(*code)], self.lengths[usize::from(*code)]);
            if length == 0 {
                if *code != ESCAPE {
                    return Err("a code without a symbol");
                }
                word = (*codes.next().ok_or("an escape at the end of a value")?).into();
                length = 1;
            }
            let room = out.get_mut(at..).and_then(|out| out.first_chunk_mut()).ok_or("more text than was expected")?;
            *room = word.to_le_bytes();
            at += usize::from(length);
        }
        Ok(at)
    }
}

struct Text;

impl abi::texts::Decoder for Text {
    fn understands(description: &[u8]) -> bool {
        Symbols::parse(description).is_some()
    }

    fn room(description: &[u8], bytes: usize) -> usize {
        if description == [0] { bytes } else { bytes.saturating_mul(LONGEST).saturating_add(LONGEST) }
    }

    fn decode(request: &abi::texts::Request<'_>, ends: &mut [u32], out: &mut [u8]) -> Result<usize, &'static str> {
        let wrong = "texts whose lengths are not those of their bytes";
        let (codes, lengths) = (request.buffer(0).ok_or(wrong)?, request.buffer(1).ok_or(wrong)?);
        // What comes before the first value is skipped; what is wanted lies behind it.
        let (first, wanted) = (request.first, request.wanted);
        let all = ends.get_mut(..request.count + 1).ok_or(wrong)?;
        groups::decode::<u32, Frame<'_, _>>(lengths, request.count, 0..request.count, &mut all[1..])?;
        all[0] = 0;
        let mut end = 0u32;
        for length in &mut all[1..] {
            end = end.checked_add(*length).ok_or(wrong)?;
            *length = end;
        }
        if end as usize != codes.len() {
            return Err(wrong);
        }
        let place = |ends: &[u32], value: usize| ends[value] as usize;
        if request.description == [0] {
            let (from, to) = (place(all, first), place(all, first + wanted));
            out[..to - from].copy_from_slice(&codes[from..to]);
            for value in 0..=wanted {
                all[value] = all[first + value] - from as u32;
            }
            return Ok(to - from);
        }
        let symbols = Symbols::parse(request.description).ok_or("a description that is not understood")?;
        let (mut at, mut from) = (0, place(all, first));
        for value in 0..wanted {
            let to = place(all, first + value + 1);
            at = symbols.decode(&codes[from..to], out, at)?;
            from = to;
            // The end that was there has been read, also if it is this one.
            all[value + usize::from(first == 0)] = at as u32;
        }
        if first > 0 {
            all.copy_within(0..wanted, 1);
        }
        all[0] = 0;
        Ok(at)
    }
}

abi::plugin!(texts Text, "about.json");

#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
