# The commands of this project. Each is one line; what it does stands in the script that it calls.

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s  %s\n", $$1, $$2 }' Makefile

build: ## build the program: target/release/nodescope
	cargo build --release

demo: ## a sample service under load, recorded and shown: needs Node, or shows a recording that ships with it
	cargo run --quiet --release -- demo

check: ## the inner loop: fmt, clippy, unit tests and the page's modules
	scripts/check.sh

test: ## run all tests; install what they need, say what is skipped
	scripts/test.sh

lint: ## fmt, clippy, TypeScript and JavaScript, and cargo deny and shellcheck where they are installed
	scripts/lint.sh

fmt: ## format the Rust code, the page and all other scripts in JavaScript
	cargo fmt --all
	npm --prefix page run --silent format

bench: ## measure speed against inferno and others, as ratios
	bench/run.sh
	bench/overhead.sh
	node bench/loops.mjs
	node bench/inspector.mjs
	node bench/live.mjs
	node bench/page.mjs
	node bench/npm.mjs
	bench/static.sh

dist: ## build what is handed out, static programs for Linux: dist/TARGET/nodescope
	scripts/dist.sh

dist-test: ## build for all systems, and check: size, a second build that must be equal, all tests; takes hours
	scripts/dist.sh all
	scripts/dist-test.sh

release: dist ## make the files of a release of them: archives, Debian packages, images: dist/release
	scripts/release-files.sh

npm: ## make the npm packages of the programs that are in dist: dist/npm/*.tgz
	node scripts/npm.mjs --partial

fuzz: ## run every fuzz target for a short while
	scripts/fuzz.sh

pictures: ## record the demo, and make docs/demo.html and the pictures of the page anew
	scripts/pictures.sh

proof: ## what takes hours: benchmarks, truth, fuzzers, mutants; writes docs/proof.md
	scripts/proof.sh

.PHONY: help build check demo test lint fmt bench dist dist-test release npm fuzz pictures proof
