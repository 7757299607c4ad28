//! The names of columns: each must stand for one of them.

use std::collections::{HashMap, HashSet};

/// The first name that is there twice, and the position of its second appearance.
pub(crate) fn first_repeated(names: &[String]) -> Option<(usize, &str)> {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().enumerate().find(|(_, name)| !seen.insert(name.as_str())).map(|(i, name)| (i, name.as_str()))
}

/// Renames what repeats: `a`, `a_2`, `a_3`, ... leaving out names that are taken. Returns how many were renamed.
pub(crate) fn make_unique(names: &mut [String]) -> usize {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut renamed = 0;
    for name in names {
        let Some(last) = seen.get_mut(name.as_str()) else {
            seen.insert(name.clone(), 1);
            continue;
        };
        *name = loop {
            *last += 1;
            let candidate = format!("{name}_{last}");
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        renamed += 1;
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_numbers_that_are_free() {
        let mut names: Vec<String> = ["a", "a", "a_2", "b", "a", ""].map(String::from).into();
        assert_eq!(first_repeated(&names), Some((1, "a")));
        assert_eq!(make_unique(&mut names), 2);
        assert_eq!(names, ["a", "a_3", "a_2", "b", "a_4", ""]);
        assert_eq!(first_repeated(&names), None);
    }
}
