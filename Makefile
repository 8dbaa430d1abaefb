# The commands of Onceward. `make` alone lists them.
export GOTOOLCHAIN = go1.27.3

GOFUMPT     = go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# What `make run` and `make verify` use; all are plain variables: `make run LISTEN=127.0.0.1:7000`.
LISTEN ?= 127.0.0.1:6623
STORE  ?= sqlite:onceward.db
TIMES  ?= 20
LANES  ?= 6
SEEDS  ?= 2000
KILLS  ?= 1000
FUZZTIME ?= 1m

.PHONY: help build run test test-long test-race test-driver test-peers chaos fuzz verify verify-long simulate mutants peers bench depth fmt fmt-check vet lint tools clean

help:
	@echo 'make run        build, and serve on the embedded store (LISTEN=, STORE=)'
	@echo 'make test       everything, on SQLite and on a real PostgreSQL, with the race detector'
	@echo 'make test-long  the same at the sizes that docs/hazards.md prints'
	@echo 'make chaos      break PostgreSQL, its disk, clock and network, and kill servers for ten minutes (as root, for all of it)'
	@echo 'make fuzz       each fuzz target for a while (FUZZTIME=)'
	@echo 'make verify     kill and freeze servers at each point where they can die, and count (TIMES=, LANES=, STORE=)'
	@echo 'make simulate   the whole server in time of its own, days in a second, from so many seeds (SEEDS=, SEED= the first, FOR=)'
	@echo 'make verify-long  kill servers and workers at random under load (KILLS= on each store), then simulate, and count'
	@echo 'make mutants    take each guard out in turn, and see its test fail (ONLY=, minutes)'
	@echo 'make bench      the benchmarks'
	@echo 'make depth      what must not grow with depth, measured: half an hour, 15 GB of disk (DEPTH=)'
	@echo 'make peers      Onceward beside other queues on this machine, in turn (PEERS=)'
	@echo 'make fmt        format'
	@echo 'make lint       format check, vet, staticcheck'

build:
	@mkdir -p bin
	go build -trimpath -ldflags='-s -w' -o bin/onceward ./cmd/onceward

run: build
	@bin/onceward serve --listen $(LISTEN) --store $(STORE) --allow-private-networks --walkthrough

test: tools test-driver test-race test-peers

# SQLite's suite, and the simulation's seeds, once without the race detector and its tag: with it the tests open the file through another driver
# than the product does.
test-driver:
	go test -count=1 ./store/sqlite ./test/simulation

# The race detector sleeps a second at each program's end, and the tests run the program hundreds of times.
test-race:
	GORACE=atexit_sleep_ms=10 go test -race -timeout 40m ./...

# A module of its own: does the benchmark beside others run, and is docs/performance.md what its results say?
test-peers:
	cd bench/peers && go test ./...

test-long: tools
	ONCEWARD_TEST_LONG=1 go test -race -timeout 120m ./...

# What make test does small: a quarter of an hour. What a machine cannot do is skipped with a sentence that says what it takes.
chaos: tools
	ONCEWARD_TEST_LONG=1 go test -count=1 -v -run '^TestChaos' -timeout 60m ./test/faults | grep -v '^=== '

# Each fuzz target for a while, one after the other: FUZZTIME=10m.
fuzz:
	@for f in $$(grep -l '^func Fuzz' $$(git ls-files '*_test.go')); do \
	  for name in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$f); do \
	    echo "== $$(dirname $$f) $$name" && go test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) ./$$(dirname $$f) || exit 1; \
	  done; \
	done

# What the tests need from the machine, or the sentence that says what to install.
tools:
	@.ci/tools

# The servers that are killed at exact points have fail points, which the product has not.
verify: tools
	@mkdir -p bin
	go build -tags failpoints -o bin/onceward-verify ./cmd/onceward
	@bin/onceward-verify verify --times $(TIMES) --lanes $(LANES) --store $(if $(filter command line environment,$(origin STORE)),$(STORE),both)

# Kills at random, for as long as asked, then the simulation; it can be stopped and begun again. Each round is a line of bench/kills.jsonl, each run of seeds one of
# bench/simulation.jsonl, under the commit and a hash of the code that decides. docs/guarantees.md has the sums.
DECIDES = store worker queue ledger webhook idempotency api internal/batch
TRIED   = --commit $$(git rev-parse --short HEAD) \
  --code $$(git -C $(CURDIR) ls-tree -r HEAD $(DECIDES) | grep -v '_test.go\|storetest\|testdata' | git hash-object --stdin | cut -c1-12)
COMMITTED = git diff --quiet HEAD -- $(DECIDES) || { echo '$@: commit what you changed first: a line names the code by its commit'; exit 1; }
verify-long: build tools
	@$(COMMITTED)
	@bin/onceward verify --kills $(KILLS) --lanes $(if $(filter command line environment,$(origin LANES)),$(LANES),2) --store both --log bench/kills.jsonl $(TRIED)
	@$(MAKE) --no-print-directory simulate LOG=bench/simulation.jsonl

# docs/simulation.md. FOR=10m SEEDS=0 is as many as that allows; LOG= appends a line of what came of it.
simulate:
	@$(if $(LOG),$(COMMITTED))
	@mkdir -p bin
	go test -c -o bin/simulation ./test/simulation
	@cd test/simulation && ../../bin/simulation -test.run '^TestSeeds$$' -test.timeout 0 -seeds $(SEEDS) \
	  $(if $(SEED),-seed $(SEED)) $(if $(FOR),-for $(FOR)) $(if $(LOG),-log $(abspath $(LOG)) $(TRIED))

# The guards of the code and the test that shows each: docs/mutants.md. ONLY=id,id tries some.
mutants: tools
	go run ./test/mutants $(if $(ONLY),--only $(ONLY),)

# Beside other queues, in turn: a quarter of an hour. PEERS='-rounds 1 -peers onceward-sqlite,goqite' and the like.
peers: tools
	cd bench/peers && go run . $(PEERS)

# What must not grow. DEPTH='-rows 100000 backlog kept' and the like.
depth: tools
	go run ./bench/depth $(if $(DEPTH),$(DEPTH),backlog front kept held due endpoints fanout servers idle)

bench:
	go test -p 1 -run '^$$' -bench . -benchmem -timeout 60m ./...

fmt:
	$(GOFUMPT) -w $$(git ls-files -co --exclude-standard '*.go')

fmt-check:
	@out=$$($$(go env GOROOT)/bin/gofmt -l $$(git ls-files '*.go')) && out="$$out$$($(GOFUMPT) -l $$(git ls-files '*.go'))" && \
	  if [ -n "$$out" ]; then echo "not formatted (make fmt mends it):"; echo "$$out"; exit 1; fi

vet:
	go vet ./...
	cd bench/peers && go vet ./...

lint: fmt-check vet
	$(STATICCHECK) ./...

clean:
	rm -rf bin
