//! colkit-interop
