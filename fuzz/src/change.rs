//! Changing files: the fuzzer's own changes, and where they are put.

/// Numbers for decisions, all from the seed that the fuzzer gives.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u32) -> Self {
        Dice(u64::from(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`, 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.roll() % n as u64) as usize }
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A number of the kind that breaks things.
    pub fn number(&mut self, near: u64) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => near.wrapping_add(1),
            2 => near.wrapping_sub(1),
            3 => 1 << self.below(64),
            4 => (1u64 << self.below(64)).wrapping_sub(1),
            5 => near.wrapping_mul(2 + self.roll() % 1000),
            6 => self.roll() % 256,
            _ => u64::MAX - self.roll() % 4,
        }
    }

    /// The fuzzer's own change of some bytes, to at most `most`.
    pub fn change(&mut self, bytes: &mut Vec<u8>, most: usize) {
        let size = bytes.len();
        let room = most.max(1);
        bytes.resize(size.max(room), 0);
        let new = libfuzzer_sys::fuzzer_mutate(bytes, size, room);
        bytes.truncate(new);
    }

    /// A change that keeps the length.
    pub fn change_in_place(&mut self, bytes: &mut [u8]) {
        let mut changed = bytes.to_vec();
        self.change(&mut changed, bytes.len());
        for (to, from) in bytes.iter_mut().zip(changed) {
            *to = from;
        }
    }
}

/// The largest piece of a file that is unpacked to be changed.
pub const PIECE: usize = 1 << 18;

/// Changes a file: by the format's own rules, or, one time in four or if it cannot be taken apart, anywhere.
pub fn file(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    change: fn(&[u8], usize, &mut Dice) -> Option<Vec<u8>>,
) -> usize {
    let mut dice = Dice::new(seed);
    if !dice.once_in(4)
        && let Some(changed) = data.get(..size).and_then(|file| change(file, max_size, &mut dice))
        && let Some(room) = data.get_mut(..changed.len())
        && changed.len() <= max_size
    {
        room.copy_from_slice(&changed);
        return changed.len();
    }
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
}

/// No rules: only the fuzzer's own changes.
pub fn anywhere(_: &[u8], _: usize, _: &mut Dice) -> Option<Vec<u8>> {
    None
}
