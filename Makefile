# make test    formatting, lints, tests, and tests against other implementations: what to run before each commit
# make test-all what is slow and rarely fails: the cluster, every feature set, other systems, sanitised fuzz inputs, every bit flipped
# make bench   colkit compared with other tools, all jobs; bench-quick in five minutes; see docs/benchmark.md
# make fuzz    every reader against inputs changed at random, TIME seconds for each target; see docs/reliability.md
# make miri    the unsafe code that Miri can follow: no undefined behaviour
# make deny    licences, sources and known vulnerabilities of what is depended on
# make dist    the archive of a release: command, man pages, completions, licences, checksum
# make wheel   the Python package, into target/wheels
# make package what crates.io would get, without uploading it
# make explorer the page that shows files in a browser, and the readers in WebAssembly, into crates/colkit-cli/assets/explorer
# make cluster the command with the cluster in it, in a build folder of its own
# make tour    a round through the formats, with a table made on the spot

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
TARGET := $(or $(CARGO_TARGET_DIR),target)
# One set of packages and features for every step: another one would build arrow a second time.
WORKSPACE = $(shell CARGO=$(CARGO) tests/workspace.sh) --locked

.PHONY: test lint unit interop test-all fuzz fuzz-replay miri deny release dist package tour clean
.PHONY: bench bench-quick bench-quick-run bench-full bench-peers bench-sql bench-report bench-pack

# The quick checks come first.
test: format docs deny weight lint features unit plugins interop python explorer-test
	@echo "all tests passed"

test-all: features-all portability flips cluster-test explorer-firefox fuzz-replay
	@echo "all slow tests passed"

.PHONY: format docs features features-all portability flips
format:
	$(CARGO) fmt --all --check

# Links, paths, anchors and make targets in the documentation exist. `make interop` also checks verbs and options.
docs:
	$(PYTHON) tests/docs.py

lint:
	$(CARGO) clippy $(WORKSPACE) --all-targets -- -D warnings

# Crates, binaries and the page, compared with the limits in tests/weight.txt.
.PHONY: weight
weight:
	$(PYTHON) tests/weight.py $(TARGET)

# The sets of features that programs use most; features-all checks every set that is offered.
features:
	tests/features.sh common

features-all:
	tests/features.sh

# Other systems, as far as a check without their C compilers goes. Missing targets are installed with INSTALL=1 only.
portability:
	tests/portability.sh

# The examples that tests run are built; programs that only measure are not.
unit:
	$(CARGO) test $(WORKSPACE) --lib --bins --tests
	$(CARGO) test $(WORKSPACE) --doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(WORKSPACE) --no-deps

# Every bit and every byte of the small vectors changed, and random queries for two minutes. `make test` tries a part of them.
flips:
	COLKIT_ALL_BITS=1 COLKIT_EVERY_BYTE=1 COLKIT_QUERY_SECONDS=120 \
	  $(CARGO) test $(WORKSPACE) --test at1 --test lance --test plugin --test facade -- flips:: hostile:: extensions:: random

# The modules that files with extended encodings bring along, built again.
.PHONY: plugins
plugins:
	tests/plugins.sh

# The interop tests run the real command and the library against the implementations of others, each in a virtual
# environment of its own, with pinned versions.
interop: $(VENV)/ready $(VENV)-lance4/ready $(VENV)-lance14/ready
	$(CARGO) build $(WORKSPACE) --bins --examples
	$(PYTHON) tests/docs.py $(TARGET)/debug/colkit
	$(PYTHON) tests/options.py $(TARGET)/debug/colkit
	$(VENV)/bin/python tests/interop/plain.py $(TARGET)/debug/colkit
	$(VENV)/bin/python tests/interop/exchange.py $(TARGET)/debug/colkit
	$(VENV)/bin/python tests/interop/generated.py $(TARGET)/debug/colkit
	$(VENV)/bin/python tests/interop/sql.py $(TARGET)/debug/colkit
	$(VENV)/bin/python tests/interop/detection.py $(TARGET)/debug/colkit
	for v in 4 14; do for way in read write; do \
	  $(VENV)-lance$$v/bin/python $(LANCE)/lance_$$way.py $(TARGET)/debug/examples/lance_$$way --files 25 || exit 1; \
	done; done
	for v in 4 14; do $(VENV)-lance$$v/bin/python tests/interop/dataset.py $(TARGET)/debug/colkit || exit 1; done
	oracle/at1/run.sh
	oracle/at1/packs.sh

# A scheduler and three executors as processes, with a loopback store: answers, faults, conversions. Ballista turns on more of
# DataFusion, so this builds DataFusion a second time.
.PHONY: cluster cluster-test
cluster-test: $(VENV)/ready
	$(CARGO) clippy --workspace --all-features --locked --lib --bins -- -D warnings
	$(CARGO) test --workspace --all-features --locked --lib cluster
	$(CARGO) build --workspace --all-features --locked --bins --examples
	$(VENV)/bin/python tests/cluster.py $(TARGET)/debug/colkit $(TARGET)/debug/examples/s3

# For users: without it, the command stays small.
cluster:
	CARGO_TARGET_DIR=$(abspath $(TARGET))/cluster $(CARGO) build --release --locked -p colkit-cli --features cluster --bin colkit
	@ls -l $(TARGET)/cluster/release/colkit | awk '{ printf "%s: %.1f MB\n", $$NF, $$5 / 1e6 }'

LANCE := crates/colkit-lance/tests/interop

# The Python package, from a debug build that shares everything with the tests above: first without any other package, then with
# those that take its tables, then its types.
.PHONY: python wheel
PACKAGE := crates/colkit-python
python: $(VENV)-python/ready $(VENV)-wheel/ready
	$(CARGO) build $(WORKSPACE) --bins
	rm -rf $(TARGET)/wheels-debug
	PATH="$(abspath $(VENV)-wheel/bin):$$PATH" CARGO=$(abspath $(PACKAGE))/cargo.sh \
	  $(VENV)-wheel/bin/maturin build --quiet --profile dev --compatibility linux --out $(TARGET)/wheels-debug
	rm -rf $(VENV)-clean && $(PYTHON) -m venv $(VENV)-clean
	$(VENV)-clean/bin/pip install --quiet --disable-pip-version-check --no-index $(TARGET)/wheels-debug/*.whl
	cd $(PACKAGE)/tests && $(abspath $(VENV)-clean)/bin/python -m unittest discover --pattern 'plain_*.py'
	$(VENV)-python/bin/pip install --quiet --disable-pip-version-check --no-index --force-reinstall $(TARGET)/wheels-debug/*.whl
	cd $(PACKAGE)/tests && COLKIT=$(abspath $(TARGET))/debug/colkit $(abspath $(VENV)-python)/bin/python -m unittest discover --pattern 'peers_*.py'
	cd $(PACKAGE)/tests && $(abspath $(VENV)-python)/bin/python -m mypy --config-file mypy.ini --strict -p colkit
	cd $(PACKAGE)/tests && $(abspath $(VENV)-python)/bin/python -m mypy --config-file mypy.ini *.py

$(VENV)-python/ready: $(PACKAGE)/tests/requirements.txt
	$(PYTHON) -m venv $(VENV)-python
	$(VENV)-python/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)-wheel/ready: $(PACKAGE)/maturin.txt
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The wheel for users: optimised and stripped, with only the features that it needs, in a build folder of its own.
wheel: $(VENV)-wheel/ready
	PATH="$(abspath $(VENV)-wheel/bin):$$PATH" CARGO_TARGET_DIR=$(abspath $(TARGET))/python \
	  $(VENV)-wheel/bin/maturin build --release --locked --out $(TARGET)/wheels
	@ls -l $(TARGET)/wheels/*.whl | awk '{ printf "%s: %.1f MB\n", $$NF, $$5 / 1e6 }'

$(VENV)/ready: tests/interop/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)-lance4/ready $(VENV)-lance14/ready: $(VENV)-lance%/ready: tests/interop/requirements-lance%.txt
	$(PYTHON) -m venv $(VENV)-lance$*
	$(VENV)-lance$*/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# Both need the nightly toolchain.
TIME ?= 60
fuzz:
	fuzz/run.sh $(TIME)

# For the gate, which must not depend on luck: the vectors and every input that fuzzing found, the same on every machine.
fuzz-replay:
	fuzz/run.sh --replay

# Unpacking bits, compressing strings, reading into memory that was not filled before. The rest of what is unsafe calls C
# or maps files, which Miri cannot do; see docs/reliability.md.
miri:
	@if ! $(CARGO) +nightly miri --version >/dev/null 2>&1; then \
	  tests/skip.sh miri "not installed (rustup component add miri rust-src --toolchain nightly)"; \
	else \
	  export MIRIFLAGS=-Zmiri-disable-isolation; \
	  $(CARGO) +nightly miri test --locked -p colkit-core --lib -- source::tests::a_file_and_its_bytes_answer_alike && \
	  $(CARGO) +nightly miri test --locked -p colkit-lance --lib -- codec::bitpack codec::fsst values::tests v21::dictionary; \
	fi

# Licences and sources are checked in any case, the rest with cargo-deny. The database of vulnerabilities comes over the network.
deny:
	$(PYTHON) dist/licences.py --check
	@if ! $(CARGO) deny --version >/dev/null 2>&1; then \
	  tests/skip.sh deny "cargo-deny is not installed (cargo install --locked cargo-deny)"; \
	else \
	  $(CARGO) deny --log-level error check licenses bans sources || exit 1; \
	  if timeout 60 $(CARGO) deny fetch db >/dev/null 2>&1; then $(CARGO) deny --log-level error check advisories; \
	  else tests/skip.sh advisories "their database cannot be reached"; fi; \
	fi

# The benchmark runs us and our peers in turns, on data that it makes under bench/out, keeps what it found in bench/results and
# makes docs/benchmark.md of it. The peers' crates are built in a workspace of their own (bench/peers), which takes a while the
# first time; protoc and libclang, which that needs, come from PyPI.
bench: bench-full bench-sql bench-report

bench-quick: bench-quick-run
	$(VENV)-bench/bin/python bench/report.py bench/results/quick.json --print

bench-quick-run bench-full: $(VENV)-bench/ready bench-peers
	$(VENV)-bench/bin/python bench/data.py bench/out/$(SIZE) $(filter --quick,--$(SIZE))
	$(TARGET)/peers/release/colkit-peers bench/out/$(SIZE) $(filter --quick,--$(SIZE)) --out bench/results/$(SIZE).json \
	  --python $(VENV)-bench/bin/python --worker bench/python_peers.py

bench-quick-run: SIZE := quick
bench-full: SIZE := full

bench-peers: $(VENV)-bench/ready
	site=$$($(VENV)-bench/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))"); \
	PROTOC=$$site/protoc/data/bin/protoc LIBCLANG_PATH=$$site/clang/native CARGO_TARGET_DIR=$(TARGET)/peers \
	  CPATH=$$(oracle/at1/headers.sh bench/peers/Cargo.toml) \
	  $(CARGO) build --release --locked --manifest-path bench/peers/Cargo.toml --features reference

bench-sql: $(VENV)-bench/ready release
	$(VENV)-bench/bin/python bench/tpch_data.py $(TARGET)/release/colkit bench/out/tpch-1
	$(TARGET)/release/examples/tpch bench/out/tpch-1 tests/tpch --json bench/results/sql.json
	$(VENV)-bench/bin/python bench/tpch_duckdb.py bench/out/tpch-1 tests/tpch bench/results/sql.json

# The page, its charts and the README's section, from the results that are there.
bench-report: $(VENV)-bench/ready
	$(VENV)-bench/bin/python bench/report.py bench/results/full.json bench/results/sql.json --page docs/benchmark.md --readme README.md

# More about packing: nine texts, every effort, and contestants that take an hour.
bench-pack: $(VENV)-bench/ready release
	$(VENV)-bench/bin/python bench/pack.py $(TARGET)/release/colkit

# The explorer: the readers in WebAssembly (a workspace of their own, see crates/colkit-web) and the page around them. What the
# command embeds is committed, so that only those who change it need npm, the target wasm32-unknown-unknown, and libdeflate-gzip (Debian's
# libdeflate-tools), which makes the module 4 % smaller than gzip does.
.PHONY: explorer explorer-page explorer-module explorer-test
EXPLORER := crates/colkit-cli/assets/explorer
MODULE := $(abspath $(TARGET))/web/wasm32-unknown-unknown/release/colkit_web.wasm
explorer: explorer-module explorer-page
	mkdir -p $(EXPLORER)
	cp web/dist/explorer.html $(EXPLORER)/
	libdeflate-gzip -12 -n -c web/dist/colkit.wasm > $(EXPLORER)/colkit.wasm.gz
	@wc -c web/dist/colkit.wasm $(EXPLORER)/colkit.wasm.gz $(EXPLORER)/explorer.html

# Names of folders must not become part of the module.
explorer-module:
	cd crates/colkit-web && $(CARGO) fetch --locked --quiet
	cd crates/colkit-web && CARGO_TARGET_DIR=$(abspath $(TARGET))/web \
	  RUSTFLAGS="$$(printf -- '--remap-path-prefix=%s= ' $(abspath .)/ $${CARGO_HOME:-$$HOME/.cargo}/registry/src/*/)" \
	  $(CARGO) build --release --locked --target wasm32-unknown-unknown
	cp $(MODULE) web/src/reader/colkit.wasm

explorer-page: web/node_modules/.package-lock.json
	cd web && npm run --silent build

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund

# The reader compared with the command, and the page in Chromium. The module is checked for the web and not built: what is tested
# is what the command embeds.
explorer-test:
	$(CARGO) build $(WORKSPACE) --bins
	cd crates/colkit-web && CARGO_TARGET_DIR=$(abspath $(TARGET))/web $(CARGO) test --quiet --locked -p zstd
	CARGO_TARGET_DIR=$(abspath $(TARGET)) tests/explorer.sh $(abspath $(TARGET))/debug/colkit

.PHONY: explorer-firefox
explorer-firefox:
	CARGO_TARGET_DIR=$(abspath $(TARGET)) tests/explorer.sh $(abspath $(TARGET))/debug/colkit firefox

release:
	$(CARGO) build --release $(WORKSPACE) --bins --examples

$(VENV)-bench/ready: bench/requirements.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# PROFILE=dev tries the packaging with a debug build.
PROFILE ?= dist
dist:
	$(CARGO) build --locked --profile $(PROFILE) -p colkit-cli --features full --bin colkit
	dist/archive.sh $(abspath $(TARGET))/archive $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/colkit

package:
	$(CARGO) package --workspace --exclude colkit-test-servers --exclude colkit-python --no-verify --allow-dirty

tour:
	$(CARGO) run --release --locked -- tour

clean:
	rm -rf .detection $(VENV) $(VENV)-lance4 $(VENV)-lance14 $(VENV)-bench $(VENV)-python $(VENV)-wheel $(VENV)-clean bench/out
	$(CARGO) clean
