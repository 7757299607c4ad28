//! Resolves URLs to object stores.

use crate::counted::{Counted, StoreCount};
use crate::failed;
use crate::local::LocalFiles;
use crate::per_process::PerProcess;
use crate::timeout::{TimeLimit, TimedStore};
use bytes::Bytes;
use colkit_core::{Error, Result, Setting};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, PutMode, PutOptions, parse_url_opts};
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use url::Url;

/// The stores of a program: one per bucket or host, made when first asked for.
///
/// Credentials, regions and endpoints come from the usual variables of the environment (`AWS_ACCESS_KEY_ID`,
/// `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_NAME`, ...). An endpoint that is named with
/// `http://` is taken at its word.
///
/// A store has a minute to answer, or as long as [`Stores::set_timeout`] says, and a second more for each 64 KiB that it
/// sends; to list its objects it has the same time. Then it is an error.
#[derive(Clone, Default)]
pub struct Stores {
    known: Arc<Mutex<HashMap<String, Arc<Counted>>>>,
    patience: TimeLimit,
}

/// An object: its store and its place there.
#[derive(Clone)]
pub struct Location {
    /// The URL, for messages.
    pub url: Url,
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// The place in it.
    pub path: Path,
}

impl Location {
    /// What the store says about the object.
    pub async fn head(&self) -> Result<ObjectMeta> {
        let head = object_store::ObjectStoreExt::head(self.store.as_ref(), &self.path).await;
        head.map_err(|e| failed(self.url.as_str(), e))
    }

    /// The place of this name below it.
    pub fn inside(&self, name: &str) -> Result<Location> {
        let joined = format!("{}/{name}", self.path.as_ref().trim_end_matches('/'));
        let path = Path::parse(joined).map_err(|e| failed(self.url.as_str(), e.into()))?;
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{name}", self.url.path().trim_end_matches('/')));
        Ok(Location { url, store: self.store.clone(), path })
    }

    /// The objects below it, also in folders, at most so many; they are not in order.
    pub fn objects(&self, most: usize) -> Result<Vec<Location>> {
        let listed = self.store.list(Some(&self.path)).take(most).try_collect::<Vec<ObjectMeta>>();
        let listed = crate::wait(listed)?.map_err(|e| failed(self.url.as_str(), e))?;
        let before = self.url.path().trim_end_matches('/').strip_suffix(self.path.as_ref()).unwrap_or("/").to_owned();
        let location = |object: ObjectMeta| {
            let mut url = self.url.clone();
            url.set_path(&format!("{before}{}", object.location));
            Location { url, store: self.store.clone(), path: object.location }
        };
        Ok(listed.into_iter().filter(|o| o.size > 0).map(location).collect())
    }

    /// The folder that `depth` parts of its path lead to.
    pub fn above(&self, depth: usize) -> Location {
        let path: Path = self.path.parts().take(depth).collect();
        let mut url = self.url.clone();
        let below = url.path().trim_end_matches('/').strip_suffix(self.path.as_ref()).unwrap_or("/").to_owned();
        url.set_path(&format!("{below}{path}"));
        Location { url, store: self.store.clone(), path }
    }

    /// The names of the objects right below it; none if there are no such objects.
    pub fn names(&self) -> Result<Vec<String>> {
        let listed = crate::wait(self.store.list_with_delimiter(Some(&self.path)))?;
        let listed = listed.map_err(|e| failed(self.url.as_str(), e))?;
        Ok(listed.objects.iter().filter_map(|object| object.location.filename().map(ToOwned::to_owned)).collect())
    }
}

/// Whole objects, as datasets need them.
impl Location {
    /// Puts an object where none is; `false` if one is there. A store that cannot do that is an error.
    pub fn put_new(&self, bytes: Bytes) -> Result<bool> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match crate::wait(self.store.put_opts(&self.path, bytes.into(), options))? {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => Ok(false),
            Err(e @ (object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })) => {
                let what = "the store cannot keep an object from being replaced";
                Err(Error::unsupported("no_exclusive_create", what)
                    .file(self.url.as_str())
                    .hint(Setting::UnsafeCommit.does("writes all the same: nobody else must write at the same time"))
                    .caused_by(e))
            }
            Err(e) => Err(failed(self.url.as_str(), e)),
        }
    }

    /// Removes the object. One that is not there is no error.
    pub fn remove(&self) -> Result<()> {
        match crate::wait(object_store::ObjectStoreExt::delete(self.store.as_ref(), &self.path))? {
            Err(object_store::Error::NotFound { .. }) | Ok(()) => Ok(()),
            Err(e) => Err(failed(self.url.as_str(), e)),
        }
    }

    /// All objects below it, with their names there.
    pub fn below(&self) -> Result<Vec<(String, ObjectMeta)>> {
        let listed = crate::wait(self.store.list(Some(&self.path)).try_collect::<Vec<_>>())?;
        let listed = listed.map_err(|e| failed(self.url.as_str(), e))?;
        let named = |meta: ObjectMeta| {
            let parts: Vec<String> = meta.location.prefix_match(&self.path)?.map(|p| p.as_ref().to_owned()).collect();
            Some((parts.join("/"), meta))
        };
        Ok(listed.into_iter().filter_map(named).collect())
    }
}

/// Whether this is a URL of an object store rather than a path. `c:\x` and `a:b` are paths.
pub fn is_url(text: &str) -> bool {
    const SCHEMES: [&str; 12] =
        ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "file", "memory"];
    text.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()))
}

impl Stores {
    /// The stores that all of this program shares.
    pub fn shared() -> &'static Stores {
        static SHARED: PerProcess<Stores> = PerProcess::new();
        SHARED.get(Stores::default)
    }

    /// Stores of their own, made and counted anew, that have the same time to answer.
    pub fn separate(&self) -> Stores {
        Stores { known: Arc::default(), patience: self.patience.clone() }
    }

    /// Gives stores this many seconds to answer.
    pub fn set_timeout(&self, seconds: u64) {
        self.patience.set(seconds);
    }

    /// Seconds that stores have to answer.
    pub fn timeout(&self) -> u64 {
        self.patience.seconds()
    }

    /// Where the object of this URL is.
    pub fn locate(&self, url: &str) -> Result<Location> {
        let parsed = Url::parse(url).map_err(|e| {
            Error::request("bad_url", format!("{url} is not a URL: {e}"))
                .hint("objects are named like s3://bucket/folder/file.lance")
        })?;
        let (_, path) = object_store::ObjectStoreScheme::parse(&parsed).map_err(|e| failed(url, e.into()))?;
        let store = self.store(&parsed)?;
        Ok(Location { url: parsed, store, path })
    }

    /// The store of this URL.
    pub fn store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let key = key(url);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = known.get(&key) {
            return Ok(store.clone());
        }
        let store: Arc<dyn ObjectStore> = match url.scheme() {
            // No time limit: local files answer when the disk does.
            "file" => Arc::new(LocalFiles::new()),
            _ => {
                let mut settings = settings(url, std::env::vars_os());
                // One try may take all the time there is; bytes sent after that are requested again.
                settings.push(("timeout".into(), format!("{}s", self.patience.seconds().max(1))));
                let (store, _) = parse_url_opts(url, settings).map_err(|e| failed(url.as_str(), e))?;
                Arc::new(TimedStore::new(store.into(), self.patience.clone()))
            }
        };
        let store = Arc::new(Counted::new(store));
        known.insert(key, store.clone());
        Ok(store)
    }

    /// Uses `store` for every URL of the same scheme and host. Returns the one used so far.
    pub fn register(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        let before =
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key(url), Arc::new(Counted::new(store)));
        before.map(|b| b as Arc<dyn ObjectStore>)
    }

    /// What was asked of each store so far, by the beginning of its URLs.
    pub fn counts(&self) -> Vec<(String, StoreCount)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts: Vec<_> = known.iter().map(|(key, store)| (key.clone(), store.count())).collect();
        counts.sort_by(|a, b| a.0.cmp(&b.0));
        counts
    }
}

/// What URLs of one store have in common.
fn key(url: &Url) -> String {
    format!("{}://{}", url.scheme(), &url[url::Position::BeforeHost..url::Position::AfterPort])
}

/// The settings of a store: what the environment says, and that plain HTTP is meant where it is asked for. Variables that are
/// not UTF-8 are nobody's settings.
fn settings(url: &Url, environment: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    let text = |(key, value): (OsString, OsString)| Some((key.into_string().ok()?, value.into_string().ok()?));
    let mut settings: Vec<(String, String)> = environment.filter_map(text).collect();
    let plain = |(key, value): &(String, String)| key.starts_with("AWS_ENDPOINT") && value.starts_with("http://");
    if url.scheme() == "http" || settings.iter().any(plain) {
        settings.push(("allow_http".into(), "true".into()));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths() {
        for url in ["s3://b/x", "gs://b/x", "az://c/x", "http://h/x", "HTTPS://h/x", "file:///x"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["x.lance", "c:\\x", "a:b", "s3:/x", "odd://x", "/s3://x"] {
            assert!(!is_url(path), "{path}");
        }
    }

    #[test]
    fn one_store_for_each_host() {
        let stores = Stores::default();
        let a = stores.locate("http://127.0.0.1:1/x/y.csv").unwrap();
        let b = stores.locate("http://127.0.0.1:1/z.csv").unwrap();
        let c = stores.locate("http://127.0.0.1:2/z.csv").unwrap();
        assert!(Arc::ptr_eq(&a.store, &b.store) && !Arc::ptr_eq(&a.store, &c.store));
        assert_eq!(a.path.as_ref(), "x/y.csv");
        assert_eq!(stores.locate("s3//x").err().unwrap().code(), "bad_url");
    }

    #[test]
    fn plain_http_only_where_it_is_asked_for() {
        let allowed = |url: &str, key: &str, value: &str| {
            let environment = [(key.into(), value.into())];
            let settings = settings(&Url::parse(url).unwrap(), environment.into_iter());
            settings.iter().any(|(k, v)| k == "allow_http" && v == "true")
        };
        assert!(allowed("http://h/x", "HOME", "/"));
        assert!(allowed("s3://b/x", "AWS_ENDPOINT_URL", "http://127.0.0.1:9000"));
        assert!(!allowed("s3://b/x", "AWS_ENDPOINT_URL", "https://minio.example"));
    }
}
