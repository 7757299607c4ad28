//! Errors as data: complete, so that another process or another language reports them as this one would.
//!
//! ```text
//! {"class":"corrupt","code":"checksum_mismatch","message":"...","file":"x.lance","offset":7,"part":"page 0",
//!  "hint":[{"text":"..."},{"set":["memory","allows more"]}],"causes":["...","..."]}
//! ```

use crate::error::Inner;
use crate::{Class, Error, Hint, codes};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

#[derive(Serialize, Deserialize)]
struct Wire<'a> {
    class: Class,
    code: Cow<'a, str>,
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'a, Hint>>,
    /// The errors below it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    causes: Vec<String>,
}

impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let borrowed = |text: &'_ Option<String>| text.clone().map(Cow::<'_, str>::Owned);
        let Inner { class, code, message, file, offset, part, hint, source: _ } = self.inner();
        let below = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        Wire {
            class: *class,
            code: (*code).into(),
            message: message.into(),
            file: borrowed(file),
            offset: *offset,
            part: borrowed(part),
            hint: hint.as_ref().map(Cow::Borrowed),
            causes: below.map(ToString::to_string).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Error {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let code = codes::find(&wire.code)
            .ok_or_else(|| de::Error::custom(format!("there is no error code {:?} in this version", wire.code)))?;
        let error = Error::new(wire.class, code.name, wire.message);
        let error = wire.file.into_iter().fold(error, Error::file);
        let error = wire.offset.into_iter().fold(error, Error::at);
        let error = wire.part.into_iter().fold(error, Error::part);
        let error = wire.hint.into_iter().map(Cow::into_owned).fold(error, Error::hint);
        Ok(match Cause::chain(wire.causes) {
            Some(cause) => error.caused_by(cause),
            None => error,
        })
    }
}

/// An error below one that came from elsewhere: its message is all that is known.
#[derive(Debug)]
struct Cause {
    message: String,
    below: Option<Box<Cause>>,
}

impl Cause {
    fn chain(causes: Vec<String>) -> Option<Cause> {
        causes.into_iter().rev().fold(None, |below, message| Some(Cause { message, below: below.map(Box::new) }))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.below.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setting;

    #[test]
    fn an_error_comes_back_complete() {
        let hint = Hint::from("look again").and(Setting::Memory.does("allows more"));
        let disk = std::io::Error::other(std::io::Error::other("bad block"));
        let error = Error::corrupt("bad_magic", "é\u{301} \"x\" \\ \n")
            .file("a\u{0}b")
            .at(u64::MAX)
            .part("header: field 3")
            .hint(hint)
            .caused_by(disk);
        let text = serde_json::to_string(&error).unwrap();
        let back: Error = serde_json::from_str(&text).unwrap();
        assert_eq!(back.to_string(), error.to_string());
        assert_eq!((back.class(), back.code(), back.offset()), (error.class(), error.code(), error.offset()));
        assert_eq!(back.advice(), error.advice());
        assert_eq!(std::error::Error::source(&back).unwrap().to_string(), "bad block");
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
        let bare = Error::io("io_error", "gone");
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"class":"io","code":"io_error","message":"gone"}"#);
        assert!(serde_json::from_str::<Error>(r#"{"class":"io","code":"of_the_future","message":""}"#).is_err());
    }

    #[test]
    fn every_class_and_setting_has_a_name() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
        for setting in Setting::ALL {
            let name = serde_json::to_value(setting).unwrap();
            assert_eq!(serde_json::from_value::<Setting>(name).unwrap(), setting);
        }
    }
}
