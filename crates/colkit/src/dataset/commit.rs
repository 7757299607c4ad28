//! Making a version: the appearance of its manifest, whole and only if nobody else's is there.
//!
//! Whoever was faster is looked at: if what they did is not in the way, the change is made again on top of it.

use super::{Folder, Versions, random};
use bytes::Bytes;
use colkit_core::{Error, Limits, Result, Setting};
use colkit_lance::dataset::{
    self, Base, Change, Nanoseconds, Seen, Start, Transaction, TransactionPlace, VERSIONS, VersionName, Writer,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Versions of others that one change is moved on top of, before it gives up.
const ATTEMPTS: u32 = 40;

/// What becomes of a change when others were faster.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It can follow.
    Follow,
    /// It has to be worked out again.
    Again,
    /// It makes no sense any more.
    Refuse,
}

/// Whether a change that was meant for one version can follow another, between which something was done.
pub(super) type Judge<'a> = dyn Fn(&Base, &Base, Seen) -> Verdict + 'a;

/// How changes are committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Committing {
    pub unsafely: bool,
    pub limits: Limits,
}

/// What came of a commit.
pub(super) enum Committed {
    /// This version.
    Version(u64),
    /// Nothing: the change has to be worked out again.
    Again,
}

impl Committing {
    /// Makes the version that follows `base` by this change, or the first.
    pub fn commit(&self, folder: &Folder, base: Option<&Base>, change: &Change, judge: &Judge) -> Result<Committed> {
        let named = |e: Error| e.file(folder.name());
        let read_version = base.map_or(0, Base::version);
        let mut start = Start { uuid: random::uuid(), read_version };
        let mut transaction = change.transaction(base, &start)?;
        self.put_transaction(folder, base, &transaction)?;
        let mut known = match base {
            Some(_) => Versions::of(folder.clone())?.map(|versions| versions.known).unwrap_or_default(),
            None => Vec::new(),
        };
        let mut later: Option<Base> = None;
        for attempt in 0..ATTEMPTS {
            let on = later.as_ref().or(base);
            let next = change.next(on, &transaction, read_version, Writer { time: now(on) }).map_err(named)?;
            let name = dataset::file_name(next.version, &known);
            if folder.put_new(&format!("{VERSIONS}/{name}"), &next.manifest, self.unsafely)? {
                hint(folder, next.version);
                return Ok(Committed::Version(next.version));
            }
            let Some(versions) = Versions::of(folder.clone())? else { return Err(named(lost())) };
            match self.look(&versions, on, base, transaction.uuid(), judge)? {
                Looked::Ours(version) => return Ok(Committed::Version(version)),
                Looked::Verdict(Verdict::Follow, newest) => later = Some(*newest),
                Looked::Verdict(Verdict::Again, _) => return Ok(Committed::Again),
                Looked::Verdict(Verdict::Refuse, newest) => return Err(named(in_the_way(base, newest.version()))),
            }
            known = versions.known;
            pause(attempt);
            if let (Change::Rewrite(..), Some(on)) = (change, &later) {
                // Numbers of fragments are part of what it says.
                start.uuid = random::uuid();
                transaction = change.transaction(Some(on), &start)?;
                self.put_transaction(folder, base, &transaction)?;
            }
        }
        Err(named(Error::io("target_changed", format!("others were faster {ATTEMPTS} times"))).hint("try again"))
    }

    /// Writes the file of a transaction. On a store, this is where it shows whether files can be kept from being replaced.
    fn put_transaction(&self, folder: &Folder, base: Option<&Base>, transaction: &Transaction) -> Result<()> {
        if !dataset::has_transaction_file(base) {
            return Ok(());
        }
        let name = format!("_transactions/{}", transaction.file_name());
        let put = || folder.put_new(&name, transaction.bytes(), self.unsafely);
        let first = put()?;
        if first && !folder.is_local() && !self.unsafely && put()? {
            return Err(Error::unsupported("no_exclusive_create", "the store replaces objects that must stay")
                .file(folder.name())
                .hint(Setting::UnsafeCommit.does("writes all the same: nobody else must write at the same time")));
        }
        Ok(())
    }

    /// What others did since `on`.
    fn look(
        &self,
        versions: &Versions,
        on: Option<&Base>,
        base: Option<&Base>,
        uuid: &str,
        judge: &Judge,
    ) -> Result<Looked> {
        let mut verdict = Verdict::Follow;
        let mut newest = None;
        let since = on.map_or(0, Base::version);
        for version in versions.known.iter().filter(|version| version.version > since) {
            let found = versions.base(version, &self.limits)?;
            // The answer to our own request was lost, and it was asked again.
            if found.is_made_by(uuid) {
                return Ok(Looked::Ours(version.version));
            }
            let seen = self.seen(versions, &found)?;
            verdict = match (verdict, base.map_or(Verdict::Refuse, |base| judge(base, &found, seen))) {
                (Verdict::Refuse, _) | (_, Verdict::Refuse) => Verdict::Refuse,
                (Verdict::Again, _) | (_, Verdict::Again) => Verdict::Again,
                (Verdict::Follow, Verdict::Follow) => Verdict::Follow,
            };
            newest = Some(found);
        }
        let newest = newest.ok_or_else(lost)?;
        Ok(Looked::Verdict(verdict, Box::new(newest)))
    }

    fn seen(&self, versions: &Versions, version: &Base) -> Result<Seen> {
        Ok(match version.transaction() {
            TransactionPlace::Inline(bytes) => Seen::of(&bytes),
            TransactionPlace::Missing => Seen::Everything,
            TransactionPlace::File(name) => {
                match versions.folder.whole(&format!("_transactions/{name}"), &self.limits) {
                    Ok(bytes) => Seen::of(&bytes),
                    Err(error) if error.code() == "not_found" => Seen::Everything,
                    Err(error) => return Err(error),
                }
            }
        })
    }
}

enum Looked {
    Ours(u64),
    Verdict(Verdict, Box<Base>),
}

fn lost() -> Error {
    Error::io("target_changed", "a version was there, and is no longer")
}

fn in_the_way(base: Option<&Base>, version: u64) -> Error {
    match base {
        None => Error::request("already_exists", "somebody else has made a dataset there")
            .hint(Setting::Append.does("adds to it").and(Setting::OverwriteDataset.does("replaces its rows"))),
        Some(base) => Error::io(
            "target_changed",
            format!(
                "version {version} is another table than version {}, which this change was meant for",
                base.version()
            ),
        )
        .hint("look at the new version, and run the command again if it still makes sense"),
    }
}

/// The time of a new version: not before that of the one before.
fn now(base: Option<&Base>) -> Nanoseconds {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Nanoseconds::try_from(now).unwrap_or(0).max(base.and_then(Base::time).unwrap_or(0))
}

/// Waits a little, longer and longer, and not as long as others do.
fn pause(attempt: u32) {
    let longest = 20u64 << attempt.min(6);
    std::thread::sleep(Duration::from_millis(random::number() % longest));
}

/// Tells others which version is the newest, if they are told at all. Nobody relies on it.
fn hint(folder: &Folder, version: u64) {
    const NAME: &str = "_versions/latest_version_hint.json";
    if folder.is_local() && folder.small_file(NAME).is_ok_and(|hint| hint.is_some()) {
        let _ = folder.replace(NAME, &Bytes::from(format!("{{\"version\":{version}}}")));
    }
}

/// The version of this number among those that are known.
pub(super) fn numbered(versions: &Versions, number: u64) -> Result<&VersionName> {
    let known = versions.known.iter().find(|version| version.version == number);
    known.ok_or_else(|| {
        super::no_such(&number.to_string(), "`versions` lists those that are there").file(versions.folder.name())
    })
}
