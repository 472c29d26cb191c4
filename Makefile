# The commands of this project. Each is one line; what it does stands in the script that it calls.

RECORDING = corpus/node22-http/input.txt.gz

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' Makefile

build: ## build the program: target/release/nodescope
	cargo build --release

demo: ## the report of a recording that ships with the source, and its flame graph in flame.svg
	cargo run --quiet --release -- report $(RECORDING)
	cargo run --quiet --release -- export $(RECORDING) -o flame.svg
	@echo 'flame.svg: open it in a browser'

test: ## run all tests; install what they need, say what is skipped
	scripts/test.sh

lint: ## fmt, clippy, and cargo deny and shellcheck where they are installed
	scripts/lint.sh

fmt: ## format the Rust code
	cargo fmt --all

bench: ## measure speed against inferno and others, as ratios
	bench/run.sh
	bench/overhead.sh

fuzz: ## run every fuzz target for a short while
	scripts/fuzz.sh

.PHONY: help build demo test lint fmt bench fuzz
