//! colkit
