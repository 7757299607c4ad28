//! A small encoder for tests: plain, obvious, in no way clever.

use std::io::Write;

pub fn uv(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push((n & 0x7F) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub fn sv(n: i64, out: &mut Vec<u8>) {
    uv(((n << 1) ^ (n >> 63)).cast_unsigned(), out);
}

pub fn lp(bytes: &[u8], out: &mut Vec<u8>) {
    uv(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[derive(Clone, Copy, Debug)]
pub enum Packing {
    Stored,
    Zstd,
    Xz,
    Published,
}

fn xz(data: &[u8], level: u32) -> Vec<u8> {
    let mut writer = liblzma::write::XzEncoder::new(Vec::new(), level);
    writer.write_all(data).unwrap();
    writer.finish().unwrap()
}

fn zstd(data: &[u8], level: u32) -> Vec<u8> {
    zstd::bulk::compress(data, level as i32).unwrap()
}

pub fn stream_set(streams: &[(&str, Vec<u8>)], packing: impl Fn(&str) -> Packing) -> Vec<u8> {
    stream_set_at(streams, packing, 1)
}

pub fn stream_set_at(streams: &[(&str, Vec<u8>)], packing: impl Fn(&str) -> Packing, level: u32) -> Vec<u8> {
    let mut out = Vec::new();
    uv(streams.len() as u64, &mut out);
    for (name, data) in streams {
        lp(name.as_bytes(), &mut out);
        match packing(name) {
            Packing::Stored => {
                out.push(2);
                lp(data, &mut out);
            }
            Packing::Zstd => {
                out.push(1);
                lp(&zstd(data, level), &mut out);
            }
            Packing::Xz => {
                out.push(0);
                lp(&xz(data, level), &mut out);
            }
            Packing::Published => lp(&xz(data, level), &mut out),
        }
    }
    out
}

/// A whole-file container with a trailer.
pub fn whole(codec: u8, body: &[u8], original: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    let mut out = vec![b'A', b'T', b'1', 2, codec];
    out.extend_from_slice(body);
    out.extend_from_slice(&sha2::Sha256::digest(original));
    out.extend_from_slice(&[0xA1, 0x53, 0x36, 0x01]);
    out
}

/// A streaming container with a trailer.
pub fn streaming(codec: u8, frames: &[Vec<u8>], original: &[u8]) -> Vec<u8> {
    let mut out = whole(codec, &[], original);
    let trailer = out.split_off(5);
    out[3] = 3;
    uv(1000, &mut out);
    for frame in frames {
        uv(frame.len() as u64 + 1, &mut out);
        out.push(0);
        out.extend_from_slice(frame);
    }
    [out, trailer].concat()
}

/// One column of a test table.
#[derive(Clone, Debug)]
pub enum Cells {
    Text(Vec<String>),
    Int(Vec<i64>),
    Dec(Vec<i64>, u8),
    Dict(Vec<usize>, Vec<String>),
    Shuf(Vec<u8>),
}

impl Cells {
    pub fn text(&self, row: usize) -> String {
        match self {
            Cells::Text(cells) => cells[row].clone(),
            Cells::Int(values) => values[row].to_string(),
            Cells::Dec(values, scale) => {
                let digits = format!("{:0>width$}", values[row].unsigned_abs(), width = usize::from(*scale) + 1);
                let (whole, fraction) = digits.split_at(digits.len() - usize::from(*scale));
                format!("{}{whole}.{fraction}", if values[row] < 0 { "-" } else { "" })
            }
            Cells::Dict(indices, entries) => entries[indices[row]].clone(),
            Cells::Shuf(values) => (i64::from(values[row]) - 100).to_string(),
        }
    }

    fn chunk(&self) -> (u8, Vec<u8>) {
        let mut out = Vec::new();
        let deltas = |values: &[i64], out: &mut Vec<u8>| {
            let mut last = 0i64;
            for value in values {
                sv(value.wrapping_sub(last), out);
                last = *value;
            }
        };
        let kind = match self {
            Cells::Text(cells) => {
                out = cells.join("\n").into_bytes();
                0
            }
            Cells::Int(values) => {
                deltas(values, &mut out);
                1
            }
            Cells::Dec(values, scale) => {
                out.push(*scale);
                deltas(values, &mut out);
                2
            }
            Cells::Dict(indices, entries) => {
                uv(indices.len() as u64, &mut out);
                uv(entries.len() as u64, &mut out);
                entries.iter().for_each(|e| lp(e.as_bytes(), &mut out));
                indices.iter().for_each(|i| uv(*i as u64, &mut out));
                5
            }
            Cells::Shuf(values) => {
                uv(values.len() as u64, &mut out);
                sv(-100, &mut out);
                out.push(1);
                out.extend_from_slice(values);
                6
            }
        };
        (kind, out)
    }
}

/// The text of a table with a header.
pub fn csv(columns: &[Cells], rows: usize) -> Vec<u8> {
    let mut lines = vec![(0..columns.len()).map(|c| format!("c{c}")).collect::<Vec<_>>().join(",")];
    lines.extend((0..rows).map(|r| columns.iter().map(|c| c.text(r)).collect::<Vec<_>>().join(",")));
    (lines.join("\n") + "\n").into_bytes()
}

/// The streams of the columnar codec for rows without quotes.
pub fn columnar(columns: &[Cells], rows: usize, header: bool) -> Vec<(&'static str, Vec<u8>)> {
    let mut meta = Vec::new();
    uv(rows as u64, &mut meta);
    meta.extend([1, u8::from(header)]);
    lp(b",", &mut meta);
    uv(columns.len() as u64, &mut meta);
    let mut field_counts = Vec::new();
    (0..rows).for_each(|_| uv(columns.len() as u64, &mut field_counts));
    let chunks: Vec<(u8, Vec<u8>)> = columns.iter().map(Cells::chunk).collect();
    let mut index = Vec::new();
    chunks.iter().for_each(|(_, chunk)| uv(chunk.len() as u64, &mut index));
    let names = (0..columns.len()).map(|c| format!("c{c}")).collect::<Vec<_>>().join(",");
    vec![
        ("meta", meta),
        ("row_modes", vec![1; rows]),
        ("fieldcounts", field_counts),
        ("coltypes", chunks.iter().map(|c| c.0).collect()),
        ("col_index", index),
        ("values", chunks.iter().flat_map(|c| c.1.clone()).collect()),
        ("quotemodes", vec![0; columns.len()]),
        ("quotebits", Vec::new()),
        ("verbatim", Vec::new()),
        ("header", if header { names.into_bytes() } else { Vec::new() }),
    ]
}

/// The streams of the qcolumnar codec; the header is a verbatim line.
pub fn qcolumnar(columns: &[Cells], rows: usize, group: usize) -> Vec<(&'static str, Vec<u8>)> {
    qcolumnar_with(columns, rows, group, |g, c| ((g + c + 1) % 2) as u8, 1)
}

/// The same with the block tag (0 xz, 1 zstd) for each group and column.
pub fn qcolumnar_with(
    columns: &[Cells],
    rows: usize,
    group: usize,
    tag: impl Fn(usize, usize) -> u8,
    level: u32,
) -> Vec<(&'static str, Vec<u8>)> {
    let groups = rows.div_ceil(group);
    let mut meta = Vec::new();
    uv(rows as u64 + 1, &mut meta);
    meta.push(1);
    lp(b",", &mut meta);
    for n in [columns.len(), group, rows, groups] {
        uv(n as u64, &mut meta);
    }
    let kind = |c: &Cells| match c {
        Cells::Int(_) | Cells::Shuf(_) => 1,
        Cells::Dec(..) => 2,
        _ => 0,
    };
    meta.extend(columns.iter().map(kind));
    let (mut index, mut blocks) = (Vec::new(), Vec::new());
    for g in 0..groups {
        for (c, column) in columns.iter().enumerate() {
            let cells: Vec<String> = (g * group..rows.min((g + 1) * group)).map(|r| column.text(r)).collect();
            let text = cells.join("\n").into_bytes();
            let block = if tag(g, c) == 1 { zstd(&text, level) } else { xz(&text, level) };
            uv(block.len() as u64 + 1, &mut index);
            blocks.push(tag(g, c));
            blocks.extend(block);
            match kind(column) {
                1 => {
                    let values = cells.iter().map(|c| c.parse::<i64>().unwrap());
                    sv(values.clone().min().unwrap(), &mut index);
                    sv(values.max().unwrap(), &mut index);
                }
                2 => {
                    let values = cells.iter().map(|c| c.parse::<f64>().unwrap());
                    index.extend(values.clone().fold(f64::INFINITY, f64::min).to_le_bytes());
                    index.extend(values.fold(f64::NEG_INFINITY, f64::max).to_le_bytes());
                }
                _ => {}
            }
        }
    }
    let names = (0..columns.len()).map(|c| format!("c{c}")).collect::<Vec<_>>().join(",");
    let mut modes = vec![1; rows + 1];
    modes[0] = 0;
    vec![("meta", meta), ("row_modes", modes), ("verbatim", names.into_bytes()), ("index", index), ("blocks", blocks)]
}
