//! One value for each process: threads and connections are not there any more in the child of a fork, as Python programs make them.

use std::sync::{Mutex, PoisonError};

/// A value that is made when it is first asked for, and anew in the child of a fork. What was made is kept for good.
pub struct PerProcess<T: 'static>(Mutex<Option<(u32, &'static T)>>);

impl<T> PerProcess<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        PerProcess(Mutex::new(None))
    }

    /// The value of this process.
    pub fn get(&self, make: impl FnOnce() -> T) -> &'static T {
        self.get_in(std::process::id(), make)
    }

    fn get_in(&self, process: u32, make: impl FnOnce() -> T) -> &'static T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some((owner, value)) if owner == process => value,
            _ => known.insert((process, Box::leak(Box::new(make())))).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_makes_its_own() {
        let known = PerProcess::new();
        assert_eq!(*known.get_in(1, || "parent"), "parent");
        assert_eq!(*known.get_in(1, || "again"), "parent");
        assert_eq!(*known.get_in(2, || "child"), "child");
    }
}
