# make test    everything that must hold: formatting, lints, tests, and tests against other people's implementations
# make bench   how near we are to the bare libraries and to other tools; see docs/performance.md
# make tour    a round through the formats, with a table made on the spot

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
TARGET := $(or $(CARGO_TARGET_DIR),target)
# One set of features for every step: another one would build arrow a second time.
WORKSPACE := --workspace --all-features

.PHONY: test lint unit interop bench tour clean

test: lint unit interop
	@echo "all tests passed"

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(WORKSPACE) --all-targets --locked -- -D warnings

unit:
	$(CARGO) test $(WORKSPACE) --locked
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(WORKSPACE) --no-deps --locked

# The interop tests run the real command against the implementations of others, from a local virtual environment.
interop: $(VENV)/ready
	$(CARGO) build $(WORKSPACE) --locked
	$(VENV)/bin/python tests/interop/plain.py $(TARGET)/debug/colkit

$(VENV)/ready: tests/interop/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt
	touch $@

bench: $(VENV)/ready
	$(CARGO) build --release --locked
	$(VENV)/bin/python bench/plain.py $(TARGET)/release/colkit

tour:
	$(CARGO) run --release --locked -- tour

clean:
	rm -rf $(VENV) bench/out
	$(CARGO) clean
