//! The real binary over real files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failure is a panic"
)]

mod command {
    mod as_it_comes;
    mod asks;
    mod bundles;
    mod changing;
    mod checksums;
    mod compares;
    mod completes;
    mod compressed;
    mod confined;
    mod converts;
    mod cookbook;
    mod dataset_others;
    mod dataset_stores;
    mod dataset_writes;
    mod datasets;
    mod dialects;
    mod ends;
    mod exchanges;
    #[cfg(all(feature = "extended", feature = "plugins"))]
    mod extended;
    mod fails;
    mod files;
    mod helps;
    mod hostile;
    mod killed;
    mod limits;
    mod literals;
    mod memory;
    mod odd_names;
    mod outputs;
    mod packs;
    #[cfg(feature = "plugins")]
    mod plugins;
    mod prints;
    mod profiles;
    mod run;
    mod saves;
    mod searches;
    mod several;
    mod shell;
    mod sql;
    mod sql_arithmetic;
    mod sql_copy;
    mod sql_dialect;
    mod sql_memory;
    mod sql_tables;
    mod stores;
    mod terminal;
    mod texts;
    #[cfg(feature = "view")]
    mod view;
    #[cfg(feature = "view")]
    mod view_html;
    #[cfg(feature = "view")]
    mod view_terminal;
    mod wide;
}
