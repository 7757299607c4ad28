/// Our code for what the vectors call a kind of damage. Ours are those of all formats.
fn code_of(kind: &str) -> &str {
    match kind {
        "bad_endianness" => "big_endian",
        "bad_type" => "unknown_type",
        "bad_version" => "unknown_version",
        "block_trailing_data" => "bytes_left_over",
        "corrupt_block" => "bad_compressed_data",
        "truncated_header" => "truncated",
        other => other,
    }
}
