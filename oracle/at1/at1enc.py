"""A small AT-1 encoder for tests: makes the input of the comparison with the reference decoder.

Small and direct: it aims at covering every structure of the format, not at
the best ratio. Needs the standard library and the `zstandard` module.
"""
import hashlib
import json
import lzma
import re
import struct

import zstandard

XZ, ZSTD, STORED = 0, 1, 2
WHOLE, STREAMING = b"AT1\x02", b"AT1\x03"
(SSH, JSON, OSM, LOG, COLUMNAR, VCF, JSONDOC, QCOLUMNAR, QJSON, DICOM, EMBED,
 QJSON2, BUNDLE) = range(13)
RAW = 255
TRAILER_MAGIC = b"\xa1S6\x01"


# ------------------------------------------------------------------ primitives
def uv(n):
    assert 0 <= n < 1 << 64
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def wrap64(n):
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


def sv(n):
    assert -(1 << 63) <= n < 1 << 63
    return uv((n << 1) ^ (n >> 63) if n >= 0 else ((-n - 1) << 1) | 1)


def lp(b):
    return uv(len(b)) + b


def xz(b):
    return lzma.compress(b)


def zs(b):
    # one frame, content size in the frame header (the reference needs it)
    return zstandard.ZstdCompressor(level=19, write_content_size=True).compress(b)


def best_backend(data, allowed=(XZ, ZSTD, STORED)):
    cand = []
    if XZ in allowed:
        cand.append((len(c := xz(data)), XZ, c))
    if ZSTD in allowed:
        cand.append((len(c := zs(data)), ZSTD, c))
    if STORED in allowed:
        cand.append((len(data), STORED, data))
    n, which, comp = min(cand, key=lambda t: (t[0], t[1]))
    return which, comp


def compress(data, which):
    if which == "best":
        return best_backend(data)
    return which, {XZ: xz, ZSTD: zs, STORED: bytes}[which](data)


# ------------------------------------------------------------------- container
def pack(streams, framing="ref", backend=XZ, per=None):
    """streams: list of (name, bytes). framing 'ref' writes the backend byte,
    'pub' leaves it out (xz only), 'mixed' leaves it out for xz entries only."""
    per = per or {}
    out = bytearray(uv(len(streams)))
    for name, data in streams:
        nm = name.encode()
        which, comp = compress(data, per.get(name, backend))
        out += lp(nm)
        if framing == "ref" or (framing == "mixed" and which != XZ):
            out.append(which)
        else:
            assert which == XZ
        out += lp(comp)
    return bytes(out)


def whole(codec, body):
    return WHOLE + bytes([codec]) + body


def raw(data, framing="ref", backend=XZ):
    which, comp = compress(data, backend)
    if framing == "pub":
        assert which == XZ
        return whole(RAW, comp)
    return whole(RAW, bytes([which]) + comp)


def streaming(codec, chunk_lines, frames):
    """frames: list of (method, payload after the method byte)."""
    out = bytearray(STREAMING + bytes([codec]) + uv(chunk_lines))
    for method, payload in frames:
        out += uv(len(payload) + 1) + bytes([method]) + payload
    return bytes(out)


def raw_frame(data, framing="ref", backend=XZ):
    which, comp = compress(data, backend)
    return 1, (comp if framing == "pub" else bytes([which]) + comp)


def trailer(original):
    return hashlib.sha256(original).digest() + TRAILER_MAGIC


def split_lines(data):
    """-> (lines, trailing). Empty input is one empty line without newline."""
    lines = data.split(b"\n")
    if len(lines) > 1 and lines[-1] == b"":
        return lines[:-1], 1
    return lines, 0


def nl(cells):
    return b"\n".join(cells)


# -------------------------------------------------------------------- columnar
TEXT, INT, DEC, NUMEXC, DERIVED, DICT, SHUF = range(7)
INT_RE = re.compile(rb"(?:0|-?[1-9][0-9]*)\Z")
DEC_RE = re.compile(rb"(-?)(0|[1-9][0-9]*)\.([0-9]+)\Z")
I64 = range(-(1 << 63), 1 << 63)


def as_int(cell):
    """Integer value if the text is the canonical i64 spelling, else None."""
    if INT_RE.match(cell) and len(cell) <= 20 and int(cell) in I64:
        return int(cell)
    return None


def as_dec(cell):
    """(scaled value, D) if the text survives fmt_fixed exactly, else None."""
    m = DEC_RE.match(cell)
    if not m or len(m[3]) > 18 or len(cell) > 24:
        return None
    v = int(m[2] + m[3])
    if m[1]:
        if v == 0:
            return None          # "-0.00" would come back without its sign
        v = -v
    return (v, len(m[3])) if v in I64 else None


def split_row(line, delim):
    """Quote-aware split: list of (content, quoted). Always rejoins exactly."""
    out, i = [], 0
    while True:
        if line[i:i + 1] == b'"':
            j, content = i + 1, b""
            while True:
                k = line.find(b'"', j)
                if k < 0:
                    break
                if line[k + 1:k + 2] == b'"':
                    content += line[j:k + 1]
                    j = k + 2
                    continue
                content += line[j:k]
                break
            if k >= 0 and (k + 1 == len(line) or line.startswith(delim, k + 1)):
                out.append((content, 1))
                if k + 1 == len(line):
                    return out
                i = k + 1 + len(delim)
                continue
        k = line.find(delim, i)
        if k < 0:
            out.append((line[i:], 0))
            return out
        out.append((line[i:k], 0))
        i = k + len(delim)


def deltas(values):
    out, prev = bytearray(), 0
    for v in values:
        out += sv(wrap64(v - prev))
        prev = v
    return bytes(out)


def bitmap(flags):
    out = bytearray((len(flags) + 7) // 8)
    for i, f in enumerate(flags):
        if f:
            out[i >> 3] |= 1 << (i & 7)
    return bytes(out)


def enc_text(cells):
    return nl(cells)


def enc_int(cells):
    v = [as_int(c) for c in cells]
    return None if not v or None in v else deltas(v)


def enc_dec(cells):
    v = [as_dec(c) for c in cells]
    if not v or None in v or len({d for _, d in v}) != 1:
        return None
    return bytes([v[0][1]]) + deltas([x for x, _ in v])


def enc_numexc(cells):
    ints = [as_int(c) for c in cells]
    decs = [as_dec(c) for c in cells]
    scales = [d[1] for d in decs if d]
    D = max(set(scales), key=lambda s: (scales.count(s), -s)) if scales else 0
    decs = [d[0] if d and d[1] == D else None for d in decs]
    use_dec = sum(v is not None for v in decs) > sum(v is not None for v in ints)
    vals = decs if use_dec else ints
    out = bytes([1, D]) if use_dec else bytes([0])
    exc = [c for c, v in zip(cells, vals) if v is None]
    out += uv(len(cells)) + bitmap([v is not None for v in vals]) + uv(len(exc))
    out += b"".join(lp(e) for e in exc)
    return out + deltas([v for v in vals if v is not None])


def enc_derived(cells, source, a):
    if len(cells) != len(source):
        return None
    m = {}
    for s, c in zip(source, cells):
        if m.setdefault(s, c) != c:
            return None
    return uv(a) + uv(len(m)) + b"".join(lp(v) for v in m.values())


def enc_dict(cells):
    ids = {}
    idx = [ids.setdefault(c, len(ids)) for c in cells]
    return uv(len(cells)) + uv(len(ids)) + b"".join(map(lp, ids)) + b"".join(map(uv, idx))


def enc_shuf(cells):
    v = [as_int(c) for c in cells]
    if not v or None in v:
        return None
    mn = min(v)
    W = max(1, (max(v) - mn).bit_length() + 7 >> 3)
    out = uv(len(v)) + sv(mn) + bytes([W])
    for p in range(W):
        out += bytes((x - mn) >> 8 * p & 0xFF for x in v)
    return out


def choose_column(cells, earlier, force=None):
    """-> (type, chunk). `earlier` are the cell lists of lower columns."""
    cand = []

    def add(t, chunk):
        if chunk is not None and (force is None or force == t):
            cand.append((len(xz(chunk)) if force is None else 0, t, chunk))

    add(TEXT, enc_text(cells))
    if cells:
        add(INT, enc_int(cells))
        add(DEC, enc_dec(cells))
        add(DICT, enc_dict(cells))
        add(SHUF, enc_shuf(cells))
        if force == NUMEXC or sum(as_int(c) is not None or as_dec(c) is not None
                                  for c in cells) * 2 > len(cells):
            add(NUMEXC, enc_numexc(cells))
        for a, src in enumerate(earlier):
            d = enc_derived(cells, src, a)
            if d is not None and (force == DERIVED or len(set(cells)) > 1):
                add(DERIVED, d)
    if not cand:                 # a forced type that cannot hold these cells
        return TEXT, enc_text(cells)
    _, t, chunk = min(cand, key=lambda c: (c[0], c[1]))
    return t, chunk


def columnar(data, delim=b",", header=False, force=None, ncols=None):
    force = force or {}
    lines, trailing = split_lines(data)
    head = lines.pop(0) if header else b""
    rows = [split_row(l, delim) for l in lines]
    if ncols is None:
        counts = [len(r) for r in rows] or [1]
        ncols = max(set(counts), key=lambda n: (counts.count(n), n))
    cells = [[] for _ in range(ncols)]
    quoted = [[] for _ in range(ncols)]
    modes, counts, verb = bytearray(), bytearray(), []
    for line, r in zip(lines, rows):
        if len(r) > ncols:
            modes.append(0)
            verb.append(line)
            continue
        modes.append(1)
        counts += uv(len(r))
        for i, (c, q) in enumerate(r):
            cells[i].append(c)
            quoted[i].append(q)
    types, index, values = bytearray(), bytearray(), bytearray()
    qmodes, qbits = bytearray(), bytearray()
    for k in range(ncols):
        t, chunk = choose_column(cells[k], cells[:k], force.get(k))
        types.append(t)
        index += uv(len(chunk))
        values += chunk
        if not any(quoted[k]):
            qmodes.append(0)
        elif all(quoted[k]):
            qmodes.append(1)
        else:
            qmodes.append(2)
            qbits += bitmap(quoted[k])
    meta = uv(len(lines)) + bytes([trailing, int(header)]) + lp(delim) + uv(ncols)
    return [("meta", meta), ("row_modes", bytes(modes)), ("fieldcounts", bytes(counts)),
            ("coltypes", bytes(types)), ("col_index", bytes(index)), ("values", bytes(values)),
            ("quotemodes", bytes(qmodes)), ("quotebits", bytes(qbits)),
            ("verbatim", nl(verb)), ("header", head)]


# ------------------------------------------------------------------------- log
WORD = re.compile(rb"[^\s=,;:\[\]()\"']+")


def log(data, min_uses=2):
    lines, trailing = split_lines(data)
    parsed, uses = [], {}
    for l in lines:
        if b"\0" in l:
            parsed.append(None)
            continue
        vars_ = []

        def sub(m):
            if any(48 <= b <= 57 for b in m[0]):
                vars_.append(m[0])
                return b"\0"
            return m[0]
        t = WORD.sub(sub, l)
        parsed.append((t, vars_))
        uses[t] = uses.get(t, 0) + 1
    ids, flags, tids, vars_, verb = {}, bytearray(), bytearray(), [], []
    for l, p in zip(lines, parsed):
        if p is None or uses[p[0]] < min_uses:
            flags.append(0)
            verb.append(l)
            continue
        flags.append(1)
        tids += uv(ids.setdefault(p[0], len(ids)))
        vars_ += p[1]
    return [("meta", uv(len(lines)) + bytes([trailing])), ("templates", nl(ids)),
            ("flags", bytes(flags)), ("tids", bytes(tids)), ("vars", nl(vars_)),
            ("verbatim", nl(verb))]


# ------------------------------------------------------------------------- ssh
SSH_RE = re.compile(rb"([A-Z][a-z][a-z]) ( ?[0-9]{1,2}) (\d\d:\d\d:\d\d) (\S+) sshd\[(0|[1-9][0-9]{0,18})\]: (.*)\Z", re.S)
SSH_VAR = re.compile(rb"<\*>|\d+\.\d+\.\d+\.\d+|(?<=port )\d+|(?<=user )\S+|(?<=for )(?!invalid)\S+|\b\d+\b")


def ssh(data, min_uses=2):
    lines, trailing = split_lines(data)
    parsed, uses = [], {}
    for l in lines:
        m = SSH_RE.match(l)
        if not m:
            parsed.append(None)
            continue
        vars_ = []
        t = SSH_VAR.sub(lambda v: (vars_.append(v[0]), b"<*>")[1], m[6])
        parsed.append((m, t, vars_))
        uses[t] = uses.get(t, 0) + 1
    cols = [[], [], [], []]
    ids, flags, pids, tids, vars_, rawm, verb = {}, bytearray(), bytearray(), bytearray(), [], [], []
    for l, p in zip(lines, parsed):
        if p is None:
            flags.append(0)
            verb.append(l)
            continue
        m, t, v = p
        for c, g in zip(cols, (1, 2, 3, 4)):
            c.append(m[g])
        pids += uv(int(m[5]))
        if uses[t] >= min_uses and b"\0" not in m[6]:
            flags.append(2)
            tids += uv(ids.setdefault(t, len(ids)))
            vars_.append(b"\0".join(v))
        else:
            flags.append(1)
            rawm.append(m[6])
    return [("meta", uv(len(lines)) + bytes([trailing])), ("templates", nl(ids)),
            ("flags", bytes(flags)), ("months", nl(cols[0])), ("days", nl(cols[1])),
            ("times", nl(cols[2])), ("hosts", nl(cols[3])), ("pids", bytes(pids)),
            ("template_ids", bytes(tids)), ("vars", nl(vars_)), ("rawmsgs", nl(rawm)),
            ("verbatim", nl(verb))]


# -------------------------------------------------------- JSON text, raw tokens
STR_RE = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"')
NUM_RE = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WS = b" \t\r\n"


class JsonError(Exception):
    pass


def json_events(b, allow_ws):
    """Flat events over the raw bytes: ('{'|'}'|'['|']'|','|':', pos),
    ('key', s, e), ('val', s, e, path), ('ws', s, e). Raises JsonError."""
    ev, i, n = [], 0, len(b)

    def ws():
        nonlocal i
        s = i
        while i < n and b[i] in WS:
            i += 1
        if i > s:
            if not allow_ws:
                raise JsonError("space")
            ev.append(("lit", b[s:i]))

    def value(path, depth):
        nonlocal i
        if depth > 500:
            raise JsonError("depth")
        ws()
        if i >= n:
            raise JsonError("end")
        c = b[i:i + 1]
        if c in b"{[":
            close = b"}" if c == b"{" else b"]"
            start = len(ev)
            ev.append(("open", c, 0))
            i += 1
            cnt = 0
            ws()
            if b[i:i + 1] == close:
                i += 1
            else:
                while True:
                    if c == b"{":
                        ws()
                        m = STR_RE.match(b, i)
                        if not m:
                            raise JsonError("key")
                        ev.append(("key", m[0]))
                        i = m.end()
                        ws()
                        if b[i:i + 1] != b":":
                            raise JsonError("colon")
                        ev.append(("lit", b":"))
                        i += 1
                        value(path + (m[0],), depth + 1)
                    else:
                        value(path + (b"[]",), depth + 1)
                    cnt += 1
                    ws()
                    if b[i:i + 1] == b",":
                        ev.append(("lit", b","))
                        i += 1
                        continue
                    if b[i:i + 1] != close:
                        raise JsonError("close")
                    i += 1
                    break
            ev[start] = ("open", c, cnt)
            ev.append(("close", close))
            return
        for lit in (b"true", b"false", b"null"):
            if b.startswith(lit, i):
                ev.append(("val", lit, path))
                i += len(lit)
                return
        m = STR_RE.match(b, i) or NUM_RE.match(b, i)
        if not m:
            raise JsonError("value")
        ev.append(("val", m[0], path))
        i = m.end()

    value((), 0)
    ws()
    if i != n:
        raise JsonError("tail")
    return ev


def path_name(path):
    out = ""
    for p in path:
        if p == b"[]":
            out += "[]"
        else:
            out += ("." if out else "") + json.loads(p)
    return out.encode()


def skeleton(b, allow_ws=True):
    """-> (bytes with NUL for every scalar value, [(value, path)])."""
    out, vals = bytearray(), []
    for e in json_events(b, allow_ws):
        if e[0] == "val":
            out.append(0)
            vals.append((e[1], e[2]))
        else:
            out += e[1]
    return bytes(out), vals


# ------------------------------------------------------------------------ json
def json_codec(data, rules=True):
    lines, trailing = split_lines(data)
    keys, cols, colid = {}, [], {}
    flags, tape, verb = bytearray(), bytearray(), []
    last = {}
    rule_of, rule_list = {}, []

    def find_rule(path, content):
        """Longest earlier values found inside content become sources."""
        lits, srcs, rest = [], [], content
        cands = sorted(((v, c) for c, v in last.items() if len(v) >= 3),
                       key=lambda t: (-len(t[0]), t[1]))
        pieces = [rest]
        used = False
        for v, c in cands:
            new = []
            for p in pieces:
                if isinstance(p, bytes) and v in p and not used_cols.get(c):
                    a, b2 = p.split(v, 1)
                    new += [a, c, b2]
                    used_cols[c] = True
                    used = True
                else:
                    new.append(p)
            pieces = new
        if not used:
            return None
        for p in pieces:
            (lits if isinstance(p, bytes) else srcs).append(p)
        return tuple(lits), tuple(srcs)

    def expand(rule):
        lits, srcs = rule
        out = b""
        for l, s in zip(lits, srcs):
            out += l + last.get(s, b"")
        return out + lits[len(srcs)]

    for l in lines:
        try:
            ev = json_events(l, False)
        except JsonError:
            flags.append(0)
            verb.append(l)
            continue
        flags.append(1)
        for e in ev:
            if e[0] == "open":
                tape.append(1 if e[1] == b"{" else 2)
                tape += uv(e[2])
            elif e[0] == "key":
                tape += uv(keys.setdefault(e[1], len(keys)))
            elif e[0] == "val":
                v, path = e[1], e[2]
                if rules and v[:1] == b'"' and len(v) >= 10:
                    used_cols = {}
                    if path not in rule_of:
                        r = find_rule(path, v[1:-1])
                        rule_of[path] = None
                        if r:
                            rule_of[path] = len(rule_list)
                            rule_list.append(r)
                    rid = rule_of[path]
                    if rid is not None and expand(rule_list[rid]) == v[1:-1]:
                        tape.append(3)
                        tape += uv(rid)
                        continue
                cid = colid.setdefault(path, len(colid))
                if cid == len(cols):
                    cols.append([])
                cols[cid].append(v)
                last[cid] = v[1:-1] if v[:1] == b'"' else v
                tape.append(0)
                tape += uv(cid)
    chunks = [nl(c) for c in cols]
    rb = uv(len(rule_list))
    for lits, srcs in rule_list:
        rb += uv(len(lits)) + b"".join(map(lp, lits)) + uv(len(srcs)) + b"".join(map(uv, srcs))
    return [("meta", uv(len(lines)) + bytes([trailing])), ("flags", bytes(flags)),
            ("keyvocab", nl(keys)), ("verbatim", nl(verb)), ("rules", rb),
            ("value_index", uv(len(chunks)) + b"".join(uv(len(c)) for c in chunks)),
            ("values", b"\n".join(chunks)), ("tape", bytes(tape))]


# --------------------------------------------------------------------- jsondoc
def jsondoc(data):
    try:
        if b"\0" in data:
            raise JsonError("nul")
        skel, vals = skeleton(data)
    except (JsonError, RecursionError):
        return [("meta", b"\0"), ("raw", data)]
    colid, cols, ids = {}, [], bytearray()
    for v, path in vals:
        cid = colid.setdefault(path, len(colid))
        if cid == len(cols):
            cols.append([])
        cols[cid].append(v)
        ids += uv(cid)
    chunks = [nl(c) for c in cols]
    return [("meta", b"\1"), ("skeleton", skel), ("colids", bytes(ids)),
            ("value_index", uv(len(chunks)) + b"".join(uv(len(c)) for c in chunks)),
            ("values", b"".join(chunks))]


# ------------------------------------------------------------------------- osm
ATTR = rb'id="(-?\d+)" version="(\d+)" timestamp="(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"'
NODE_RE = re.compile(rb'  <node ' + ATTR + rb' lat="(-?[\d.]+)" lon="(-?[\d.]+)"(/?)>\Z')
WAY_RE = re.compile(rb'  <way ' + ATTR + rb'(/?)>\Z')
REL_RE = re.compile(rb'  <relation ' + ATTR + rb'(/?)>\Z')
TAG_RE = re.compile(rb'    <tag k="([^"]*)" v="([^"]*)"/>\Z')
ND_RE = re.compile(rb'    <nd ref="(-?\d+)"/>\Z')
MEM_RE = re.compile(rb'    <member type="(node|way|relation)" ref="(-?\d+)" role="([^"]*)"/>\Z')


def epoch(s):
    import calendar
    import time
    return calendar.timegm(time.strptime(s.decode(), "%Y-%m-%dT%H:%M:%SZ"))


def iso(t):
    import time
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t)).encode()


def coord_text(q):
    s = "%d.%07d" % (abs(q) // 10**7, abs(q) % 10**7)
    s = s.rstrip("0")
    if s.endswith("."):
        s = s[:-1]
    return (("-" if q < 0 else "") + s).encode()


def coord(s):
    m = re.fullmatch(rb"(-?)(\d+)(?:\.(\d{1,7}))?", s)
    if not m:
        return None
    q = int(m[2]) * 10**7 + int((m[3] or b"").ljust(7, b"0") or 0)
    q = -q if m[1] else q
    return q if coord_text(q) == s else None


def osm(data):
    lines, trailing = split_lines(data)
    S = {k: bytearray() for k in
         "n_id n_ver n_ts n_lat n_lon n_tagcnt n_tagkey n_tagval "
         "w_id w_ver w_ts w_ndcnt w_ndref w_tagcnt w_tagkey w_tagval "
         "r_id r_ver r_ts r_memcnt r_memtype r_memref r_memrole r_tagcnt r_tagkey r_tagval".split()}
    ops, verb, keys, roles = bytearray(), bytearray(), {}, {}
    prev = dict.fromkeys("n_id n_ts n_lat n_lon w_id w_ts w_ndref r_id r_ts r_memref".split(), 0)

    def delta(name, v):
        S[name] += sv(v - prev[name])
        prev[name] = v

    pending = []

    def flush():
        if pending:
            ops.append(0)
            verb.extend(lp(nl(pending)))
            pending.clear()

    def canon_int(b):
        return as_int(b) is not None

    def body(i, close, kinds):
        """Child lines up to the closing tag: (children, next index) or None."""
        kids = []
        order = 0
        while i < len(lines):
            if lines[i] == close:
                return (kids, i + 1) if kids else None
            m = TAG_RE.match(lines[i])
            if m and b"\0" not in m[1]:
                order = 1
                kids.append(("tag", m[1], m[2]))
            elif order == 0 and "nd" in kinds and (m := ND_RE.match(lines[i])) and canon_int(m[1]):
                kids.append(("nd", int(m[1])))
            elif order == 0 and "mem" in kinds and (m := MEM_RE.match(lines[i])) and canon_int(m[2]):
                kids.append(("mem", [b"node", b"way", b"relation"].index(m[1]), int(m[2]), m[3]))
            else:
                return None
            i += 1
        return None

    def head_ok(m):
        try:
            return canon_int(m[1]) and as_int(m[2]) is not None and iso(epoch(m[3])) == m[3] and m[3] >= b"1000"
        except ValueError:
            return False

    i = 0
    while i < len(lines):
        l, done = lines[i], None
        for p, rx, close, kinds in (("n", NODE_RE, b"  </node>", ()), ("w", WAY_RE, b"  </way>", ("nd",)),
                                    ("r", REL_RE, b"  </relation>", ("mem",))):
            m = rx.match(l)
            if not m or not head_ok(m):
                continue
            if p == "n" and (coord(m[4]) is None or coord(m[5]) is None):
                continue
            selfclose = m[m.re.groups] == b"/"
            got = ([], i + 1) if selfclose else body(i + 1, close, kinds)
            if got is None:
                continue
            kids, nxt = got
            flush()
            ops.append("nwr".index(p) + 1)
            delta(p + "_id", int(m[1]))
            S[p + "_ver"] += uv(int(m[2]))
            delta(p + "_ts", epoch(m[3]))
            if p == "n":
                delta("n_lat", coord(m[4]))
                delta("n_lon", coord(m[5]))
            nds = [k for k in kids if k[0] == "nd"]
            mems = [k for k in kids if k[0] == "mem"]
            tags = [k for k in kids if k[0] == "tag"]
            if p == "w":
                S["w_ndcnt"] += uv(len(nds))
                for k in nds:
                    delta("w_ndref", k[1])
            if p == "r":
                S["r_memcnt"] += uv(len(mems))
                for k in mems:
                    S["r_memtype"] += uv(k[1])
                    delta("r_memref", k[2])
                    S["r_memrole"] += uv(roles.setdefault(k[3], len(roles)))
            S[p + "_tagcnt"] += uv(len(tags))
            for k in tags:
                S[p + "_tagkey"] += uv(keys.setdefault(k[1], len(keys)))
                S[p + "_tagval"] += lp(k[2])
            done = nxt
            break
        if done is None:
            pending.append(l)
            i += 1
        else:
            i = done
    flush()

    def vocab(d):
        return uv(len(d)) + b"".join(k + b"\0" for k in d)
    return ([("meta", bytes([trailing])), ("opcodes", bytes(ops)), ("tag_keys", vocab(keys)),
             ("roles", vocab(roles)), ("verbatim", bytes(verb))] +
            [(k, bytes(v)) for k, v in S.items()])


# ------------------------------------------------------------------------- vcf
def vcf(data):
    lines, trailing = split_lines(data)
    split = [None if l.startswith(b"#") else l.split(b"\t") for l in lines]
    widths = [len(f) for f in split if f and len(f) >= 10]
    nsamp = max(set(widths), key=lambda w: (widths.count(w), w)) - 9 if widths else 0
    rows = [f if f and nsamp and len(f) == 9 + nsamp else None for f in split]
    good = [r for r in rows if r]
    tokens = [t for r in good for t in r[9:]]
    ref = max(set(tokens), key=lambda t: (tokens.count(t), t)) if tokens else b""
    pos_delta = int(bool(good) and all(as_int(r[1]) is not None for r in good))
    vocab, flags, gt, verb = {}, bytearray(), bytearray(), []
    for l, r in zip(lines, rows):
        if r is None:
            flags.append(0)
            verb.append(l)
            continue
        flags.append(1)
        hits = [(i, t) for i, t in enumerate(r[9:]) if t != ref]
        gt += uv(len(hits))
        prev = 0
        for i, t in hits:
            gt += uv(i - prev) + uv(vocab.setdefault(t, len(vocab)))
            prev = i
    meta = (uv(len(lines)) + bytes([trailing]) + uv(nsamp) + bytes([pos_delta]) + lp(ref) +
            uv(len(vocab)) + b"".join(map(lp, vocab)))
    out = [("meta", meta), ("flags", bytes(flags)), ("verbatim", nl(verb)), ("gt", bytes(gt))]
    for c, name in enumerate("chrom pos id ref alt qual filter info format".split()):
        cells = [r[c] for r in good]
        out.append((name, deltas([int(x) for x in cells]) if c == 1 and pos_delta else nl(cells)))
    return out


# -------------------------------------------------------------- dicom and embed
def dicom(pre, pix, suf, rows, cols, samples, bits, tid, pad=b""):
    bw = 1 if bits == 8 else 2
    if tid == 0:
        coded = pix
    elif tid == 3:
        coded = pix[1::2] + pix[0::2]
    else:
        mask = 0xFF if bw == 1 else 0xFFFF
        el = list(pix) if bw == 1 else list(struct.unpack("<%dH" % (len(pix) // 2), pix))
        w, out = cols * samples, []
        for i, v in enumerate(el):
            if tid == 1:
                p = el[i - 1] if i % w else 0
            else:
                p = el[i - w] if i >= w else 0
            out.append((v - p) & mask)
        coded = bytes(out) if bw == 1 else struct.pack("<%dH" % len(out), *out)
    meta = (bytes([1, tid, 0]) + uv(rows) + uv(cols) + uv(samples) + uv(bits) + lp(pad))
    return [("meta", meta), ("pre", pre), ("pix", coded), ("suf", suf)]


def embed(data, header_len, width):
    body = data[header_len:]
    assert len(body) % width == 0
    n = len(body) // width
    planes = b"".join(body[b::width] for b in range(width))
    return [("meta", uv(width) + lp(data[:header_len]) + uv(n)), ("data", planes)]


def npy_layout(data):
    """(header length, element width) of a version 1/2 .npy file."""
    assert data[:6] == b"\x93NUMPY"
    if data[6] == 1:
        hl = 10 + struct.unpack_from("<H", data, 8)[0]
    else:
        hl = 12 + struct.unpack_from("<I", data, 8)[0]
    descr = re.search(rb"'descr': '[<>|=]?[a-zA-Z](\d+)'", data[:hl])
    return hl, int(descr[1])


# ---------------------------------------------------------- queryable codecs
def zone_type(cells):
    """0 text, 1 integer, 2 decimal: numeric only if every cell is."""
    if not cells:
        return 0
    if all(as_int(c) is not None for c in cells):
        return 1
    if all(NUM_RE.fullmatch(c) for c in cells) and all(abs(float(c)) < float("inf") for c in cells):
        return 2
    return 0


def block(cells, which="best"):
    data = nl(cells)
    if which == "best":
        which, comp = best_backend(data, (XZ, ZSTD))
    else:
        which, comp = compress(data, which)
    return bytes([which]) + comp


def blocks_and_index(rows, ncols, rg, which="best"):
    cols = list(zip(*rows)) if rows else [()] * ncols
    types = bytes(zone_type(c) for c in cols)
    index, blocks = bytearray(), bytearray()
    nrg = (len(rows) + rg - 1) // rg
    for g in range(nrg):
        part = rows[g * rg:(g + 1) * rg]
        for c in range(ncols):
            cells = [r[c] for r in part]
            b = block(cells, which)
            index += uv(len(b))
            if types[c] == 1:
                v = [int(x) for x in cells]
                index += sv(min(v)) + sv(max(v))
            elif types[c] == 2:
                v = [float(x) for x in cells]
                index += struct.pack("<dd", min(v), max(v))
            blocks += b
    return types, bytes(index), bytes(blocks), nrg


def qcolumnar(data, delim=b",", header=False, rg=4, which="best", quotes=True):
    lines, trailing = split_lines(data)
    rows, modes, verb = [], bytearray(), []
    parsed = []
    for l in lines:
        if quotes:   # raw cells (quotes kept), delimiter inside quotes not split
            cells, pos = [], 0
            for content, q in split_row(l, delim):
                n = len(content) + content.count(b'"') + 2 if q else len(content)
                cells.append(l[pos:pos + n])
                pos += n + len(delim)
        else:
            cells = l.split(delim)
        parsed.append(cells)
    counts = [len(p) for p in parsed[int(header):]] or [len(parsed[0])]
    ncols = max(set(counts), key=lambda n: (counts.count(n), n))
    for i, (l, p) in enumerate(zip(lines, parsed)):
        if len(p) != ncols or (header and i == 0):
            modes.append(0)
            verb.append(l)
        else:
            modes.append(1)
            rows.append(p)
    types, index, blocks, nrg = blocks_and_index(rows, ncols, rg, which)
    meta = (uv(len(lines)) + bytes([trailing]) + lp(delim) + uv(ncols) + uv(rg) +
            uv(len(rows)) + uv(nrg) + types)
    return [("meta", meta), ("row_modes", bytes(modes)), ("verbatim", nl(verb)),
            ("index", index), ("blocks", blocks)]


def qjson_streams(lines, trailing, skel, rg, which="best"):
    rows, modes, verb, names = [], bytearray(), [], None
    for l in lines:
        try:
            s, vals = skeleton(l)
        except JsonError:
            s = None
        if skel is not None and s == skel:
            modes.append(1)
            rows.append([v for v, _ in vals])
            names = names or [path_name(p) for _, p in vals]
        else:
            modes.append(0)
            verb.append(l)
    segs = skel.split(b"\0") if skel is not None else [b""]
    ncols = len(segs) - 1
    types, index, blocks, nrg = blocks_and_index(rows, ncols, rg, which)
    meta = uv(len(lines)) + bytes([trailing]) + uv(ncols) + uv(rg) + uv(len(rows)) + uv(nrg) + types
    return [("meta", meta), ("template", uv(len(segs)) + b"".join(map(lp, segs))),
            ("paths", uv(ncols) + b"".join(map(lp, names or []))),
            ("row_modes", bytes(modes)), ("verbatim", nl(verb)), ("index", index), ("blocks", blocks)]


def skeleton_counts(lines):
    uses = {}
    for l in lines:
        try:
            if b"\0" in l:
                continue
            s, _ = skeleton(l)
            uses[s] = uses.get(s, 0) + 1
        except JsonError:
            pass
    return uses


def qjson(data, rg=4, which="best"):
    lines, trailing = split_lines(data)
    uses = skeleton_counts(lines)
    skel = max(uses, key=lambda s: (uses[s], s)) if uses else None
    return qjson_streams(lines, trailing, skel, rg, which)


def qjson2(data, rg=4, which="best", max_templates=32, min_uses=2):
    lines, trailing = split_lines(data)
    uses = skeleton_counts(lines)
    tops = sorted((s for s in uses if uses[s] >= min_uses), key=lambda s: (-uses[s], s))[:max_templates]
    parts = [[] for _ in tops]
    lmap, verb = bytearray(), []
    for l in lines:
        try:
            s, _ = skeleton(l)
        except JsonError:
            s = None
        if s in tops and b"\0" not in l:
            t = tops.index(s)
            parts[t].append(l)
            lmap += uv(t + 1)
        else:
            lmap += uv(0)
            verb.append(l)
    out = [("meta", uv(len(lines)) + bytes([trailing]) + uv(len(tops))),
           ("line_map", bytes(lmap)), ("verbatim", nl(verb))]
    for i, (s, part) in enumerate(zip(tops, parts)):
        out += [("t%d:%s" % (i, n), d) for n, d in qjson_streams(part, 0, s, rg, which)]
    return out


def q_backends(streams):
    """`blocks` is stored so that its bytes sit verbatim in the file."""
    return {n: STORED for n, _ in streams if n == "blocks" or n.endswith(":blocks")}


# ---------------------------------------------------------------------- bundle
def bundle(entries):
    """entries: list of (name, original, complete inner container)."""
    man = json.dumps([{"name": n, "size": len(o), "sha256": hashlib.sha256(o).hexdigest()}
                      for n, o, _ in entries], ensure_ascii=False).encode()
    return [("manifest", man)] + [("e%d" % i, c) for i, (_, _, c) in enumerate(entries)]
