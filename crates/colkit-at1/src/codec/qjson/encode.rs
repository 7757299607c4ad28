//! Qjson (8) and qjson2 (11), written line by line.
//!
//! A line is taken apart into its skeleton, all its bytes but the scalars, and the scalars. Lines of one skeleton are the rows
//! of one shape. Qjson has one shape, qjson2 several; lines of no known shape are kept as they are.

use super::Qjson;
use crate::codec::Codec;
use crate::encode::groups::{CellsOf, Given, Groups, Settings};
use crate::encode::json_text::{Span, Token, Tokens, path_names};
use crate::encode::plan::{Encoder, Layout, LineEncoder, encode_lines};
use crate::encode::put::{Joined, put_lp, put_uv};
use crate::encode::set::Stream;
use crate::encode::whole::EncodedStreams;
use crate::queryable::typing::{self, Typing};
use colkit_core::{Error, Result, Source};
use memchr::memchr;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// [`crate::codec::json`] sees when this is worth trying.
impl Encoder for Qjson {
    fn encode(&self, text: &[u8], _: Layout, settings: &Settings) -> Result<EncodedStreams> {
        encode_lines(Box::new(ObjectEncoder::of_one_template(text, settings)), text)
    }

    fn line_encoder(
        &self,
        sample_lines: &dyn Fn() -> Result<Vec<u8>>,
        _: Layout,
        settings: &Settings,
    ) -> Result<Option<Box<dyn LineEncoder>>> {
        Ok(Some(Box::new(ObjectEncoder::of_one_template(&sample_lines()?, settings))))
    }

    fn without_queries(&self) -> Option<Codec> {
        Some(Codec::Json)
    }
}

/// More templates than this do not pay.
pub const MOST_SHAPES: usize = 32;
/// More lines of no shape than this are not JSON lines any more.
const MOST_VERBATIM: usize = 128 << 20;

/// Takes lines apart.
#[derive(Default)]
pub struct Skeletons {
    tokens: Tokens,
    skeleton: Vec<u8>,
    scalars: Vec<Span>,
}

impl Skeletons {
    /// The skeleton of a line, with 00 for each scalar, and the scalars. `None` if it is not JSON.
    pub fn read(&mut self, line: &[u8]) -> Option<(&[u8], &[Span])> {
        self.skeleton.clear();
        self.scalars.clear();
        let tokens = self.tokens.read(line)?;
        let mut at = 0;
        for token in tokens {
            if let Token::Scalar(span) = token {
                self.skeleton.extend_from_slice(line.get(at..span.start as usize)?);
                self.skeleton.push(0);
                self.scalars.push(*span);
                at = span.end as usize;
            }
        }
        self.skeleton.extend_from_slice(line.get(at..)?);
        // JSON has no NUL outside of strings, where it must be escaped; so every 00 here is a marker.
        Some((&self.skeleton, &self.scalars))
    }
}

/// A skeleton, and how its lines are grouped.
#[derive(Clone, Debug)]
pub struct Template {
    /// The bytes around the scalars, 00 for each of them.
    pub skeleton: Vec<u8>,
    /// The names of its scalars.
    pub names: Vec<Vec<u8>>,
    /// Lines of it that were seen.
    pub uses: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Template {
    /// Whether it is an object of scalars, each under a name of its own.
    fn is_flat(&self) -> bool {
        let opened = self.skeleton.iter().filter(|b| matches!(b, b'{' | b'[')).count();
        let starts = self.skeleton.trim_ascii_start().first() == Some(&b'{');
        let names: HashSet<&Vec<u8>> = self.names.iter().collect();
        let valid = std::str::from_utf8(&self.skeleton).is_ok() && memchr(b'\\', &self.skeleton).is_none();
        opened == 1 && starts && valid && names.len() == self.names.len() && !self.names.is_empty()
    }
}

/// The skeletons of some lines, the most frequent first.
pub fn templates<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<Template> {
    let mut reader = Skeletons::default();
    let mut seen: HashMap<Vec<u8>, Template> = HashMap::new();
    for line in lines {
        let Some((skeleton, _)) = reader.read(line) else { continue };
        if let Some(known) = seen.get_mut(skeleton) {
            known.uses += 1;
            known.bytes += line.len() as u64;
        } else if seen.len() < 4096 {
            let skeleton = skeleton.to_vec();
            let names = reader.tokens.read(line).map(|t| path_names(line, t)).unwrap_or_default();
            seen.insert(skeleton.clone(), Template { skeleton, names, uses: 1, bytes: line.len() as u64 });
        }
    }
    let mut all: Vec<Template> = seen.into_values().collect();
    all.sort_by(|a, b| b.uses.cmp(&a.uses).then_with(|| a.skeleton.cmp(&b.skeleton)));
    all
}

/// Takes the rows of one shape.
struct Shape {
    template: Template,
    groups: Groups,
    group_rows: usize,
}

impl Shape {
    fn new(template: Template, settings: &Settings) -> Self {
        let width = memchr::memchr_iter(0, &template.skeleton).count();
        // So that all groups that are being filled together stay small.
        let row = usize::try_from(template.bytes / template.uses.max(1)).unwrap_or(usize::MAX).max(1);
        let group_rows = settings.group_rows.min((8 << 20) / row).max(64);
        let mut groups = Groups::new(width, Settings { group_rows, ..settings.clone() });
        groups.text = CellsOf::Json;
        Shape { groups, group_rows, template }
    }

    /// Its streams, their names beginning with `prefix`.
    fn finish(self, prefix: &str, lines: Lines, set: &mut EncodedStreams) -> Result<()> {
        let finished = self.groups.finish()?;
        let mut meta = Vec::new();
        put_uv(lines.modes.len() as u64, &mut meta);
        meta.push(u8::from(lines.trailing));
        finished.put_meta(self.group_rows, &mut meta);
        let mut template = Vec::new();
        let segments: Vec<&[u8]> = self.template.skeleton.split(|b| *b == 0).collect();
        put_uv(segments.len() as u64, &mut template);
        segments.iter().for_each(|segment| put_lp(segment, &mut template));
        let mut paths = Vec::new();
        put_uv(self.template.names.len() as u64, &mut paths);
        self.template.names.iter().for_each(|name| put_lp(name, &mut paths));
        let all = prefix.is_empty() && self.template.is_flat() && lines.modes.iter().all(|mode| *mode == 1);
        let typing = finished.cells.as_ref().filter(|_| all).map(|cells| Typing::Objects(cells.clone()).to_bytes());
        let mut add = |name: &str, bytes| set.streams.push(Stream::new(format!("{prefix}{name}"), bytes));
        add("meta", meta);
        add("template", template);
        add("paths", paths);
        add("row_modes", lines.modes);
        add("verbatim", lines.verbatim.into_bytes());
        add("index", finished.index);
        if let Some(typing) = typing {
            add(typing::NAME, typing);
        }
        set.stored.push((format!("{prefix}blocks"), finished.blocks));
        Ok(())
    }
}

#[derive(Default)]
struct Lines {
    modes: Vec<u8>,
    verbatim: Joined,
    trailing: bool,
}

/// Takes lines and makes a queryable file of them.
pub struct ObjectEncoder {
    /// Which shape a skeleton is.
    known: HashMap<Vec<u8>, usize>,
    shapes: Vec<Shape>,
    several: bool,
    reader: Skeletons,
    /// For qjson one mode per line; for qjson2 the line map.
    lines: Lines,
    count: u64,
}

impl ObjectEncoder {
    /// Lines of the template that most of these have.
    fn of_one_template(learn: &[u8], settings: &Settings) -> Self {
        Self::new(templates(learn.split(|b| *b == b'\n')), false, settings)
    }

    /// Lines of any template that several of these have.
    pub fn of_several_templates(learn: &[u8], settings: &Settings) -> Self {
        let templates = templates(learn.split(|b| *b == b'\n'));
        Self::new(templates.into_iter().filter(|t| t.uses >= 2).collect(), true, settings)
    }

    /// Lines of the one template, or of any of several.
    pub fn new(templates: Vec<Template>, several: bool, settings: &Settings) -> Self {
        let most = if several { MOST_SHAPES } else { 1 };
        let mut templates: Vec<Template> = templates.into_iter().take(most).collect();
        if templates.is_empty() && !several {
            templates.push(Template { skeleton: Vec::new(), names: Vec::new(), uses: 0, bytes: 0 });
        }
        let known = templates.iter().enumerate().map(|(i, t)| (t.skeleton.clone(), i)).collect();
        let shapes = templates.into_iter().map(|t| Shape::new(t, settings)).collect();
        ObjectEncoder { known, shapes, several, reader: Skeletons::default(), lines: Lines::default(), count: 0 }
    }

    /// Columns of these types, whatever is in them; for lines of one template.
    pub fn with_types(mut self, types: Vec<Given>) -> Self {
        self.shapes = self
            .shapes
            .into_iter()
            .map(|shape| Shape { groups: shape.groups.with_types(types.clone()), ..shape })
            .collect();
        self
    }

    /// Appends a row of the only template.
    pub fn row<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]>) -> Result<()> {
        self.count += 1;
        self.lines.modes.push(1);
        match self.shapes.first_mut() {
            Some(shape) => shape.groups.push(cells),
            None => Ok(()),
        }
    }
}

impl LineEncoder for ObjectEncoder {
    fn line(&mut self, line: &[u8]) -> Result<()> {
        self.count += 1;
        let read = if memchr(0, line).is_some() { None } else { self.reader.read(line) };
        let found = read.and_then(|(skeleton, scalars)| Some((*self.known.get(skeleton)?, scalars)));
        let Some((at, scalars)) = found else {
            put_uv(0, &mut self.lines.modes);
            self.lines.verbatim.push(line);
            if self.lines.verbatim.bytes().len() > MOST_VERBATIM {
                return Err(Error::data("too_irregular", "too many lines do not have the shapes of the others"));
            }
            return Ok(());
        };
        put_uv(at as u64 + 1, &mut self.lines.modes);
        match self.shapes.get_mut(at) {
            Some(shape) => shape.groups.push(scalars.iter().map(|s| s.of(line))),
            None => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>, trailing: bool) -> Result<EncodedStreams> {
        let mut set = EncodedStreams { streams: Vec::new(), stored: Vec::<(String, Arc<dyn Source>)>::new() };
        if !self.several {
            self.lines.trailing = trailing;
            if let Some(shape) = self.shapes.pop() {
                shape.finish("", self.lines, &mut set)?;
            }
            return Ok(set);
        }
        let mut meta = Vec::new();
        put_uv(self.count, &mut meta);
        meta.push(u8::from(trailing));
        put_uv(self.shapes.len() as u64, &mut meta);
        set.streams.push(Stream::new("meta", meta));
        set.streams.push(Stream::new("line_map", self.lines.modes));
        set.streams.push(Stream::new("verbatim", self.lines.verbatim.into_bytes()));
        for (i, shape) in self.shapes.into_iter().enumerate() {
            let rows = usize::try_from(shape.groups.rows()).unwrap_or(usize::MAX);
            let lines = Lines { modes: vec![1; rows], ..Lines::default() };
            shape.finish(&format!("t{i}:"), lines, &mut set)?;
        }
        Ok(set)
    }
}
