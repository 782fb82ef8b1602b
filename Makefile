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

# go test with marks and mutants in place.
OVERLAY = $(GO) run github.com/farhash/farhash/internal/testkit/overlay

# A checkout that git refuses to read, say of another user, builds as well.
VCS = $(shell git status >/dev/null 2>&1 || echo -buildvcs=false)

include clib/clib.mk

# One target after the other: the tests measure out the machine.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help build build-eval run setup test test-all test-plain test-race test-lab test-mutants test-mpi test-ucx test-rdma test-beside soak torture cross spec spec-quick lint docs-check figures-check bench fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' \
		Makefile clib/clib.mk

build: ## build bin/farhash
	$(GO) build $(VCS) -o bin/farhash ./cmd/farhash

build-eval: ## build bin/farhash-eval, which repeats the experiments of the papers
	$(GO) -C eval build $(VCS) -o $(CURDIR)/bin/farhash-eval ./cmd/farhash-eval

run: build ## explore a net of 12 philosophers with two ranks
	bin/farhash explore models/philosophers-12.pnml -n 2

setup: ## install what the tests need and the machine lacks
	scripts/setup

test: setup test-plain ## install what the tests need and run them once: one to four minutes

test-all: test-race test-lab test-mutants test-mpi test-ucx test-clib test-beside ## run what CI tests in addition: about ten minutes

# Not from the cache: the tests depend on the MPIs that are installed. The time limits are for
# a hang, which go test reports with all stacks; a busy machine stays far below them.
test-plain:
	$(GO) test -count=1 -timeout 30m ./...
	$(GO) -C eval test -count=1 -timeout 30m ./...
	@if pkg-config --exists lmdb 2>/dev/null; then \
		$(GO) -C eval test -count=1 -tags lmdb -run Shared ./cmd/farhash-eval; fi

# What shares memory between goroutines. Commands and measurements start other processes, which
# the detector does not see; models are searched by one goroutine.
test-race:
	CGO_ENABLED=1 $(OVERLAY) -count=1 -race -timeout 30m $$($(GO) list ./... | \
		grep -vE '/(cmd|clib|python|examples/check|internal/(limit|testkit/(torture|named)))(/|$$)')

test-lab: ## run the tables under random schedules, right versions and wrong ones
	$(OVERLAY) -count=1 -timeout 30m -tags invariants -run Lab $(LAB) ./symbolic
	cd eval && $(OVERLAY) -count=1 -timeout 30m -tags invariants -run Lab ./ne/nessie

test-mutants: ## run the tests of each wrong version, which they must notice
	$(OVERLAY) -mutants ./...
	cd eval && $(OVERLAY) -mutants ./...

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
test-mpi: ## run what needs MPI, with each MPI that is installed
	@for mpi in openmpi:ompi-c mpich:mpich; do \
		if pkg-config --exists $${mpi#*:} 2>/dev/null; then \
			tags="mpi $${mpi%:*}"; export CGO_ENABLED=1; \
			echo "$(GO) test -tags '$$tags' . ./rma/mpi/..."; \
			$(GO) vet -tags "$$tags" . ./rma/mpi/... ./cmd/farhash && \
			$(GO) test -count=1 -timeout 30m -tags "$$tags" . ./rma/mpi/... && \
			$(GO) test -count=1 -timeout 30m -tags "$$tags" -run MPI ./cmd/farhash || exit 1; \
		else echo "tests of rma/mpi skipped for $${mpi%:*}: pkg-config knows no $${mpi#*:}"; \
		fi; done

test-ucx: ## run what needs UCX, where it is installed
	@if pkg-config --exists ucx 2>/dev/null; then export CGO_ENABLED=1; \
		echo "$(GO) test -tags ucx . ./rma/ucx"; \
		$(GO) vet -tags ucx . ./rma/ucx ./cmd/farhash && \
		$(GO) test -count=1 -timeout 30m -tags ucx . ./rma/ucx && \
		$(GO) -C eval vet -tags ucx ./... && \
		$(GO) -C eval test -count=1 -timeout 30m -tags ucx ./net/... && \
		$(GO) test -count=1 -timeout 30m -tags ucx -run UCX ./cmd/farhash || exit 1; \
	else echo "tests of rma/ucx skipped: pkg-config knows no ucx (libucx-dev)"; fi

# TESTS names some of scripts/rdma/tests.
test-rdma: ## run UCX and MPI over verbs, in a guest with a card for RDMA made of software
	scripts/setup rdma && GO='$(GO)' scripts/rdma/run $(TESTS)

# At the same time, as neither measures anything: a search by SPIN takes one core.
test-beside:
	@$(MAKE) --no-print-directory cross & cross=$$!; $(MAKE) --no-print-directory spec-quick; \
	spec=$$?; wait $$cross && exit $$spec

cross: ## build and vet for other systems: linux/arm64, linux/386, darwin/arm64 and windows/amd64
	@set -e; export CGO_ENABLED=0; for system in linux/arm64 linux/386 darwin/arm64 windows/amd64; do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; echo "build and vet for $$system"; \
		$(GO) build $(VCS) ./... && $(GO) vet ./...; done
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) -C eval vet ./...

spec: ## check the models of find-or-put and of the map with SPIN
	spec/run

spec-quick: # a part of it; nothing where there is no SPIN
	spec/run quick
	$(GO) test -count=1 -timeout 10m ./examples/check/findorput ./examples/check/mapprotocol \
		./examples/check/setgrowth -run 'Spin|Larger' -spin

lint: ## check gofmt, go vet, staticcheck and the lengths of functions and lines
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) -C eval vet ./...
	$(GO) -C eval tool staticcheck ./...
	scripts/lengths

docs-check: ## run the commands and programs of the documentation
	scripts/docs-check

bench: ## run the benchmarks, those that match BENCH
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

fuzz: ## run every fuzz test for FUZZTIME (10s)
	GO='$(GO)' scripts/fuzz $(FUZZTIME)

# Panels of what depends on the machine are left out. MEASURED is a file made by --benchfmt.
draw = bin/farhash-eval $(2) -q --reproducible --panels '$(3)' --plot docs/figures/$(1).svg >docs/figures/$(1).txt
.PHONY: figures
figures: build-eval ## draw the plots of docs/papers.md and print its tables, in three minutes; draw the file MEASURED
	@mkdir -p docs/figures
	$(call draw,op-table1,op table1,trips)
	$(call draw,op-table1-simulated,op simulated-table1,.)
	$(call draw,op-clusters,op simulate,.)
	$(call draw,lp-cost,lp cost,.)
	$(call draw,lp-table1,lp table1 --runs 1,requests|slots|simulated)
	$(call draw,lp-table2,lp table2 --runs 1,simulated)
	$(call draw,lp-figure6,lp figure6 --runs 1,simulated)
	$(call draw,lp-figure9,lp figure9 --runs 1,simulated)
	$(call draw,lp-figure10,lp figure10 --runs 1,simulated|predicts)
	$(call draw,lp-figure11,lp table3 --runs 1,requests|simulated)
	$(call draw,lp-hybrid,lp hybrid --runs 1,simulated)
	$(call draw,lp-two-sided,lp two-sided,.)
	$(call draw,lp-reads,lp reads --runs 1,simulated)
	$(call draw,lp-figure12,lp figure12 --runs 1,simulated)
	$(call draw,lp-figure13,lp figure13,.)
	$(call draw,md-simulate,md simulate,.)
	$(call draw,ne-table1,ne table1,.)
	$(call draw,ne-simulate,ne simulate,.)
	$(GO) test ./cache -count=1 -run '^TestHitRates$$' -v | sed -n 's/.*_test.go:[0-9]*: //p' >docs/figures/md-hits.txt
	@if [ -n "$(MEASURED)" ]; then name=$$(basename "$(MEASURED)"); \
		bin/farhash-eval show "$(MEASURED)" --plot "docs/figures/$${name%.*}.svg" >/dev/null; fi

figures-check: figures ## see whether figures have changed
	@changed=$$(git status --porcelain docs/figures); [ -z "$$changed" ] || { \
		git diff --stat docs/figures; echo "$$changed: commit them, and say so in docs/papers.md"; exit 1; }

clean: ## remove what make builds
	rm -rf bin
