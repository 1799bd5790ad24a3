# Lakestream's front door: `make help` lists what it does. Everything is a line or two of cmake or ctest.
SHELL := bash
export LKS_START := $(shell date +%s)
STAGE := @tools/stage.sh
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 5
SUITE ?= all
export FUZZ_SECONDS

.PHONY: help run demo build install package test test-full test-kafka soak tsan fuzz format tidy bootstrap dev fuzzers clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

bootstrap: ## Install what is missing (Debian 12; root or sudo)
	$(STAGE) "install" tools/bootstrap.sh arrow

build: bootstrap ## Build build/release/lakestream and the library
	$(STAGE) "configure release" cmake --preset release --log-level=WARNING
	$(STAGE) "build release" cmake --build --preset release --target lakestream lakestream_library -j$(JOBS)

install: build ## Install binary, library and headers below PREFIX (/usr/local)
	$(STAGE) "install" cmake --install build/release --prefix $(PREFIX)

package: build ## Build a tarball that runs where it is unpacked, without a compiler
	$(STAGE) "package" tools/package.py build/release build/package

run: build ## Build, then start a broker with its data in ./lakestream-data
	@exec build/release/lakestream dev

demo: build ## Build, then write GitHub events, read them back, and ask about them in SQL
	$(STAGE) "clients" python3 tests/interop/setup.py build/interop --python-only
	$(STAGE) "demo" build/interop/venv/bin/python tools/demo/demo.py

dev: bootstrap
	$(STAGE) "configure dev" cmake --preset dev --log-level=WARNING
	$(STAGE) "build dev" cmake --build --preset dev -j$(JOBS)

fuzzers: bootstrap
	$(STAGE) "configure fuzz" cmake --preset fuzz --log-level=WARNING
	$(STAGE) "build fuzzers" cmake --build --preset fuzz --target fuzzers -j$(JOBS)

test: dev fuzzers ## Run every check and test that a change must pass
	$(STAGE) "test" ctest --preset dev -j$(JOBS)

tsan: bootstrap ## Run the unit tests under ThreadSanitizer
	$(STAGE) "configure tsan" cmake --preset tsan --log-level=WARNING
	$(STAGE) "build tsan" cmake --build --preset tsan -j$(JOBS)
	$(STAGE) "test tsan" ctest --preset tsan -j$(JOBS)

test-full: test tsan ## test, ThreadSanitizer, 100 kills, an hour of fresh worlds and their coverage, all of clang-tidy, longer fuzzing
	$(STAGE) "kill loop" env LKS_KILL_ROUNDS=100 ctest --preset dev -R 'interop.(setup|kill_loop)$$'
	$(STAGE) "fresh worlds" build/dev/sim/lakestream_sim --seconds 3600
	$(STAGE) "coverage of the worlds" tools/sim_coverage.py
	$(STAGE) "clang-tidy" tools/clang_tidy_changed.py --all --seconds 7200
	$(STAGE) "fuzz" tools/fuzz_smoke.py --seconds 60 --fresh-seed

test-kafka: build ## Run SUITE=franz|librdkafka|kafka-python|java|tools|streams|all of other projects against our broker
	$(STAGE) "suite $(SUITE)" tests/kafka-suites/run.py $(SUITE)

soak: fuzzers ## Fuzz every decoder for an hour with fresh seeds
	$(STAGE) "soak" tools/fuzz_smoke.py --seconds 3600 --fresh-seed

fuzz: fuzzers ## Fuzz for FUZZ_SECONDS each with fresh seeds
	$(STAGE) "fuzz" tools/fuzz_smoke.py --fresh-seed

format: ## Format all C++ in place
	@tools/format.sh

tidy: ## The house rules: layers, banned calls, sizes, documents
	@tools/tidy.py

clean: ## Remove the builds (not the data)
	rm -rf build
