//! Secrets that cannot be guessed.

use colkit::{Error, Result};

/// 128 random bits from the operating system, as 32 hexadecimal digits.
pub fn new() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| Error::io("io", format!("the system gives no random numbers: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether two texts are equal, in a time that does not tell where they differ.
pub fn is_same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_and_differ() {
        let (a, b) = (new().unwrap(), new().unwrap());
        assert_eq!(a.len(), 32);
        assert!(a.bytes().all(|c| c.is_ascii_hexdigit()));
        assert!(is_same(&a, &a) && !is_same(&a, &b) && !is_same(&a, &a[1..]) && !is_same("", &a));
    }
}
