# vtscope. The two commands of a newcomer are `make run` and `make test`; `make check` is what CI adds.
#
#   make help                    print this list
#   make run                     build everything, start vtserve with the demo shop
#   make test                    install what the tests need, run all tests of all modules
#   make test PKGS=./dump/...    the tests of some packages of the main module
#   make test RUN=TestName       some tests
#   make test SHARD=2/4          every fourth package, from the second on
#   make check                   formats, vet, lints, races, tags, fallbacks, other systems (check-NAME: one of them)
#   make conformance             count the behaviours of threads that are tested, and pass
#   make attacks                 run the tests that attack, and write docs/attacks.md; as root for all of them
#   make stress                  the tests of behaviours and of schedulers, many times under the race detector
#   make no-async-preempt        the runtime's tests where Go preempts only at calls, also on one processor
#   make bench                   all benchmarks, each beside its peer
#   make bench-check             one line per budget: figure, limit, ok or over
#   make compare                 the same works in Java, where a JDK of version 21 or newer is installed
#   make ui                      rebuild the page's bundle
#   make ui-dev AGENT=HOST:PORT  the page as its sources are, over a running vtserve; it loads again when they change
#   make ui-record               the same, and write what they say to each other to FILE
#   make ui-replay               the page over what was recorded in FILE, without a process
#   make skips                   list the tests that may be skipped, and why
#   make nightly                 what takes too long for CI
#   make api                     write docs/api.txt; fail if a stable name of the last release is gone, and untold
#   make release                 build the archives of a release twice, compare, and leave them in release
#   make backends                of that the tests with servers of others: collector, VictoriaMetrics, Jaeger
#   make clean                   remove what was built

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := build

GO ?= go
PKGS ?= ./...
RUN ?=
SHARD ?=

RUNTIME := ./runtime/...
# Durable threads stand on all of it, and know nothing of what the builds and settings below change: make test and the race detector are enough.
VARIED := $$($(GO) list $(RUNTIME) | grep -v /durable)
TIMEOUT := 10m
# Many tests wait most of their time: one package more than there are processors.
gotest := $(GO) test -timeout $(TIMEOUT) -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Folders with a go.mod, the main module's first. Modules without packages (internal/tools) have nothing to test.
modules := $(sort $(patsubst %/,%,$(dir $(shell find . -name go.mod -not -path '*/node_modules/*' -not -path '*/testdata/*'))))
nightly_modules := $(addprefix ./fixtures/backends/,collector victoriametrics jaeger)
nested := $(filter-out . ./internal/tools $(nightly_modules) $(addsuffix /%,$(nightly_modules)),$(modules))

.PHONY: help build run test check conformance attacks stress stress-stalled no-async-preempt bench bench-check compare ui ui-dev ui-record ui-replay skips nightly backends api release clean

help:
	@sed -n '/^#   make/s/^#   //p' Makefile

# --- build and run ---

programs := vtserve vtdump vtdelve vtstream shop storm
from_vtserve := ./cmd/vtserve
from_vtdump := ./cmd/vtdump
from_shop := ./fixtures/shop
from_storm := ./fixtures/storm
from_vtdelve := ./cmd/vtdelve
module_vtdelve := dump/delve
from_vtstream := ./cmd/vtstream
module_vtstream := runtime/durable/jetstream

build: $(programs:%=bin/%)

# Go knows better than make what is up to date.
.PHONY: $(programs:%=bin/%)
$(programs:%=bin/%): bin/%:
	@$(GO) build -C $(or $(module_$*),.) -o $(CURDIR)/$@ $(from_$*)

run: build
	@echo 'the commands are in bin; in another terminal: export PATH="$(CURDIR)/bin:$$PATH"'
	@exec bin/vtserve --demo

# The last release is the newest tag; without one there is nothing to break.
api:
	@$(GO) generate ./internal/apidoc
	@tag=$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true); \
	if [ -n "$$tag" ]; then \
		old=$$(mktemp); trap 'rm -f "$$old"' EXIT; git show "$$tag:docs/api.txt" >"$$old"; \
		$(GO) run ./internal/apidoc -breaks "$$old" docs/api.txt CHANGELOG.md; \
	else \
		echo "no release so far: nothing to compare docs/api.txt with"; \
	fi

release:
	@$(GO) run ./internal/release -twice

# --- test ---

.PHONY: test-needs test-programs test-main test-nested
test: test-needs test-programs test-main test-nested

test-needs:
	@.ci/install node=nodejs chromium=chromium dot=graphviz prometheus=prometheus redis-server=redis-server pg_ctlcluster=postgresql

# Programs that tests run are built once, and outside of the tests' time limits (internal/childtest).
test-programs:
	@$(GO) test -timeout 0 -count=1 -run EveryProgramIsBuilt ./internal/childtest

test-main:
	@$(gotest) -count=1 $(if $(RUN),-run '$(RUN)') $$($(GO) list $(PKGS) | $(shard))

# The nested modules go with the whole tree, and with its first shard. That of the page takes seven minutes on a quiet machine, and twenty-four on a very busy one.
test-nested:
ifeq ($(PKGS),./...)
ifneq ($(filter 1/%,$(or $(SHARD),1/1)),)
	@for m in $(nested); do \
		(cd $$m && $(GO) test -timeout 60m -count=1 $(if $(RUN),-run '$(RUN)') ./...) || exit; \
	done
endif
endif

shard = awk -v shard='$(or $(SHARD),1/1)' 'BEGIN { split(shard, s, "/") } (NR - 1) % s[2] == s[1] - 1'

# --- check ---

checks := fmt vet lint generate ui skips conformance race invariants chan-coro no-linkname one-processor recorder-off no-cgo durable darwin windows arm64
check: $(checks:%=check-%)
	@echo "check: $(words $(checks)) of $(words $(checks)) passed"

.PHONY: $(checks:%=check-%)
$(checks:%=check-%): check-%: say-%
.PHONY: $(checks:%=say-%)
$(checks:%=say-%): say-%:
	@echo "check: $*"

check-fmt:
	@bad=$$(gofmt -l $$(find . -name '*.go' -not -path '*/node_modules/*')); \
	[ -z "$$bad" ] || { echo "not formatted:" $$bad; exit 1; }

check-vet:
	@for m in . $(nested); do (cd $$m && $(GO) vet ./...) || exit; done

# The linter is a module of its own (internal/tools), so that users of the runtime do not see its needs.
build/staticcheck: internal/tools/go.mod internal/tools/go.sum
	@$(GO) build -C internal/tools -o $(CURDIR)/$@ honnef.co/go/tools/cmd/staticcheck

check-lint: build/staticcheck
	@for m in . $(nested); do (cd $$m && $(CURDIR)/build/staticcheck ./...) || exit; done

# Generated files must be as their generators make them: generating changes nothing.
check-generate:
	@before=$$(git status --porcelain; git diff); $(GO) generate ./...; after=$$(git status --porcelain; git diff); \
	[ "$$before" = "$$after" ] || { echo "go generate ./... changed:"; git status --short; exit 1; }

# One run shows two things where neither touches what the other is about. Races that break an invariant are
# seen as what they break, too; package net makes other system calls without cgo, and with the recorder off
# nothing is recorded of them; the tag no-linkname changes how flight names inlined calls, and processors change
# who executes when.
check-race check-invariants: runtime-race-invariants
check-recorder-off check-no-cgo: runtime-recorder-off-no-cgo
check-no-linkname check-one-processor: runtime-no-linkname-one-processor

check-chan-coro:
	@$(gotest) -tags vtscope_chan $(VARIED)

# Simulations execute one goroutine at a time, and have nothing for the race detector; some are left for what surrounds them.
.PHONY: runtime-race-invariants runtime-recorder-off-no-cgo runtime-no-linkname-one-processor
runtime-race-invariants:
	@$(gotest) -race -tags invariants -skip 'SeedRepeatsItsSimulation|SimulationsFind' $(RUNTIME)

runtime-recorder-off-no-cgo:
	@CGO_ENABLED=0 VTSCOPE=off $(gotest) -count=1 $(VARIED)

runtime-no-linkname-one-processor:
	@GOMAXPROCS=1 $(gotest) -count=1 -tags vtscope_nolinkname $(VARIED)

check-no-cgo:
	@CGO_ENABLED=0 $(GO) build ./...

# A thousand simulations of processes that die (half a minute of a processor), two hundred of keepers that share a store (as long), and what bodies of durable threads must not do.
check-durable: build/durablevet
	@$(gotest) -count=1 ./runtime/durable -run SimulatedProcesses -vt.schedules=$(SIMULATIONS) & \
	$(gotest) -count=1 ./runtime/durable -run SimulatedKeepers -vt.schedules=$(SHARED_SIMULATIONS) && wait $$! || { wait; exit 1; }
	@VTSCOPE_HIBERNATED=100000 $(gotest) -count=1 ./runtime/durable -run 'Hibernated|Million'
	@$(GO) vet -vettool=$(CURDIR)/build/durablevet ./fixtures/... ./runtime/durable

.PHONY: build/durablevet
build/durablevet:
	@$(GO) build -C cmd/durablevet -o $(CURDIR)/$@ .

SIMULATIONS ?= 1000
SHARED_SIMULATIONS ?= 200

check-darwin: export GOOS = darwin
check-windows: export GOOS = windows
check-arm64: export GOARCH = arm64
check-darwin check-windows check-arm64:
	@$(GO) build ./... && $(GO) vet ./...

# The bundle needs Go alone. The type checker is an npm package, and nothing else needs npm.
check-ui:
	@$(GO) run -C webui/build . -check
	@if command -v npm >/dev/null; then \
		cd webui && npm ci --silent --no-audit --no-fund && npm run --silent check; \
	else \
		echo "no npm here: the page's types were not checked"; \
	fi

check-skips:
	@! grep -rnE '\.(SkipNow\(|Skip\(\))' --include='*_test.go' . || { echo "a skip without a reason"; exit 1; }

check-conformance: conformance

# --- the rest ---

conformance:
	@$(GO) run ./internal/conformance

attacks:
	@$(GO) run ./internal/attacks -page docs/attacks.md

# Ten processes instead of one: the race detector keeps some memory of each goroutine that was, and would need tens of gigabytes.
stress:
	@for i in $$(seq 10); do \
		$(GO) run ./internal/conformance -race -count 10 -timeout 30m && $(contract) ./runtime/sched/... ./fixtures/... || exit; \
		(cd fixtures/executors && $(contract) ./...) || exit; \
	done
	@for i in $$(seq 4); do \
		GOMAXPROCS=1 $(GO) run ./internal/conformance -race -count 5 -timeout 30m || exit; \
		GOMAXPROCS=1 $(contract) ./runtime/sched/... ./fixtures/... || exit; \
	done
	@$(MAKE) stress-stalled

# OS threads are stopped at random places: where a record was written and its event was not, say.
stress-stalled:
	@$(GO) build -o build/stall ./internal/stall
	@$(GO) test -exec $(CURDIR)/build/stall -count $(STALLED) -timeout 60m $(stalled)

# Where Go preempts only at calls, a wait of the runtime that spins would stop the program. The time limit of package testing needs a processor, too: that of go
# test, a minute later, ends a process that stands still.
no-async-preempt: export GODEBUG = asyncpreemptoff=1
no-async-preempt:
	@$(GO) test -timeout 30m -count=1 $(RUNTIME)
	@GOMAXPROCS=1 $(GO) test -timeout 30m -count=1 $(RUNTIME)

STALLED ?= 10
stalled := ./runtime/sched/... ./runtime/vthread/... ./runtime/vsync ./runtime/structured ./runtime/durable ./recording

# What every scheduler must pass: runtime/sched/schedtest.
contract = $(GO) test -race -count 5 -timeout 30m -run 'Keeps?TheContract$$'

bench:
	@$(GO) test -run '^$$' -bench . -timeout 30m ./bench/
	@VTSCOPE_PACE=$(PACE) $(GO) test -C e2e -timeout 10m -count=1 -v -run ThePaceOf .

bench-check:
	@.ci/install pg_ctlcluster=postgresql
	@$(GO) run ./internal/benchcheck

compare:
	@$(GO) run ./internal/compare

ui:
	@$(GO) run -C webui/build .

# A vtserve of make run, and a recorded minute of its shop.
AGENT ?= 127.0.0.1:7070
FILE ?= webui/testdata/shop.traffic

ui-dev:
	@$(GO) run -C webui/build . -agent $(AGENT)

ui-record:
	@$(GO) run -C webui/build . -agent $(AGENT) -record $(abspath $(FILE))

ui-replay:
	@$(GO) run -C webui/build . -replay $(abspath $(FILE))

skips:
	@grep -rnE '\.Skipf?\(' --include='*_test.go' . | sed -E 's/^\.\///; s/:[[:space:]]+/: /'

# How long each decoder is fuzzed; that of flight files meets what processes leave that were killed. How long each synchronizer is under stress. How often each death is died. How long a storm over workers and servers lasts. How long a
# hundred pages stay.
GO_RELEASES ?= 1.19.13 1.20.14 1.21.13 1.22.12 1.23.12 1.24.13 1.25.9
FUZZ ?= 60s
STRESS ?= 10m
FUZZ_READER ?= 10m
DEATHS ?= 100
LOOKS ?= 100
SOAK ?= 10m
STORM ?= 5m
PAGE_SOAK ?= 1h

# How long each view of the page is measured over a program of a million events a second.
PACE ?= 10s

nightly: test check
	@for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			case $$f in FuzzReader*) time=$(FUZZ_READER);; *) time=$(FUZZ);; esac; \
			$(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $$time -fuzzminimizetime 1s $$p || exit; \
		done; \
	done
	@VTSCOPE_DEATHS=$(DEATHS) $(gotest) -count=1 -v ./internal/survive | grep -v '/[0-9]* ('
	@VTSCOPE_DEATHS=$(DEATHS) $(gotest) -count=1 -run Death ./runtime/durable
	@VTSCOPE_STORM=$(STORM) $(GO) test -C runtime/durable/jetstream -timeout 30m -count=1 -v -run Storm ./fleet
	@$(MAKE) check-durable SIMULATIONS=10000 SHARED_SIMULATIONS=1000
	@VTSCOPE_LOOKS=$(LOOKS) $(gotest) -count=1 -run 'FullSpeed|NeverMixed' ./dump/memory
	@VTSCOPE_GO_RELEASES="$(GO_RELEASES)" $(gotest) -count=1 -run EachRelease ./dump/memory
	@VTSCOPE_GAP_THREADS=200000 $(gotest) -count=1 -run AWalkIsNoPause -v ./dump/memory
	@VTSCOPE_THREADS=4000000 $(gotest) -count=1 -run MemoryDoesNotGrow -v ./cmd/vtdump
	@VTSCOPE_SOAK=$(SOAK) $(GO) test -timeout 30m -count=1 -v -run ClientsSoak ./bench
	@VTSCOPE_SOAK=$(PAGE_SOAK) $(GO) test -C e2e -timeout 2h -count=1 -v -run OpenPage .
	@VTSCOPE_HOSTILE=10m $(GO) test -timeout 30m -count=1 -v -run NoCommandPanics ./cmd/vtdump
	@$(GO) run ./internal/attacks
	@VTSCOPE_NIGHTLY=1 $(GO) test -timeout 30m -count=1 ./runtime/vnet
	@VTSCOPE_STRESS=$(STRESS) $(GO) test -timeout 5h -count=1 -v -run UnderStress ./runtime/vsync
	@VTSCOPE_SCHEDULES=1000 $(GO) test -count=1 -v -run 'Simulated|AConditionWhoseUnlockWaits' ./runtime/vsync
	@$(GO) test -race -count=5 -timeout 60m $(RUNTIME)
	@$(MAKE) no-async-preempt
	@VTSCOPE_DELVE_SUITE=1 VTSCOPE_SESSIONS=100 $(GO) test -C dump/delve -timeout 40m -count=1 -v -run 'DelvesOwn|RandomSessions' ./adapter
	@$(MAKE) backends
	@$(MAKE) stress bench bench-check

# Servers that are built from their sources: minutes, and gigabytes. A test is skipped, and says why, where a module cannot be had.
backends:
	@for m in $(nightly_modules); do (cd $$m && $(GO) vet . && nice -n 10 $(GO) test -count=1 -timeout 40m -v .) || exit; done

clean:
	@rm -rf bin build release
