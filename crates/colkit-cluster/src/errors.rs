//! Errors of other processes, which arrive as text.

use colkit::{Error, codes};
use datafusion::error::DataFusionError;

/// What went wrong with a query on the cluster of the scheduler at this host and port. An error of ours that another process had comes back as it was there.
pub(crate) fn plain(error: &DataFusionError, scheduler: &str) -> Error {
    let here = colkit_sql::plain(error);
    let text = here.message().trim();
    let is_theirs = text.starts_with("Status {") || text.contains("Job ") || text.contains("plan: ");
    if !(here.code() == "query_failed" || here.code() == "bad_sql" && is_theirs) {
        return here;
    }
    let status = text
        .strip_prefix("Status {")
        .and_then(|rest| rest.split_once("message: \""))
        .and_then(|(_, rest)| literal(rest));
    let text = status.unwrap_or_else(|| text.to_owned());
    if let Some(theirs) = written_down(&text).or_else(|| printed(&text)) {
        return theirs;
    }
    let lost = ["transport error", "tcp connect error", "error reading a body", "connection closed", "Broken pipe"];
    if lost.iter().any(|sign| text.contains(sign)) && !text.contains("Job ") {
        return match address(&text).filter(|address| address != scheduler) {
            Some(executor) => {
                Error::io("executor_lost", format!("the executor at {executor} went away with rows of the answer"))
                    .hint("run it again")
            }
            None => {
                Error::io("cluster_unreachable", format!("the scheduler at {scheduler} went away while the query ran"))
            }
        };
    }
    Error::data("query_failed", reason(text.trim()))
}

/// The host and port that could not be reached.
fn address(text: &str) -> Option<String> {
    let rest = text.split_once("://")?.1;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-.:[]".contains(c))).unwrap_or(rest.len());
    Some(rest.get(..end)?.trim_end_matches(':').to_owned())
}

/// The text that a literal stands for, from behind its first quote to before its last.
fn literal(text: &str) -> Option<String> {
    let mut read = String::new();
    let mut letters = text.chars();
    loop {
        match letters.next()? {
            '"' => return Some(read),
            '\\' => read.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'u' => {
                    let hex: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                    u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32)?
                }
                other => other,
            }),
            other => read.push(other),
        }
    }
}

/// The last error of colkit in a text, as `Debug` writes it. A file name cannot imitate the mark: JSON escapes its quotes.
fn written_down(text: &str) -> Option<Error> {
    const MARK: &str = "Error {\"class\":";
    let json = text.get(text.rfind(MARK)? + "Error ".len()..)?;
    // Whatever follows the error belongs to the text around it.
    serde_json::Deserializer::from_str(json).into_iter().next()?.ok()
}

/// `External error: FILE: message [code]`.
fn printed(text: &str) -> Option<Error> {
    let rest = text.get(text.rfind("External error: ")? + "External error: ".len()..)?;
    let (message, rest) = rest.split_once(" [")?;
    let code = codes::find(rest.split_once(']')?.0)?;
    Some(Error::new(code.class, code.name, message))
}

/// The innermost of several reasons.
fn reason(text: &str) -> String {
    let mut text = text;
    for wrapper in ["runtime execution error: ", "Could not parse plan: ", "DataFusion error: ", "Execution error: "] {
        text = text.rsplit_once(wrapper).map_or(text, |(_, inner)| inner);
    }
    let wrappers = ["DataFusionError(", "Shared(", "External(", "ArrowError(", "Execution(", "Internal(", "General("];
    let mut inner = text;
    while let Some(rest) = wrappers.iter().find_map(|wrapper| inner.strip_prefix(wrapper)) {
        inner = rest;
    }
    if inner.len() == text.len() {
        return text.to_owned();
    }
    match inner.trim_end_matches([')', ' ']) {
        "DivideByZero" => "divide by zero".to_owned(),
        other => other.trim_matches('"').trim_end_matches(", None").trim_matches('"').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use colkit::Class;

    fn of(text: &str) -> Error {
        plain(&DataFusionError::Execution(text.to_owned()), "10.0.0.1:50050")
    }

    #[test]
    fn errors_of_ours_come_back() {
        let original = Error::corrupt("checksum_mismatch", "the bytes differ")
            .file("s3://b/e\u{301}.lance")
            .at(7)
            .part("page \"0\"");
        let original = original.hint(colkit::core::Setting::Memory.does("allows more"));
        let debug = format!(
            "Job 1 failed: Task failed due to runtime execution error: DataFusionError(Shared(External({original:?})))"
        );
        let back = of(&debug);
        assert_eq!((back.class(), back.code()), (Class::Corrupt, "checksum_mismatch"));
        assert_eq!(
            (back.file_name(), back.offset(), back.part_name()),
            (Some("s3://b/e\u{301}.lance"), Some(7), Some("page \"0\""))
        );
        assert_eq!(back.message(), "the bytes differ");
        let escaped = format!("Status {{ message: {debug:?}, metadata: x }}");
        assert_eq!(of(&escaped).to_string(), original.to_string(), "with its hint");
    }

    #[test]
    fn others_say_what_happened() {
        let text = "Job 1 failed: Job failed due to stage 0 failed: Task failed due to runtime execution error: \
            DataFusionError(Shared(External(ArrowError(DivideByZero))))";
        assert_eq!(of(text).message(), "divide by zero");
        let refused = "Status { code: InvalidArgument, message: \"Could not parse plan: DataFusion error: External error: \
            /etc/passwd: not given the folder [outside_folders]\", metadata: MetadataMap {} }";
        assert_eq!(of(refused).code(), "outside_folders");
        assert_eq!(
            of("Status { code: Unknown, message: \"transport error\", metadata: x }").code(),
            "cluster_unreachable"
        );
        let executor = "Error connecting to Ballista scheduler or executor at http://10.0.0.2:50051: tcp connect error";
        assert_eq!(of(executor).code(), "executor_lost");
        assert!(of(executor).message().contains("10.0.0.2:50051"));
    }
}
