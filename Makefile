# Two commands: `make demo` and `make test`. CMake does the work; its presets
# (CMakePresets.json) can be used directly as well.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

DEPS := tools/install-deps
BUILD := build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: help deps-% build-% check-% demo check test bench asan tsan msan coverage \
        fuzz scorecard release tarball deb format clean

help:
	@echo "make demo      build everything, run the first two examples"
	@echo "make check     build everything, run the tests that are not labelled slow"
	@echo "make test      build everything, run all tests"
	@echo "make bench     build everything, run the benchmarks beside their peers"
	@echo "               (BENCH=--quick for a short one)"
	@echo "make release   build the library for installing: cmake --install build/release"
	@echo "make tarball   a package of the library and its compiler that can be moved"
	@echo "make deb       packages for Debian 12, tried in a fresh system if one can"
	@echo "               be made here"
	@echo "make asan      the tests under AddressSanitizer and UBSan"
	@echo "make tsan      the tests under ThreadSanitizer"
	@echo "make msan      the tests under MemorySanitizer"
	@echo "make fuzz      the fuzz targets, SECONDS=60 each, TARGETS=regex of them"
	@echo "make coverage  the tests, and a report of the lines that they reach"
	@echo "make scorecard what was tried against the library, in hours, beside the"
	@echo "               goals (SCORE=short: of the last run of the tests)"
	@echo "make format    clang-format on the C sources that changed"
	@echo "make clean     remove the folder build"
	@echo
	@echo "What is missing is installed on Debian 12 where this may be done, as"
	@echo "root or through sudo. RUNNEL_INSTALL=0 only says what is missing."
	@echo "JOBS=n limits the processes of a build, TESTS=regex chooses tests."

# --- What each job needs, and how a preset is built ---------------------------

deps-%:
	@$(DEPS) $(subst +, ,$*)

# Configuring again takes a quarter of a second and sees new packages.
build-%:
	@mkdir -p $(BUILD)
	@cmake --preset $* >$(BUILD)/$*.log 2>&1 || { cat $(BUILD)/$*.log; exit 1; }
	@sed -n 's/^-- \(Runnel [0-9]\|  \)/\1/p' $(BUILD)/$*.log
	@cmake --build --preset $* -j $(JOBS)

check-%: build-%
	@tools/run-tests $* $(JOBS) '$(TESTS)'

# --- The jobs -----------------------------------------------------------------

demo: deps-demo build-dev
	@for program in scalar_add print_indices; do \
	    echo; echo "$$ $(BUILD)/dev/bin/$$program"; \
	    $(BUILD)/dev/bin/$$program || exit 1; \
	done

test: deps-test check-dev

check: deps-test build-dev
	@SKIP_LABELS='^slow$$' tools/run-tests dev $(JOBS) '$(TESTS)'

bench: deps-bench build-dev
	@mkdir -p bench/results
	@$(BUILD)/dev/bin/runnel-bench --json bench/results/latest.json $(BENCH)

release: deps-demo build-release

tarball: deps-demo build-release
	@cd $(BUILD)/release && cpack -G TXZ
	@ls -l $(BUILD)/release/*.tar.xz

# With the prefix and the folders that Debian wants.
deb: deps-demo+package
	@mkdir -p $(BUILD)
	@cmake --preset release -B $(BUILD)/deb -DCMAKE_INSTALL_PREFIX=/usr -DRUNNEL_DEB=ON \
	    -DRUNNEL_BUILD_EXAMPLES=OFF -DRUNNEL_BUILD_BENCH=OFF >$(BUILD)/deb.log 2>&1 || \
	    { cat $(BUILD)/deb.log; exit 1; }
	@cmake --build $(BUILD)/deb -j $(JOBS)
	@rm -f $(BUILD)/deb/*.deb
	@cd $(BUILD)/deb && cpack -G DEB
	@tools/check-debs $(BUILD)/deb
	@ls -l $(BUILD)/deb/*.deb

asan tsan msan: %: deps-test+sanitizers check-%

SECONDS ?= 60
TARGETS ?= .

fuzz: deps-test+sanitizers build-fuzz
	@tools/run-fuzz $(SECONDS) $(JOBS) '$(TARGETS)'

coverage: deps-test+coverage check-coverage
	@gcovr --root . --filter src/ --filter compiler/ --filter cli/ \
	    --gcov-ignore-parse-errors \
	    --html-details $(BUILD)/coverage/report.html $(BUILD)/coverage
	@echo "Line by line: $(BUILD)/coverage/report.html"

scorecard: deps-test build-dev
	@tools/scorecard.py $(if $(filter short,$(SCORE)),--short) $(CARD)

format: deps-format
	@files=$$(git diff --name-only --diff-filter=d HEAD -- '*.c' '*.h'); \
	    test -z "$$files" || clang-format -i $$files

clean:
	@rm -rf build
