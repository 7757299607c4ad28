//! The list of error codes: class, meaning and remedy of each.
//!
//! `docs/errors.md` is generated from this list. Tests compare the list with the sources: every code in use is listed, every listed
//! code is in use, and with this class. An empty remedy stands for that of the class ([`Class::remedy`]).

use crate::Class::{self, Corrupt, Data, Internal, Io, Limit, Request, Unsupported};

/// An error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// What [`Error::code`](crate::Error::code) returns.
    pub name: &'static str,
    /// The class that all errors with this code have.
    pub class: Class,
    /// What has happened.
    pub meaning: &'static str,
    /// What to do about it, if there is more to say than for the whole class.
    pub remedy: &'static str,
}

const fn code(class: Class, name: &'static str, meaning: &'static str, remedy: &'static str) -> Code {
    Code { name, class, meaning, remedy }
}

/// The entry of a code.
pub fn find(name: &str) -> Option<&'static Code> {
    ALL.iter().find(|code| code.name == name)
}

impl Class {
    /// What errors of this class say.
    pub fn meaning(self) -> &'static str {
        match self {
            Request => "The request is invalid: an unknown column, an impossible range, a bad option.",
            Data => "The data cannot be written or converted as requested.",
            Corrupt => "The file violates its format.",
            Unsupported => "The file or request may be valid but is not supported by this version.",
            Limit => "A limit would be exceeded.",
            Io => "The operating system or an object store failed.",
            Internal => "A bug in colkit.",
        }
    }

    /// What to do about errors of this class.
    pub fn remedy(self) -> &'static str {
        match self {
            Request => "Correct the request.",
            Data => "Use the setting in the hint, change the data, or write another format.",
            Corrupt => {
                "Get another copy of the file, or write it again. `verify` lists the damage; intact columns and row \
                 groups can still be read."
            }
            Unsupported => "Write the file with other settings, or use a newer version of colkit.",
            Limit => "Raise the limit in the hint if you trust the file, or request less.",
            Io => "Repair the cause and try again.",
            Internal => "Report it, with the message, the request and, if possible, the file.",
        }
    }
}

/// All codes, by class and name.
#[rustfmt::skip]
pub const ALL: &[Code] = &[
    code(Request, "already_exists", "A file or object of that name exists.", "Choose another name, or allow overwriting."),
    code(Request, "ambiguous_column", "Several columns have that name.", "Name the column by its position."),
    code(Request, "bad_certificates", "The certificates of a cluster are unusable.", "Check `ca.pem`, `cert.pem` and `key.pem`."),
    code(Request, "bad_cluster", "The address of a cluster is invalid.", "Write it like `df://scheduler:50050`."),
    code(Request, "bad_column_types", "The list of column types is invalid.", "Write `name:type`, separated by commas."),
    code(Request, "bad_columns", "The list of columns is invalid.", ""),
    code(Request, "bad_command", "The SQL shell has no such command, or its arguments are invalid.", "`.help` lists the commands."),
    code(Request, "bad_compression", "The format cannot be compressed that way.", ""),
    code(Request, "bad_date_format", "The date format is invalid.", "Write it like `%d.%m.%Y`."),
    code(Request, "bad_delimiter", "That character cannot separate cells.", ""),
    code(Request, "bad_entry_name", "A bundle cannot hold an entry of that name: it is absolute, not UTF-8, or a duplicate.", ""),
    code(Request, "bad_key", "Rows cannot be matched by that key.", ""),
    code(Request, "bad_level", "The compression has no such level.", ""),
    code(Request, "bad_option", "An option in a query has an invalid value.", ""),
    code(Request, "bad_output", "The output name of a conversion on a cluster has no placeholder for the input name.", "Put `{}` into it, such as `out/{}.lance`."),
    code(Request, "bad_pattern", "A regular expression is invalid.", "Search for it as plain text, or escape its special characters with a backslash."),
    code(Request, "bad_predicate", "The condition cannot be parsed.", ""),
    code(Request, "bad_quote", "That character cannot quote cells.", ""),
    code(Request, "bad_reference", "A tag cannot have that name.", ""),
    code(Request, "bad_rows", "The row number or range is invalid.", "Write `10..20`, `10..`, `..20` or `7`, counted from 0."),
    code(Request, "bad_select", "A column selection is invalid, or a column cannot be cast to the requested type.", ""),
    code(Request, "bad_sql", "The SQL cannot be parsed or planned.", ""),
    code(Request, "bad_table", "A table is not given as `NAME=PATH`, or a table function has no path.", ""),
    code(Request, "bad_url", "The URL does not identify an object in a store.", "Write URLs like `s3://bucket/folder/file.lance`."),
    code(Request, "blocked_name", "Something is in the way of an entry that is to be restored.", "Move it away, or restore to another folder."),
    code(Request, "conflicting_options", "Two options exclude each other.", ""),
    code(Request, "copy_inside", "`COPY` is nested in another statement.", "Run it as a statement of its own."),
    code(Request, "has_indices", "The change would invalidate the indices of the dataset.", "Use pylance, or drop the indices."),
    code(Request, "is_a_bundle", "The file is a bundle of several files; one was expected.", "Name an entry, or a folder to restore to."),
    code(Request, "is_a_folder", "The path is a folder; a file was expected.", ""),
    code(Request, "is_a_socket", "A socket cannot be written to like a file.", ""),
    code(Request, "no_format_named", "The extension of the output does not determine its format.", "Set the format."),
    code(Request, "no_input", "No input was given.", ""),
    code(Request, "no_output_named", "The output has no name, and none can be derived.", ""),
    code(Request, "no_such_column", "The table has no such column.", ""),
    code(Request, "no_such_encoding", "There is no encoding of that name.", ""),
    code(Request, "no_such_entry", "The bundle has no such entry.", ""),
    code(Request, "no_such_format", "There is no format of that name or extension.", ""),
    code(Request, "no_such_option", "`COPY` or a function that reads files has no such option.", ""),
    code(Request, "no_such_rows", "The row is beyond the end of the table.", "Rows are counted from 0."),
    code(Request, "no_such_type", "There is no such type, or the format cannot be read as it.", ""),
    code(Request, "no_such_verb", "The command has no such verb.", ""),
    code(Request, "no_such_version", "The dataset has no such version, tag or branch.", "`versions` lists them."),
    code(Request, "no_terminal", "The SQL shell or the terminal explorer has no usable terminal.", "Give the query as an argument."),
    code(Request, "not_a_bundle", "The file is not a bundle, so it has no entries.", ""),
    code(Request, "not_a_file_name", "That is not the name of a file or object.", ""),
    code(Request, "not_confirmed", "Files would be removed without confirmation.", "Confirm it, or only list them."),
    code(Request, "not_loopback", "Other machines could reach the address, which was not allowed.", "Allow it if all that can connect are trusted."),
    code(Request, "option_of_another_format", "The output format does not have that option.", ""),
    code(Request, "output_is_input", "The output file is also an input.", "Write to another name and rename it afterwards."),
    code(Request, "outside_folders", "A cluster process was asked for a file outside its folders.", "Give it the folder, or put the file into a store."),
    code(Request, "same_output", "Two inputs have the same output file.", "Convert them one after another, or rename one."),
    code(Request, "stdin_twice", "Standard input can be read only once.", ""),
    code(Request, "type_mismatch", "A column cannot be compared with that value.", "Quote strings."),
    code(Request, "usage", "The arguments of the command are invalid.", "Its help lists them."),

    code(Data, "arithmetic_overflow", "The result of integer arithmetic in a query does not fit its type.", "Cast an operand to `DECIMAL(38, 0)` or `DOUBLE`."),
    code(Data, "arrow_error", "The Arrow or Parquet library refused the data.", ""),
    code(Data, "bad_cell", "A cell of a text file does not fit the type of its column.", "Give the column another type."),
    code(Data, "bad_encoding_key", "Field metadata requests a Lance encoding that does not exist.", ""),
    code(Data, "column_too_large", "A column has more bytes than the format can store.", "Split the table."),
    code(Data, "division_by_zero", "A query divides an integer by zero.", "`NULLIF(divisor, 0)` makes such quotients null."),
    code(Data, "does_not_fit", "A value is not representable in the type that its column is cast to.", "Select another type, or allow lossy types."),
    code(Data, "duplicate_column", "Two columns to be written have the same name.", "Allow renaming, or rename one."),
    code(Data, "line_too_long", "A line is too long for AT-1's codecs.", ""),
    code(Data, "linked_folder", "Lance: a folder of a dataset is a link, so files behind it are neither removed nor replaced.", "Replace the link by the folder."),
    code(Data, "metadata_not_supported", "The format cannot carry the schema's metadata.", ""),
    code(Data, "name_not_supported", "The format cannot store a column of that name.", "Rename the column."),
    code(Data, "no_columns", "There are no columns, and the format needs one.", ""),
    code(Data, "not_exact", "The packed file does not restore to its original, which may have changed meanwhile.", "Pack it again."),
    code(Data, "not_json", "A string is not JSON.", "`json_valid` finds the valid ones."),
    code(Data, "not_kept", "A bundle cannot keep everything about these files, such as links.", ""),
    code(Data, "not_text", "The input is not text that a codec can split.", ""),
    code(Data, "null_not_supported", "The output format has no nulls.", ""),
    code(Data, "query_failed", "A query failed while it ran.", ""),
    code(Data, "row_too_large", "A row exceeds the page size of the format.", ""),
    code(Data, "schema_mismatch", "A batch has different columns from the table it is written to.", ""),
    code(Data, "schemas_differ", "The inputs do not have the same columns.", ""),
    code(Data, "too_irregular", "The text does not suit the requested codec.", "Let the codec be chosen."),
    code(Data, "too_many_columns", "There are more columns than the format can store.", ""),
    code(Data, "too_many_rows", "There are more rows than the format can store.", "Split the table."),
    code(Data, "type_not_supported", "The format cannot store values of that type.", ""),
    code(Data, "value_out_of_range", "A value is not representable in the output type.", ""),
    code(Data, "value_too_large", "A value has more bytes than the format can store.", ""),

    code(Corrupt, "bad_backend", "AT-1: the compression method of a payload is unknown or wrong.", ""),
    code(Corrupt, "bad_bit_width", "Lance: an impossible bit width.", ""),
    code(Corrupt, "bad_block", "Lance: a block has the wrong number of values.", ""),
    code(Corrupt, "bad_block_tag", "AT-1: a block of unknown kind.", ""),
    code(Corrupt, "bad_bool", "A boolean is neither 0 nor 1.", ""),
    code(Corrupt, "bad_chunk", "Lance: a chunk contradicts its page.", ""),
    code(Corrupt, "bad_codec", "AT-1: the codec does not match the kind of container.", ""),
    code(Corrupt, "bad_column_count", "The number of columns is impossible.", ""),
    code(Corrupt, "bad_column_type", "AT-1: the type of a column is unknown.", ""),
    code(Corrupt, "bad_compressed_data", "Compressed data cannot be decompressed.", ""),
    code(Corrupt, "bad_count", "AT-1: an impossible count.", ""),
    code(Corrupt, "bad_dataset", "Lance: the manifest of a dataset contradicts itself or its files.", ""),
    code(Corrupt, "bad_deletions", "Lance: the deletion file of a fragment is unreadable or contradicts the manifest.", ""),
    code(Corrupt, "bad_encoding", "Lance: the description of an encoding is incomplete or contradicts itself.", ""),
    code(Corrupt, "bad_flag", "AT-1: a flag is neither 0 nor 1.", ""),
    code(Corrupt, "bad_footer", "The footer is unreadable.", ""),
    code(Corrupt, "bad_frame", "AT-1: a frame of unknown kind or impossible length.", ""),
    code(Corrupt, "bad_index", "AT-1: a reference to a missing item.", ""),
    code(Corrupt, "bad_json", "A line is not one JSON object.", ""),
    code(Corrupt, "bad_layout", "The parts of the file do not cover it exactly once.", ""),
    code(Corrupt, "bad_levels", "Lance: definition or repetition levels contradict the page.", ""),
    code(Corrupt, "bad_magic", "The magic bytes of the format are missing.", "The file may be truncated, or of another format."),
    code(Corrupt, "bad_manifest", "The manifest of a bundle is unreadable.", ""),
    code(Corrupt, "bad_message", "Arrow IPC: a message is unreadable.", ""),
    code(Corrupt, "bad_metadata", "Lance: metadata is unreadable.", ""),
    code(Corrupt, "bad_name", "A name is empty, too long or not UTF-8.", ""),
    code(Corrupt, "bad_number", "A number is beyond the range of its type.", ""),
    code(Corrupt, "bad_offsets", "Offsets do not ascend, or exceed their data.", ""),
    code(Corrupt, "bad_page_index", "Parquet: the page index contradicts the footer.", ""),
    code(Corrupt, "bad_row_count", "The number of rows is impossible.", ""),
    code(Corrupt, "bad_row_ids", "Lance: row ids are missing, or their number differs from the number of rows.", "Read the dataset without row ids."),
    code(Corrupt, "bad_scale", "AT-1: a decimal with too many digits after the point.", ""),
    code(Corrupt, "bad_schema", "Lance: the schema is incomplete or contradicts itself.", ""),
    code(Corrupt, "bad_section_offset", "The sections of the file are at the wrong offsets.", ""),
    code(Corrupt, "bad_statistics", "Lance: statistics contradict the values.", "Predicates may miss rows: write the file again."),
    code(Corrupt, "bad_string_length", "A string is longer than the data that holds it.", ""),
    code(Corrupt, "bad_symbol_table", "Lance: an FSST symbol table is unreadable.", ""),
    code(Corrupt, "bad_text_encoding", "Text is not in the given or detected encoding.", "Give another encoding."),
    code(Corrupt, "bad_time", "AT-1: a time outside the years 1000 to 9999.", ""),
    code(Corrupt, "bad_token", "AT-1: an unknown token in a JSON document.", ""),
    code(Corrupt, "bad_trailer", "AT-1: the trailer magic has a flipped bit.", ""),
    code(Corrupt, "bad_transform", "AT-1: an unknown transform of pixels.", ""),
    code(Corrupt, "bad_utf8", "Text is not UTF-8.", "Give the encoding of a text file."),
    code(Corrupt, "bad_values", "Lance: values contradict their encoding.", ""),
    code(Corrupt, "bad_varint", "AT-1: a number does not fit 64 bits.", ""),
    code(Corrupt, "bad_width", "AT-1: values of an impossible width.", ""),
    code(Corrupt, "block_out_of_range", "A part of the file is beyond its end.", "The file may be truncated."),
    code(Corrupt, "block_overlap", "Two parts of the file claim the same bytes.", ""),
    code(Corrupt, "buffer_too_short", "Lance: a buffer is too short for its values.", ""),
    code(Corrupt, "bytes_left_over", "Unexpected bytes follow the end of a structure.", ""),
    code(Corrupt, "cell_not_a_number", "AT-1: a cell of a numeric column is not a number.", "Unpack the file to see its text."),
    code(Corrupt, "cells_used_up", "AT-1: a stream has fewer cells than the others need.", ""),
    code(Corrupt, "checksum_mismatch", "Bytes do not match their checksum in the file.", ""),
    code(Corrupt, "chunk_too_long", "AT-1: a column chunk of 4 GiB or more.", ""),
    code(Corrupt, "column_count_mismatch", "Parquet: the number of columns in a row group differs from the schema.", ""),
    code(Corrupt, "csv_bare_cr", "CSV: a carriage return without a line feed.", ""),
    code(Corrupt, "csv_no_header", "CSV: the header line is missing.", "Read the file as one without a header."),
    code(Corrupt, "csv_quote", "CSV: a quote is never closed, or text follows a closing quote.", ""),
    code(Corrupt, "csv_ragged", "CSV: a record has more or fewer cells than there are columns.", ""),
    code(Corrupt, "decoder_failed", "The Arrow or Parquet decoder refused the bytes.", ""),
    code(Corrupt, "duplicate_name", "Two columns, members of an object or entries of a bundle have the same name.", "Rename one."),
    code(Corrupt, "duplicate_stream", "AT-1: two streams have the same name.", ""),
    code(Corrupt, "length_mismatch", "A block does not decompress to the length in the header.", ""),
    code(Corrupt, "missing_column", "Lance: the schema needs a column that the file does not have.", ""),
    code(Corrupt, "nested_bundle", "A bundle contains a bundle.", ""),
    code(Corrupt, "nesting", "AT-1: a JSON document is nested too deeply.", ""),
    code(Corrupt, "no_rows", "NDJSON: there is no object, so the columns are unknown.", ""),
    code(Corrupt, "no_such_buffer", "Lance: a page refers to a missing buffer.", ""),
    code(Corrupt, "no_such_page", "Lance: a column refers to a missing page.", ""),
    code(Corrupt, "nothing_saved", "No row of a damaged file can be read in full.", "Save fewer columns."),
    code(Corrupt, "only_empty_objects", "NDJSON: every object is empty, so there are no columns.", ""),
    code(Corrupt, "plugin_failed", "Lance: the plugin that decodes a column failed, took too long, or returned invalid values.", "Use another version of the plugin; other columns can be read."),
    code(Corrupt, "row_count_mismatch", "Parts of the file disagree about the number of rows.", ""),
    code(Corrupt, "size_impossible", "A block cannot decompress to the length in the header.", ""),
    code(Corrupt, "size_mismatch", "The length of a column does not match its number of rows.", ""),
    code(Corrupt, "trailer_missing", "AT-1: the required SHA-256 at the end is missing.", "The file may be truncated."),
    code(Corrupt, "truncated", "The file, or a part of it, ends too early.", "The file may be truncated."),
    code(Corrupt, "unsafe_name", "An entry of a bundle would be restored outside the target folder.", "Nothing was written. Do not trust the file."),
    code(Corrupt, "wrong_encoding", "Lance: values are encoded as a different type from their column.", ""),
    code(Corrupt, "zone_map_mismatch", "AT-1: a zone map contradicts the values.", ""),

    code(Unsupported, "bad_plugin", "A WebAssembly module is not a plugin, or violates the rules of the sandbox.", "`colkit plugins check` reports the reason."),
    code(Unsupported, "bad_reserved", "A field that must be zero in this version is not.", ""),
    code(Unsupported, "big_endian", "The file has its most significant bytes first.", ""),
    code(Unsupported, "cluster_version", "Processes of a cluster have different protocol versions.", "Run the same colkit everywhere."),
    code(Unsupported, "encrypted", "Parquet: the file, or a column of it, is encrypted.", "Decrypt it with the program that wrote it."),
    code(Unsupported, "image_codec", "AT-1: an image codec that was never published.", "Restore it with the program that wrote it."),
    code(Unsupported, "message_kind", "Arrow IPC: a message of unknown kind.", ""),
    code(Unsupported, "no_exclusive_create", "The store has no conditional put, which commits to a dataset need.", "Write to another store, or allow it if nobody else writes."),
    code(Unsupported, "no_query_engine", "The command was built without the SQL engine.", "Build the command with the cargo feature `full`."),
    code(Unsupported, "no_schema", "Lance: the file has no schema, so the types of its columns are unknown.", ""),
    code(Unsupported, "no_table_view", "AT-1: the packed content is not a table.", "Unpack the file instead."),
    code(Unsupported, "not_built", "The program was built without that format or codec.", "Build it with the cargo feature in the message."),
    code(Unsupported, "not_implemented", "The decoder or the query engine does not support that yet.", ""),
    code(Unsupported, "not_on_cluster", "A cluster cannot read standard input or tables that exist in this session only.", "Write the data to a store."),
    code(Unsupported, "other_file", "The data is in another file or store, which cannot be read with this one.", ""),
    code(Unsupported, "plugin_refused", "Lance: a column needs an embedded plugin, which was not allowed to run.", "Allow it, or read other columns."),
    code(Unsupported, "timestamp_out_of_range", "Parquet: an INT96 timestamp outside the years 1677 to 2262.", "Write timestamps in microseconds."),
    code(Unsupported, "unknown_codec", "AT-1: an unknown codec number.", ""),
    code(Unsupported, "unknown_compression", "Arrow IPC: an unknown compression.", ""),
    code(Unsupported, "unknown_encoding", "Lance: an unknown encoding.", "Other columns can be read."),
    code(Unsupported, "unknown_feature", "Lance: the dataset needs an unsupported feature.", "Read it with a newer release of Lance."),
    code(Unsupported, "unknown_format", "The file is empty or its format is unknown.", "Give the format if it is a text file."),
    code(Unsupported, "unknown_type", "A column has an unsupported type.", ""),
    code(Unsupported, "unknown_version", "The file has an unsupported version of its format.", ""),

    code(Limit, "limit_exceeded", "Memory, columns, the length of a value or another bounded quantity would exceed its limit.", ""),
    code(Limit, "query_too_large", "The text of a query is too long or too deeply nested.", "Use `IN (...)` or `VALUES`, or several queries."),

    code(Io, "cluster_answer", "A scheduler sent an unexpected response, or the server is not a colkit scheduler.", ""),
    code(Io, "cluster_failed", "A process of a cluster could not start, or the cluster failed.", ""),
    code(Io, "cluster_unreachable", "No scheduler responds at that address.", "Start one, or correct the address."),
    code(Io, "disk_full", "The disk or the quota is full.", "Free some space. Nothing was written under the target's name."),
    code(Io, "executor_lost", "An executor of a cluster was lost with rows of the result.", "Run it again."),
    code(Io, "interrupted", "A query or another call was cancelled, for example by Ctrl-C.", ""),
    code(Io, "io", "The operating system reported an error.", ""),
    code(Io, "no_executors", "The cluster has a scheduler but no executors.", "Start an executor."),
    code(Io, "not_allowed", "Permission was denied, or a store requires other credentials.", ""),
    code(Io, "not_found", "The file or object does not exist.", ""),
    code(Io, "not_possible", "This kind of store does not support that.", ""),
    code(Io, "object_changed", "The object was replaced while it was read.", "Read it again."),
    code(Io, "object_store", "The store or the network failed.", "Try again."),
    code(Io, "short_read", "The file is shorter than when it was opened.", "Read it again when nobody writes to it."),
    code(Io, "target_changed", "Another process wrote to the target meanwhile.", ""),
    code(Io, "timed_out", "The store did not respond in time.", "Try again, or allow more time."),
    code(Io, "too_many_links", "Symbolic links form a cycle.", ""),

    code(Internal, "internal_error", "An internal invariant was violated.", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_unique() {
        let place = |code: &Code| (Class::ALL.iter().position(|class| *class == code.class), code.name);
        for pair in ALL.windows(2) {
            assert!(place(&pair[0]) < place(&pair[1]), "{} before {}", pair[0].name, pair[1].name);
        }
        let mut names: Vec<&str> = ALL.iter().map(|code| code.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len(), "a code with two classes");
    }
}
