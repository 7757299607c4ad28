//! Packs texts in every codec and every way, for another decoder to restore.
//!
//! ```text
//! pack_all OUT FOLDER...    the files *.orig and *.csv of the folders, and texts made here
//!
//! OUT/N.original              a text
//! OUT/N-CODEC-WAY.at1         the same, packed
//! OUT/bundle.at1, OUT/bundle/ a bundle, and what is in it
//! ```
#![allow(clippy::print_stdout, reason = "a program, not a library")]

use bytes::Bytes;
use colkit_at1::{BundleFile, Codec, Effort, PackOptions, PackPriority, pack, pack_bundle};
use colkit_core::drive::parallel;
use colkit_core::{Error, FileSink, Result, available_threads};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all.get(usize::try_from(self.below(all.len() as u64)).unwrap_or(0)).copied().unwrap_or_default()
    }
}

/// `rows` lines, each written by `line`.
fn lines(rows: u64, mut line: impl FnMut(u64, &mut Noise) -> String) -> Vec<u8> {
    let mut noise = Noise(rows);
    (0..rows).fold(String::new(), |text, i| text + &line(i, &mut noise) + "\n").into_bytes()
}

/// A table with a column of every type.
fn table(rows: u64, end: &str) -> Vec<u8> {
    let countries = ["de", "us", "in", "br"];
    let mut text = format!("id,time,price,delay,random,code,country,note,always{end}\n").into_bytes();
    text.extend(lines(rows, |i, noise| {
        let code = noise.below(4);
        let country = countries.get(usize::try_from(code).unwrap_or(0)).copied().unwrap_or_default();
        let delay = if noise.below(20) == 0 { "NA".into() } else { (noise.below(90)).to_string() };
        let note = noise.pick(&["", "\"a,b\"", "\"say \"\"so\"\"\"", "x\"y", "007", "+5", "1e3", "-0"]);
        if noise.below(50) == 0 {
            return format!("short,{i}{end}");
        }
        let (price, cents, random) = (noise.below(900), noise.below(100), noise.below(1 << 40));
        let tail = if noise.below(60) == 0 { ",one,more" } else { "" };
        format!(
            "{i},{},{price}.{cents:02},{delay},{random},{code},{country},{note},x{tail}{end}",
            1_700_000_000 + i * 3 + noise.below(3)
        )
    }));
    text
}

fn made() -> Vec<Vec<u8>> {
    let access = lines(1500, |i, noise| {
        format!(
            "10.0.{}.{} - - [14/Nov/2023:22:{:02}:{:02} +0000] \"{} /{}/{} HTTP/1.1\" {} {} \"-\" \"curl/8.{}\"",
            noise.below(4),
            noise.below(250),
            i / 60 % 60,
            i % 60,
            noise.pick(&["GET", "POST"]),
            noise.pick(&["item", "search", "static"]),
            noise.below(50),
            noise.pick(&["200", "304", "404"]),
            noise.below(9000),
            noise.below(4)
        )
    });
    let sshd = lines(1500, |i, noise| {
        let (user, host) = (noise.pick(&["root", "admin", "git"]), noise.below(250));
        let message = match noise.below(4) {
            0 => format!("Failed password for {user} from 10.0.0.{host} port {} ssh2", noise.below(60_000)),
            1 => format!("Invalid user {user} from 10.0.0.{host}"),
            2 => "pam_unix(sshd:auth): check pass; user <*> unknown".to_string(),
            _ => format!("seen once {i} {}", noise.pick(&["a", "b", "c"])),
        };
        format!("Dec {:2} 06:55:{:02} host sshd[{}]: {message}", 1 + i / 60 % 28, i % 60, 100 + i / 3)
    });
    let json = lines(1500, |i, noise| match noise.below(5) {
        0 => format!("{{\"id\":{i},\"z\":[{},null,-1.5e3]}}", noise.below(3)),
        1 => format!("{{\"id\": {i}, \"spaced\": true}}"),
        2 if noise.below(9) == 0 => "not json".into(),
        _ => {
            let user = noise.below(50);
            format!(
                "{{\"id\":{i},\"name\":\"user{user}\",\"mail\":\"user{user}@example.org\",\"n\":{}.5}}",
                noise.below(9)
            )
        }
    });
    let mut document = String::from("{\n  \"items\": [\n");
    for i in 0..300 {
        let _ = writeln!(document, "    {{\"id\": {i}, \"tag\": \"t{}\", \"on\": {}}},", i % 7, i % 2 == 0);
    }
    document.push_str("    null\n  ]\n}\n");
    let mut variants =
        b"##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\n".to_vec();
    variants.extend(lines(800, |i, noise| {
        let mut genotype = || noise.pick(&["0|0", "0|0", "0|0", "0|1", "1|1"]);
        let all = [genotype(), genotype(), genotype()].join("\t");
        format!("22\t{}\trs{i}\tA\tC\t100\tPASS\tAF=0.{}\tGT\t{all}", 1000 + i * 7, i % 10)
    }));
    let mut map = b"<?xml version=\"1.0\"?>\n<osm version=\"0.6\">\n".to_vec();
    map.extend(lines(500, |i, noise| {
        let (lat, lon, day) = (noise.below(9_000_000), noise.below(9_000_000), 1 + noise.below(28));
        let node = format!("version=\"2\" timestamp=\"2020-01-{day:02}T00:00:00Z\" lat=\"51.{lat}\" lon=\"-0.{lon}\"");
        format!("  <node id=\"{}\" {node}/>", 1000 + i)
    }));
    map.extend_from_slice(b"</osm>\n");
    let mut array = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2000,), }".to_vec();
    array.resize(79, b' ');
    array.push(b'\n');
    array.extend((0..2000u16).flat_map(|i| (f32::from(i) * 0.37).to_le_bytes()));
    let mut noise = Noise(5);
    let random = (0..5000).map(|_| u8::try_from(noise.below(256)).unwrap_or(0)).collect();
    vec![
        table(3000, ""),
        table(500, "\r"),
        access,
        sshd,
        json,
        document.into_bytes(),
        variants,
        map,
        array,
        random,
        Vec::new(),
        b"\n".to_vec(),
        b"\n".repeat(1000),
        b"x".to_vec(),
        b"no line end, 007, 1.50".to_vec(),
        [vec![b','; 20_000], b"\n".to_vec()].concat(),
    ]
}

/// The ways to pack a text, with their names: all of them, or those that differ most.
fn ways(all_of_them: bool) -> Vec<(String, PackOptions)> {
    let base = PackOptions { threads: 1, ..PackOptions::default() };
    let mut all = Vec::new();
    for codec in Codec::ALL.iter().copied().filter(|c| *c != Codec::Bundle) {
        for (effort, stream) in
            [(Effort::Fast, false), (Effort::Fast, true), (Effort::Default, false), (Effort::Default, true)]
        {
            if effort == Effort::Default && stream && !all_of_them {
                continue;
            }
            let name = format!("{}-{effort:?}{}", codec.name(), if stream { "-frames" } else { "" });
            all.push((name, PackOptions { codec: Some(codec), effort, stream, ..base.clone() }));
        }
    }
    for aim in [PackPriority::Queryable, PackPriority::Smallest] {
        for effort in [Effort::Fast, Effort::Default, Effort::Best] {
            all.push((format!("{aim:?}-{effort:?}"), PackOptions { aim, effort, ..base.clone() }));
        }
    }
    all
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [to, folders @ ..] = &arguments[..] else {
        return Err(Error::request("usage", "pack_all OUT FOLDER..."));
    };
    let to = Path::new(to);
    let mut texts: Vec<(Vec<u8>, bool)> = made().into_iter().map(|text| (text, true)).collect();
    for folder in folders {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() && path.extension().is_some_and(|e| e == "orig" || e == "csv") {
                texts.push((std::fs::read(path)?, false));
            }
        }
    }
    texts.sort();
    texts.dedup_by(|a, b| a.0 == b.0);
    let texts: Vec<(Bytes, bool)> = texts.into_iter().map(|(text, own)| (text.into(), own)).collect();
    let save = |path: PathBuf, text: &Bytes, options: &PackOptions| {
        let summary = pack(text, Box::new(FileSink::replace(&path)?), options)?;
        if options.codec.is_some_and(|codec| codec != summary.codec) {
            return Err(
                Error::data("codec_not_used", "the codec could not hold the text").file(path.display().to_string())
            );
        }
        Ok(())
    };
    let work: Vec<(usize, &(Bytes, bool))> = texts.iter().enumerate().collect();
    parallel::map(work, available_threads(), |(i, (text, own))| {
        std::fs::write(to.join(format!("{i}.original")), text)?;
        ways(*own).iter().try_for_each(|(name, options)| save(to.join(format!("{i}-{name}.at1")), text, options))
    })?;

    // Long enough for many frames and groups, and for streams that are packed in parts.
    let long = texts.len();
    let text = Bytes::from(table(30_000, ""));
    std::fs::write(to.join(format!("{long}.original")), &text)?;
    for codec in [None, Some(Codec::Columnar), Some(Codec::Qcolumnar), Some(Codec::Log), Some(Codec::Raw)] {
        for memory in [8 << 20, 512 << 20] {
            let name = format!("{long}-{}-{memory}.at1", codec.map_or("auto", Codec::name));
            save(to.join(name), &text, &PackOptions { codec, memory, ..PackOptions::default() })?;
        }
    }

    let mut files = Vec::new();
    for (i, (text, _)) in texts.iter().take(200).enumerate() {
        let name = format!("{}/deep/{i}.txt", i % 3);
        let path = to.join("bundle").join(&name);
        std::fs::create_dir_all(path.parent().unwrap_or(to))?;
        std::fs::write(path, text)?;
        files.push(BundleFile { name, source: Arc::new(text.clone()), attributes: Default::default() });
    }
    pack_bundle(&files, &[], Box::new(FileSink::replace(to.join("bundle.at1"))?), &PackOptions::default())?;
    println!("{} texts", texts.len() + 1);
    Ok(())
}
