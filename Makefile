# Run make without a target for a list of targets.

GO ?= go
BENCH ?= .
FUZZTIME ?= 10s
SOAK ?= 1h
TORTURE ?= 1h
SEED ?= 0
MEASURED ?=

# The packages whose tables are in the lab, internal/testkit/lab. Each has a test TestSoak.
LAB = ./set ./cache ./index ./kv

# Flags of every go test. The run of several stages adds its own.
TESTFLAGS ?= -vet=off
TEST = $(GO) test $(TESTFLAGS) -count=1 -timeout $(TIMEOUT)

# What is dear is smaller in CI than in make nightly.
SHORT = $(if $(TESTS_NIGHTLY),,-short)

# For a hang, which go test reports with all stacks; a machine that is not busy stays far below.
TIMEOUT = 6m

# go test with marks and mutants in place.
OVERLAY = $(GO) run github.com/farhash/farhash/internal/testkit/overlay
MARKED = $(OVERLAY) $(TESTFLAGS) -count=1 -timeout $(TIMEOUT)

# Runs targets as stages: each runs, whatever fails, and a table at the end says what did.
STAGES = $(GO) run ./internal/testkit/stages

# What make test runs, and what CI runs.
QUICK = test-plain
CI = $(QUICK) test-race test-mutants lint cross test-mpi test-lab test-clib spec-quick docs-check test-ucx figures-check

# What runs in the night besides: everything at full length, and what is random for a while.
NIGHTLY = $(filter-out test-race spec-quick,$(CI)) test-race-all spec nightly-soak nightly-torture nightly-fuzz

# The mutants of packages that differ from SINCE are tested: by default the commit at which make
# nightly has passed last.
SINCE ?= $(shell cat .ci/nightly 2>/dev/null)
since = $(if $(TESTS_NIGHTLY),,$(addprefix -since ,$(SINCE)))

# A checkout that git refuses to read, say of another user, builds as well.
VCS = $(shell git status >/dev/null 2>&1 || echo -buildvcs=false)

include bind/c/clib.mk

# One target after the other: the tests measure out the machine.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help build build-eval run setup test ci nightly \
	nightly-soak nightly-torture nightly-fuzz test-race-all \
	test-plain test-module test-eval test-lmdb test-race test-lab test-lab-tables test-lab-papers \
	test-mutants test-mutants-module test-mutants-eval test-mpi test-openmpi test-mpich test-ucx test-rdma \
	soak torture cross spec spec-quick spec-promela spec-check \
	lint lint-format lint-vet lint-tags lint-static lint-eval lint-lengths docs-check figures-check bench fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' \
		Makefile bind/c/clib.mk

build: ## build bin/farhash
	$(GO) build $(VCS) -o bin/farhash ./cmd/farhash

build-eval: ## build bin/farhash-eval, which repeats the experiments of the papers
	$(GO) -C eval build $(VCS) -o $(CURDIR)/bin/farhash-eval ./cmd/farhash-eval

run: build ## explore a net of 12 philosophers with two ranks
	bin/farhash explore examples/philosophers-12.pnml -n 2

setup: ## install what the tests need and the machine lacks
	scripts/setup

test: setup ## install what the tests need and run them once: five minutes
	$(STAGES) $(QUICK)

# Some stages build in copies of the tree. With -trimpath what is compiled for one tree serves all.
ci nightly: export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

ci: setup ## run what a change has to pass: 30 minutes
	$(STAGES) -beside 2 $(CI)

# It notes the commit, from which CI counts what differs.
nightly: export TESTS_NIGHTLY = 1
nightly: export TIMEOUT = 30m
nightly: setup ## run everything at full length, and random tests for a while: 90 minutes
	$(STAGES) -limit 2h $(NIGHTLY)
	git rev-parse HEAD >.ci/nightly

nightly-soak:
	$(MAKE) soak SOAK=1m

nightly-torture:
	$(MAKE) torture TORTURE=5m

nightly-fuzz:
	$(MAKE) fuzz

# A command of go test each, as make ends a recipe at the first line that fails. Not from the cache:
# the tests depend on the MPIs that are installed.
test-plain: test-module test-eval test-lmdb ## run the tests of both modules once
test-module:
	$(TEST) ./...

test-eval:
	cd eval && $(TEST) ./...

test-lmdb:
	@if pkg-config --exists lmdb 2>/dev/null; then cd eval && \
		$(TEST) -tags lmdb -run Shared ./cmd/farhash-eval; \
	else echo "tests of LMDB skipped: pkg-config knows no lmdb (liblmdb-dev)"; fi

# Packages whose goroutines share memory.
RACE = ./set ./cache ./kv ./index ./statespace/explore ./statespace/symbolic ./statespace/petri/diagram ./internal/core ./internal/system/launch ./rma/...

test-race: TIMEOUT = 12m
test-race: ## run the race detector over packages whose goroutines share memory
	CGO_ENABLED=1 $(MARKED) -race -short $(RACE)

# Commands and measurements start other processes, which the detector does not see; models are
# searched by one goroutine.
test-race-all: TIMEOUT = 30m
test-race-all:
	CGO_ENABLED=1 $(MARKED) -race $$($(GO) list ./... | \
		grep -vE '/(cmd|bind|examples/check|internal/(limit|testkit/(stages|torture|named)))(/|$$)')

test-lab: test-lab-tables test-lab-papers ## run the tables under random schedules
test-lab-tables:
	$(MARKED) -tags invariants -run 'Lab|KillMover' $(LAB) ./statespace/symbolic

test-lab-papers:
	cd eval && $(MARKED) -tags invariants -run Lab ./ne/nessie ./md/mpidht

test-mutants: test-mutants-module test-mutants-eval ## see that wrong versions of what differs from SINCE are noticed
test-mutants-module:
	$(OVERLAY) -mutants $(since) ./...

test-mutants-eval:
	cd eval && $(OVERLAY) -mutants $(since) ./...

# With UCX ranks that are processes on two hosts are killed, in place of simulated ones.
soak: ## run random schedules and kills for SOAK (1h); ^C ends it and reports
	@mkdir -p bin
	@packages="$(LAB) ./internal/testkit/named"; tags=invariants; \
	if pkg-config --exists ucx 2>/dev/null; then export CGO_ENABLED=1; \
		packages="$$packages ./rma/ucx"; tags="invariants ucx"; fi; \
	for package in $$packages; do \
		$(GO) test -c -tags "$$tags" -o bin/soak.test $$package && \
		(cd $$package && exec "$(CURDIR)/bin/soak.test" -test.run '^TestSoak$$' \
			-test.timeout 0 -soak $(SOAK)) || exit 1; done

# What it builds depends on the libraries that are here. Without SEED it is a new one.
torture: ## run random, wrong and killed commands for TORTURE (1h); SEED repeats a run; ^C ends it
	@mkdir -p bin && $(GO) test -c -o bin/torture.test ./internal/testkit/torture && \
		cd internal/testkit/torture && exec "$(CURDIR)/bin/torture.test" -test.run '^TestTorture$$' \
			-test.timeout 0 -soak $(TORTURE) -seed $(SEED)

# The engine for each MPI that programs can be built with here.
test-mpi: test-openmpi test-mpich ## run what needs MPI, with each MPI that is installed
test-openmpi: MPI = openmpi
test-openmpi: MODULE = ompi-c
test-mpich: MPI = mpich
test-mpich: MODULE = mpich
test-openmpi test-mpich:
	@if pkg-config --exists $(MODULE) 2>/dev/null; then export CGO_ENABLED=1; failed=0; \
		set -x; $(TEST) $(SHORT) -tags 'mpi $(MPI)' . ./rma/mpi/... || failed=1; \
		$(TEST) $(SHORT) -tags 'mpi $(MPI)' -run MPI ./cmd/farhash/... || failed=1; exit $$failed; \
	else echo "tests of rma/mpi skipped for $(MPI): pkg-config knows no $(MODULE)"; fi

test-ucx: ## run what needs UCX, where it is installed
	@if pkg-config --exists ucx 2>/dev/null; then export CGO_ENABLED=1; failed=0; \
		set -x; $(TEST) $(SHORT) -tags ucx . ./rma/ucx || failed=1; \
		$(TEST) $(SHORT) -tags ucx -run UCX ./cmd/farhash/... || failed=1; \
		(cd eval && $(TEST) $(SHORT) -tags ucx ./net/...) || failed=1; exit $$failed; \
	else echo "tests of rma/ucx skipped: pkg-config knows no ucx (libucx-dev)"; fi

# TESTS names some of scripts/rdma/tests.
test-rdma: ## run UCX and MPI over verbs, in a guest with a card for RDMA made of software
	scripts/setup rdma && GO='$(GO)' scripts/rdma/run $(TESTS)

# Systems for which all is built; in CI go vet, which compiles the tests too, is for half of them.
SYSTEMS = linux-arm64 linux-386 darwin-arm64 windows-amd64
VETTED = $(if $(TESTS_NIGHTLY),$(SYSTEMS),linux-386 windows-amd64)
# Nobody runs what is built for them. In CI the compiler leaves out what takes it long.
plain = $(if $(TESTS_NIGHTLY),,-gcflags='all=-N -l -dwarf=false' -ldflags=-w)
.PHONY: $(SYSTEMS:%=cross-%)

cross: $(SYSTEMS:%=cross-%) ## build for linux/arm64, linux/386, darwin/arm64 and windows/amd64, and vet for some
cross-%: export CGO_ENABLED = 0
cross-%: export GOOS = $(word 1,$(subst -, ,$*))
cross-%: export GOARCH = $(word 2,$(subst -, ,$*))
$(SYSTEMS:%=cross-%): cross-%:
	$(GO) build $(VCS) $(plain) -o bin/cross/ ./cmd/farhash
	$(if $(filter $*,$(VETTED)),$(GO) vet $(plain) ./...,$(GO) build $(plain) $$($(GO) list -f $(library) ./...))
	$(if $(filter darwin%,$(filter $*,$(VETTED))),$(GO) -C eval vet $(plain) ./...)

# What is no command, which would be linked.
library = '{{if ne .Name "main"}}{{.ImportPath}}{{end}}'

spec: ## check the models of find-or-put and of the map with SPIN
	spec/run

spec-quick: spec-promela spec-check ## check smaller models with SPIN, where it is installed
# It depends on the models alone, so CI leaves it out as long as they are as in SINCE.
spec-promela:
	@if [ -n "$(SINCE)" ] && git diff --quiet $(SINCE) -- spec 2>/dev/null; then \
		echo "the models in spec are as in $(SINCE), for which make nightly has passed"; \
	else spec/run quick; fi

spec-check:
	$(TEST) ./examples/check/mapprotocol ./examples/check/mapmoves -run 'Spin|Larger' -spin

lint: lint-format lint-vet lint-tags lint-static lint-eval lint-lengths ## check gofmt, go vet, staticcheck and the lengths of functions and lines
lint-format:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi

lint-vet:
	$(GO) vet ./...

lint-tags:
	@failed=0; export CGO_ENABLED=1; vet() { \
		if pkg-config --exists $$1 2>/dev/null; then \
			echo "$(GO) vet -tags '$$2'"; $(GO) vet -tags "$$2" . ./rma/$$3/... ./cmd/farhash/... || failed=1; fi; }; \
	vet ompi-c 'mpi openmpi' mpi; vet mpich 'mpi mpich' mpi; vet ucx ucx ucx; \
	if pkg-config --exists ucx 2>/dev/null; then $(GO) -C eval vet -tags ucx ./net/... || failed=1; fi; \
	exit $$failed

lint-static:
	$(GO) tool staticcheck ./...

lint-eval:
	$(GO) -C eval vet ./...
	$(GO) -C eval tool staticcheck ./...

lint-lengths:
	scripts/lengths

docs-check: ## run the commands and programs of the documentation
	scripts/docs-check

bench: ## run the benchmarks, those that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

fuzz: ## run every fuzz test for FUZZTIME (10s)
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

# Panels of what depends on the machine are left out. MEASURED is a file made by --benchfmt. What
# takes more than 20 s of a processor is left out for FEW.
comma := ,
draw-long = $(if $(FEW),@:,$(draw))
draw = bin/farhash-eval $(2) -q --reproducible --panels '$(3)' --plot eval/docs/figures/$(1).svg >eval/docs/figures/$(1).txt
.PHONY: figures
figures: build-eval ## draw the plots of eval/docs/papers.md and write its tables, in five minutes; draw the file MEASURED
	@mkdir -p eval/docs/figures
	$(call draw-long,op-table1,op table1,trips)
	$(call draw,op-table1-simulated,op simulated-table1,.)
	$(call draw-long,op-clusters,op simulate --workload mixed$(comma)read$(comma)write,.)
	$(call draw,op-schemes,op schemes,.)
	$(call draw,lp-cost,lp cost,.)
	$(call draw-long,lp-table1,lp table1 --runs 1,requests|slots|simulated)
	$(call draw,lp-table2,lp table2 --runs 1,simulated)
	$(call draw-long,lp-figure6,lp figure6 --runs 1,simulated)
	$(call draw-long,lp-figure9,lp figure9 --runs 1,simulated)
	$(call draw,lp-figure10,lp figure10 --runs 1,simulated|predicts)
	$(call draw-long,lp-figure11,lp table3 --runs 1,requests|simulated)
	$(call draw,lp-hybrid,lp hybrid --runs 1,simulated)
	$(call draw,lp-two-sided,lp two-sided,.)
	$(call draw,lp-gather,lp gather,.)
	$(call draw,lp-reads,lp reads --runs 1,simulated)
	$(call draw,lp-figure12,lp figure12 --runs 1,simulated)
	$(call draw,lp-figure13,lp figure13,.)
	$(call draw-long,md-simulate,md simulate,.)
	$(call draw-long,md-poet,md poet,.)
	$(call draw-long,md-poet-same,md poet --same-% 60 --atomic-ns 400 --mode md-fine$(comma)md-coarse,.)
	$(call draw,ne-table1,ne table1,.)
	$(call draw,ne-simulate,ne simulate,.)
	$(call draw-long,ne-faults,ne faults,.)
	@echo go test ./cache -run TestHitRates -v >eval/docs/figures/md-hits.txt
	$(GO) test ./cache -count=1 -run '^TestHitRates' -v | sed -n 's/.*_test.go:[0-9]*: //p' >>eval/docs/figures/md-hits.txt
	bin/farhash-eval page eval/docs/papers.md
	bin/farhash-eval page eval/docs/nessie.md
	@if [ -n "$(MEASURED)" ]; then name=$$(basename "$(MEASURED)"); \
		bin/farhash-eval show "$(MEASURED)" --plot "eval/docs/figures/$${name%.*}.svg" >/dev/null; fi

figures-check: FEW = $(if $(TESTS_NIGHTLY),,yes)
figures-check: figures ## see whether figures have changed
	@changed=$$(git status --porcelain eval/docs/figures eval/docs/papers.md eval/docs/nessie.md); [ -z "$$changed" ] || { \
		git diff --stat eval/docs; echo "$$changed: commit them, and say so in eval/docs/papers.md"; exit 1; }

clean: ## remove what make builds
	rm -rf bin
