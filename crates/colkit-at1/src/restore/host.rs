//! Where a codec prints: on the thread that asks, or in pieces on several.

use crate::output::Output;
use colkit_core::Result;
use colkit_core::drive::ordered::{self, Budget, Receiver};

/// A part of the text that can be printed on its own.
pub type Piece<'a> = Box<dyn FnOnce(&mut Output<'_>) -> Result<()> + Send + 'a>;

/// Runs the pieces of a codec.
pub enum Host<'h, 'o> {
    /// One after another, into this output.
    Here(&'h mut Output<'o>),
    /// On several threads; what they print is taken in order.
    Threads {
        /// What may be used.
        budget: Budget,
        /// Bytes that may be printed.
        most: u64,
        /// Takes what was printed.
        take: &'h mut dyn FnMut(&[u8]) -> Result<()>,
    },
}

impl Host<'_, '_> {
    /// Threads there are.
    pub fn threads(&self) -> usize {
        match self {
            Host::Here(_) => 1,
            Host::Threads { budget, .. } => budget.threads,
        }
    }

    /// Says how many bytes the codec is about to hold besides the streams, for all pieces together.
    pub fn hold(&mut self, bytes: u64) -> Result<()> {
        match self {
            Host::Here(out) => out.hold(bytes),
            Host::Threads { budget, .. } => budget.check(bytes),
        }
    }

    /// Prints all in one piece.
    pub fn print(&mut self, print: impl FnOnce(&mut Output<'_>) -> Result<()> + Send) -> Result<()> {
        match self {
            Host::Here(out) => print(out),
            Host::Threads { .. } => self.run(std::iter::once(Box::new(print) as Piece<'_>)),
        }
    }

    /// Prints pieces, which come out in order.
    pub fn run<'p>(&mut self, mut pieces: impl Iterator<Item = Piece<'p>> + Send) -> Result<()> {
        match self {
            Host::Here(out) => pieces.try_for_each(|piece| piece(out)),
            Host::Threads { budget, most, take } => {
                let most = *most;
                let pieces = pieces.map(|piece| -> ordered::Piece<'p> {
                    Box::new(move |receiver: &mut dyn Receiver| {
                        let mut out = Output::new(receiver, most);
                        piece(&mut out)?;
                        out.flush()
                    })
                });
                ordered::run(pieces, *budget, take)
            }
        }
    }
}
