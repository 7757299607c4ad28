//! `delete`: deletes rows of a dataset.

use crate::args::DeleteArgs;
use crate::human::{count, plural};
use crate::{Io, Outcome};
use colkit::Result;
use serde_json::json;
use std::io::Write;

pub fn run(args: &DeleteArgs, io: &mut Io) -> Result<Outcome> {
    let open = args.reading.open_options()?;
    let summary = colkit::delete_rows(&args.dataset, &args.condition, &open, args.commit.unsafe_commit)?;
    if args.script.json {
        let document = json!({
            "dataset": args.dataset.display().to_string(),
            "version": summary.version,
            "rows": summary.rows,
            "left": summary.left,
            "fragments_removed": summary.fragments_removed,
        });
        writeln!(io.stdout, "{document}")?;
        return Ok(Outcome::Success);
    }
    let name = args.dataset.display();
    if summary.rows == 0 {
        writeln!(io.stderr, "{name}: no row matches; version {} stays the newest", summary.version)?;
    } else {
        let (rows, left) = (plural(summary.rows, "row"), count(summary.left));
        writeln!(io.stderr, "{name}: version {}: {rows} deleted, {left} left", summary.version)?;
    }
    Ok(Outcome::Success)
}
