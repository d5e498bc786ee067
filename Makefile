# What is done by hand, in one place. Plain `make` brings generated files and the private library up to date.
LIB := $(CURDIR)/.lib
export R_LIBS := $(LIB)$(if $(R_LIBS),:$(R_LIBS))
export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: all demo dev test test-rust test-r test-order doc generate install build check check-cran check-r-next check-arm lint lint-rust lint-r fuzz valgrind crosscheck crosscheck-values bench bench-random site cheatsheet clean help deps-build deps-test deps-cran deps-doc deps-lint
# The steps build on each other, and cargo and R CMD INSTALL use all cores by themselves.
.NOTPARALLEL:

# In this order: ops written by `generate` have help pages, and what `doc` exports is then installed.
all: generate doc install

help:
	@echo "make            generate, doc, install"
	@echo "make demo       install what is missing, build, run inst/examples/demo.R"
	@echo "make test       Rust tests, R tests, a short fuzz, vignettes; last line: N passed, N failed"
	@echo "make dev        a library that is built and rebuilt faster and runs slower, into .lib/; make install for the optimised one"
	@echo "make test-rust  Rust tests; FILTER=x: those of tests/x.rs, or whose names have x in them"
	@echo "make test-r     make dev, then R tests; FILE=x: those of the files whose names match x"
	@echo "make test-order each R test file alone, then all in random order twice in one process; SEED=n, LOAD=n busy processes beside it"
	@echo "make doc        NAMESPACE and man/ from the comments in R/"
	@echo "make generate   files that are written from the table of ops"
	@echo "make install    build and install into .lib/ (for your own library: R CMD INSTALL .)"
	@echo "make build      source tarball with vendored crates"
	@echo "make check      R CMD build and R CMD check in a temporary directory, with all tests"
	@echo "make check-cran    the same with --as-cran and the tests that CRAN runs"
	@echo "make check-r-next   Rust tests and R CMD check --as-cran in a newer Debian, without a network; as root. TESTS=x: only test files; SUITE=sid: another suite"
	@echo "make check-arm  Rust tests on 64-bit ARM, which an emulator runs, in a Debian of its own; as root. TESTS=\"OPTIONS\" of cargo test: only those"
	@echo "make lint       rustfmt, clippy and lintr have nothing to say"
	@echo "make crosscheck the same programs in anvil and XLA: 20,000, or PROGRAMS=300; makes a Python with jax"
	@echo "make crosscheck-values   tests/testdata/xla/, what XLA makes of every op on special values"
	@echo "make fuzz       random calls, files, objects and programs, and realistic ones: an hour, or SECONDS=n; a failure again: SEED=n ONLY=calls CASE=n"
	@echo "make valgrind   random programs under valgrind, 60 or PROGRAMS=n: no read or write outside of what is theirs"
	@echo "make bench      next to JAX, NumPy, PyTorch, base R: bench/RESULTS.md; QUICK=1 for 3 minutes and no file, SECOND=1 for a second machine's column there, TORCH=1 to get PyTorch"
	@echo "make bench-random  realistic programs that nobody wrote down, next to JAX: 300 new ones, or PROGRAMS=n SECONDS=n SEED=n; one again: SEED=n CASE=n"
	@echo "make site       the site, into docs/, without a network, every link checked; PARTS='home news': those of home, reference, articles, articles/NAME, news"
	@echo "make cheatsheet man/figures/cheatsheet.svg and .pdf, after running the code that is on it"
	@echo "make clean      remove everything that was built"

deps-build deps-test deps-cran deps-doc deps-lint:
	@sh tools/install-deps.sh $(@:deps-%=%)

demo: install
	Rscript inst/examples/demo.R

# The script sees to its dependencies itself, so that a failure there is counted too.
test:
	@sh tools/test.sh

# One folder for both: the engine as `dev` builds it is what the tests link with.
dev: deps-build
	@mkdir -p "$(LIB)"
	+@ANVIL_DEBUG=1 ANVIL_TARGET_DIR="$(CURDIR)/target" R CMD INSTALL --no-docs --no-test-load --library="$(LIB)" .

test-rust: deps-build
	cargo test --quiet -p anvil-core -p anvil-kernels \
	  $(if $(FILTER),$(if $(wildcard $(foreach end,.rs /main.rs,src/rust/core/tests/$(FILTER)$(end))),--test $(FILTER),-- $(FILTER)))

test-r: deps-test dev
	@Rscript -e 'testthat::test_local(".", filter = "$(FILE)", reporter = "check", load_package = "installed")'

test-order: deps-test install
	ANVIL_TEST_LOAD=$(or $(LOAD),0) Rscript tools/test-order.R $(SEED)

doc: deps-doc
	@sh tools/document.sh

generate: deps-build
	ANVIL_REGENERATE=1 cargo test --quiet -p anvil-core --test generated --test rules

install: deps-build
	@mkdir -p "$(LIB)"
	+R CMD INSTALL --library="$(LIB)" .

build: deps-test
	sh tools/build-package.sh .

# The second as CRAN does it: with its options, and the tests that it runs.
check: export NOT_CRAN := true
check-cran: OPTIONS := --as-cran
check-cran: export NOT_CRAN :=
check: deps-test
check-cran: deps-cran
check check-cran:
	dir=$$(mktemp -d) && sh tools/build-package.sh "$$dir" && cd "$$dir" && \
	R CMD check --no-manual $(OPTIONS) anvil_*.tar.gz && \
	! grep -E '^Status:.*(ERROR|WARNING)' anvil.Rcheck/00check.log && rm -Rf "$$dir"

check-r-next:
	@$(if $(SUITE),SUITE=$(SUITE)) sh tools/check-r-next.sh $(TESTS)

check-arm:
	@sh tools/check-arm.sh "$(TESTS)"

lint: lint-rust lint-r

# Other systems and processors, whose own code is read where rustup has their standard library.
TARGETS := aarch64-unknown-linux-gnu x86_64-pc-windows-gnu aarch64-apple-darwin

# Clippy's part also finds what is newer in the standard library than the oldest compiler that we build with.
lint-rust:
	@cargo fmt --check
	@cargo clippy --workspace --all-targets --quiet -- --deny warnings
	@for target in $(TARGETS); do \
	  if rustup target list --installed 2> /dev/null | grep -qx "$$target"; then \
	    cargo check --quiet -p anvil-core -p anvil --target "$$target" || exit 1; \
	  fi; \
	done

lint-r: deps-lint
	@Rscript tools/lint.R

crosscheck: deps-build
	@sh tools/crosscheck.sh $(PROGRAMS)

fuzz: install
	@Rscript tests/fuzz/run.R "seconds=$(SECONDS)" "seed=$(SEED)" "only=$(ONLY)" "case=$(CASE)" "cases=$(CASES)" "jobs=$(JOBS)"

valgrind: deps-build
	@sh tools/valgrind.sh $(PROGRAMS)

crosscheck-values: deps-build
	@sh tools/crosscheck.sh values

# The 3 minutes of the quick form count from here, with what there is to build.
bench: export ANVIL_BENCH_START := $(shell date +%s)
bench: install
	@sh tools/bench.sh $(if $(QUICK),quick,$(if $(SECOND),second))

# A Python with JAX where one can be made; without it the times are anvil's alone.
bench-random: install
	@test -n "$$ANVIL_PYTHON" || sh tools/python-env.sh 180 || true
	@Rscript bench/random.R "seed=$(SEED)" "programs=$(PROGRAMS)" "seconds=$(SECONDS)" "case=$(CASE)" "csv=$(CSV)"

site: install
	@sh tools/site.sh $(PARTS)

cheatsheet: install
	@sh tools/install-deps.sh site
	@Rscript --no-init-file tools/cheatsheet.R

clean:
	sh ./cleanup
	rm -Rf .lib .python docs target src/rust/target src/rust/vendor.tar.xz src/rust/Cargo.lock *.Rcheck anvil_*.tar.gz
