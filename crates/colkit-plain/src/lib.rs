//! colkit-plain
