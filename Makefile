# What one does with this repository. All products go to bin/.

# The devnet's, for example: make devnet SLOTS=32 SPEED=24 FORK=electra ARGS="--blob-every 3"
SLOTS ?= 16
SLOT  ?=
SPEED ?=
FORK  ?=
ARGS  ?=

# How many scenarios run at a time, and where their run folders go.
AT_ONCE ?= 4
RUNS    ?= runs

# What the image of gavel is called.
IMAGE     ?= gavel:dev
LAB_IMAGE ?= gavel-lab:dev

# What conformance-image judges it by: clauses of all three interfaces, in slots of a second, so that it takes a minute.
IMAGE_CLAUSES ?= REL-GEN-01 REL-STA-* REL-REG-* REL-DUT-* REL-SUB-01 REL-HDR-* REL-PAY-0* REL-DAT-01 RPC-* STR-LIV-01 STR-HIS-01 STR-EVT-* STR-INF-*

# What conformance-forks judges: bids, payloads and what is submitted have the form of their fork.
FORK_CLAUSES ?= REL-HDR-01 REL-HDR-09 REL-PAY-01 REL-PAY-07 REL-PAY-11 REL-SUB-17

# The auctions of replay-demo.
DEMO := scenarios/replay/testdata/demo

# How long each fuzz target runs.
FUZZTIME ?= 60s

# Which benchmarks run.
BENCH ?= .

LINT_VERSION := $(shell sed -n 's|.*golangci/golangci-lint/v2 \(v[^ ]*\).*|\1|p' tools/go.mod)
XTOOLS_VERSION := $(shell sed -n 's|.*golang.org/x/tools \(v[^ ]*\).*|\1|p' tools/go.mod)
MBR_VERSION := $(shell sed -n 's|.*flashbots/mev-boost-relay \(v[^ ]*\).*|\1|p' tools/mevboostrelay/go.mod)
MEVBOOST_VERSION := $(shell sed -n 's|.*flashbots/mev-boost \(v[^ ]*\).*|\1|p' tools/mevboost/go.mod)

# How mev-boost is started between the suite and its relays. SLOT_SEC is how it is told of slots that are not mainnet's.
MEVBOOST := SLOT_SEC={slotSeconds} exec bin/mev-boost-$(MEVBOOST_VERSION) --addr {listen} --genesis-timestamp {genesisTime} \
	--genesis-fork-version {genesisForkVersion} --relay {relays} --relay-check --min-bid {minBidEth} --loglevel fatal

.DEFAULT_GOAL := help
.PHONY: help build lab mev-boost devnet scenarios contracts conformance conformance-forks conformance-gloas conformance-instances vectors replay-demo dataset lab-sql test-sql needs-sql conformance-image conformance-sidecar conformance-mev-boost-relay reports image image-lab prove test charts test-clients test-pages test-cluster faults fault-tests lint fmt bench fuzz docs install-needs needs needs-tests needs-faults clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/gavel and bin/gavel-lab
	go build -o bin/ ./cmd/...

# Made before whatever runs it, once also when several of these are made at a time.
lab:
	@go build -o bin/ ./cmd/gavel-lab

mev-boost: bin/mev-boost-$(MEVBOOST_VERSION) ## build the real mev-boost: bin/mev-boost-VERSION, for ARGS="--mev-boost PATH --speed 1"

bin/mev-boost-$(MEVBOOST_VERSION): tools/mevboost/go.mod tools/mevboost/go.sum
	go build -C tools/mevboost -o ../../$@ github.com/flashbots/mev-boost
	@touch $@

devnet: needs lab ## run a network in this process: SLOTS, SLOT, SPEED, FORK; ARGS for any other flag
	@bin/gavel-lab devnet --slots $(SLOTS) $(if $(SLOT),--slot $(SLOT)) $(if $(SPEED),--speed $(SPEED)) $(if $(FORK),--fork $(FORK)) $(ARGS)

scenarios: lab ## run every story of the library, each once more without what it is about: it must end otherwise
	@scripts/leftovers.sh bin/gavel-lab scenario run --all --variants --prove --again --at-once $(AT_ONCE) --dir $(RUNS) $(ARGS)

contracts: ## compile the devnet's contracts; needs Node.js, and npm for the compiler; ARGS=--check only compares
	scripts/contracts.sh $(ARGS)

# gavel-lab's commands start whole worlds, which take minutes with the race detector; what they run has it in the tests of its own packages.
test: needs-tests ## run all tests with the race detector; a folder, mount or process that is left behind fails
	scripts/leftovers.sh go test -race -timeout 30m $$(go list ./... | grep -v '/cmd/gavel-lab$$')
	scripts/leftovers.sh go test -timeout 30m ./cmd/gavel-lab
	go test ./rpc/method ./relay/api ./rpc/app -run 'Memory|OneBit' # whole bodies, and all sets of hints, for the same reason

# The stories wait for slots while the tests work. They end within ten minutes.
test-cluster: needs-tests lab ## several instances on one cluster: their tests, processes that are killed and stopped, and 200 slots in which something breaks every five
	@scripts/leftovers.sh bash -euo pipefail -c 'source scripts/steps.sh; \
		begin slots bin/gavel-lab scenario run scenarios/cluster/*.yaml --at-once 2 --dir $(RUNS) $(ARGS); \
		step tests go test -race ./relay/app ./relay/submit ./stream/app ./internal/journal -run "Instance|Cluster"; \
		step histories go test -race ./rpc/app -run Instance -history-rounds 3; \
		step processes go test -v ./cmd/gavel -run Cluster -cluster-rounds 2; \
		finish slots'

faults: fault-tests lab ## show what holds when processes are killed, disks are full or slow, and power is cut: tests, then stories
	@scripts/leftovers.sh bin/gavel-lab scenario run --faults --prove --again --at-once $(AT_ONCE) --dir $(RUNS) $(ARGS)

fault-tests: needs-faults ## the tests of faults alone; scenarios has their stories as well
	scripts/leftovers.sh scripts/faults.sh

conformance: lab ## judge our own relay, stream, RPC, sidecar and builder by the conformance suite: flags in ARGS, report in bin/conformance
	@bin/gavel-lab conformance run --devnet --out bin/conformance $(ARGS)

# Four worlds that wait for their slots at the same time: so the clauses of the fork take a fifth of what all others take.
conformance-gloas: lab ## judge the relay from gloas on, and over the fork
	@bash -euo pipefail -c 'source scripts/steps.sh; \
		begin fork bin/gavel-lab conformance run --devnet --fork fulu --fork-at gloas@3 --clause "GLO-FRK-*" --out bin/conformance-gloas-fork $(ARGS); \
		for part in 1 2; do begin part-$$part bin/gavel-lab conformance run --devnet --fork gloas --clause "GLO-*" --shard $$part/3 --out bin/conformance-gloas-$$part $(ARGS); done; \
		step part-3 bin/gavel-lab conformance run --devnet --fork gloas --clause "GLO-*" --shard 3/3 --out bin/conformance-gloas-3 $(ARGS); \
		finish part-1 part-2 fork'

conformance-forks: lab ## judge the relay by a handful of clauses in worlds of the older forks; conformance ARGS="--forks all" asks all of all
	@bin/gavel-lab conformance run --devnet --forks bellatrix,capella,deneb,electra --slot 1s $(foreach c,$(FORK_CLAUSES),--clause $(c)) --out bin/conformance-forks $(ARGS)

# Five minutes, so CI does not run it.
conformance-instances: lab ## judge two instances of each service, which share a journal, behind a balancer
	@bin/gavel-lab conformance run --devnet --instances 2 --retries 1 --iface relay --iface stream --iface rpc \
		--out bin/conformance-instances $(ARGS)

vectors: lab ## write the test vectors for implementations in any language to bin/vectors: docs/vectors.md; flags in ARGS
	@rm -rf bin/vectors
	@bin/gavel-lab conformance vectors --out bin/vectors $(ARGS)

# Some seconds.
lab-sql: needs-sql ## build bin/gavel-lab with DuckDB in it, for gavel-lab replay query and shell
	go build -tags duckdb -o bin/ ./cmd/gavel-lab

test-sql: needs-sql ## ask the questions of docs/replay.md
	go test -tags duckdb ./scenarios/query

replay-demo: lab ## from real auctions to figures: bin/replay-demo/figures/index.html
	@rm -rf bin/replay-demo
	@bin/gavel-lab replay import $(DEMO)/bloxroute-7613244.json.gz $(DEMO)/delivered-7613244.json --relay bloxroute --into bin/replay-demo/dataset
	@bin/gavel-lab replay import $(DEMO)/flashbots-7567001.json.gz --relay flashbots --into bin/replay-demo/dataset
	@bin/gavel-lab replay import $(DEMO)/mempool-sample.parquet --into bin/replay-demo/dataset
	@bin/gavel-lab replay run --dataset bin/replay-demo/dataset --what-if $(DEMO)/what-if.yaml --out bin/replay-demo/results
	@bin/gavel-lab replay figures --dataset bin/replay-demo/dataset --what-if $(DEMO)/what-if.yaml --out bin/replay-demo/figures
	@bin/gavel-lab replay export --dataset bin/replay-demo/dataset --format relayscan --out bin/replay-demo/export

# Some minutes for 1,000 slots; CI makes a few slots in its tests.
dataset: SLOTS = 1000
dataset: SEED ?= 1
dataset: lab ## make SLOTS slots of auctions with order flow from SEED, with a data dictionary: bin/dataset
	@rm -rf bin/dataset
	@bin/gavel-lab replay generate --seed $(SEED) --slots $(SLOTS) --into bin/dataset

conformance-image: lab ## judge the image's relay, stream and RPC in containers; without an engine the same services in one process
	@how=--again; if docker version >/dev/null 2>&1; then scripts/image.sh $(IMAGE); \
	else how=--in-process; echo 'SKIPPED: the image in containers: no engine answers; its services are judged in this process'; fi; \
	bin/gavel-lab conformance run --image $(IMAGE) $$how --slot 1s $(foreach c,$(IMAGE_CLAUSES),--clause '$(c)') --out bin/conformance-image $(ARGS)

image: ## build the container image IMAGE, from scratch; needs a Docker engine
	@scripts/image.sh $(IMAGE)

image-lab: ## build the image LAB_IMAGE with gavel-lab in it, for the CI of others; needs a Docker engine
	@scripts/image.sh $(LAB_IMAGE) lab

conformance-sidecar: lab mev-boost ## judge the real mev-boost by the conformance suite, with the findings in tools/mevboost/expected.yaml
	@bin/gavel-lab conformance run --sidecar '$(MEVBOOST)' --expect tools/mevboost/expected.yaml --out bin/conformance-sidecar $(ARGS)

bin/mev-boost-relay-$(MBR_VERSION): tools/mevboostrelay/main.go tools/mevboostrelay/go.mod tools/mevboostrelay/go.sum
	go build -C tools/mevboostrelay -o ../../$@ .
	@touch $@

# What the last runs of these targets wrote, by the name of its page. The relay's takes minutes, and is published when it was run.
REPORTS := gavel=bin/conformance/report.json mev-boost=bin/conformance-sidecar/report.json \
	$(patsubst %,mev-boost-relay=%,$(wildcard bin/conformance-mev-boost-relay/report.json))

reports: lab ## publish what conformance, conformance-sidecar and conformance-mev-boost-relay found, in docs/reports; ARGS=--check only compares
	@bin/gavel-lab conformance publish --dir docs/reports $(ARGS) $(REPORTS)

# Six minutes, and one more to build it, so CI does not run it.
conformance-mev-boost-relay: lab needs-tests bin/mev-boost-relay-$(MBR_VERSION) ## judge the real mev-boost-relay, with the findings in tools/mevboostrelay/expected.yaml
	@bin/gavel-lab conformance run --target tools/mevboostrelay/target.yaml --slots-per-epoch 16 --again \
		--expect tools/mevboostrelay/expected.yaml --out bin/conformance-mev-boost-relay $(ARGS)

prove: lab ## run the conformance suite against wrong targets, and show that it notices each
	@overlay=$$(bin/gavel-lab conformance overlay) && go build -overlay "$$overlay" -o bin/gavel-lab-mutants ./cmd/gavel-lab
	@bin/gavel-lab conformance prove --mutants-program bin/gavel-lab-mutants $(ARGS)

# A minute, since Helm and Kubernetes' types are built, so CI does not run it; go test ./deploy notices a chart that is not rendered.
charts: ## render the Helm chart, and check it against Kubernetes' types; ARGS=-update writes what it renders to
	go test -C tools/charts -count=1 . $(ARGS)

test-clients: ## run searchers' JavaScript clients against the bundle RPC and the stream; needs Node.js, and npm for their packages
	scripts/clients.sh

test-pages: ## have axe-core judge all pages in Chromium: of runs, website, operator, stream, figures, reports and the bench; needs Node.js, and npm for axe-core
	scripts/pages.sh

lint: bin/golangci-lint-$(LINT_VERSION) bin/deadcode-$(XTOOLS_VERSION) ## run the linters, and look for functions that no program reaches
	$< run ./...
	scripts/deadcode.sh bin/deadcode-$(XTOOLS_VERSION)

fmt: bin/golangci-lint-$(LINT_VERSION) ## format all Go files
	$< fmt ./...

# The name carries the version, so that a newer one is built and an old binary never judges.
bin/golangci-lint-$(LINT_VERSION): tools/go.mod tools/go.sum
	go build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

bin/deadcode-$(XTOOLS_VERSION): tools/go.mod tools/go.sum
	go build -C tools -o ../$@ golang.org/x/tools/cmd/deadcode
	@touch $@

bench: ## run the benchmarks that match BENCH (all) in PACKAGES (all), and set promised figures beside measured ones
	scripts/bench.sh '$(BENCH)' $(PACKAGES)

fuzz: needs ## run every fuzz target of the module for FUZZTIME
	scripts/fuzz.sh $(FUZZTIME)

docs: ## write the generated documents anew
	go test -count=1 ./relay/api ./relay/check ./relay/app ./rpc/jsonrpc ./rpc/app ./stream/api ./stream/app ./internal/observe ./internal/arch ./scenarios ./scenarios/dataset ./scenarios/backtest ./conformance/clauses ./cmd/... -run 'Docs$$' -update
	go test -count=1 ./deploy -run 'Docs$$' -update # boards and alerts follow from docs/metrics.md

install-needs: ## install what is missing on Debian, or say what is
	scripts/needs.sh tests

# What is there already is only looked for, which takes no time.
needs:
	@scripts/needs.sh build >/dev/null

needs-tests:
	@scripts/needs.sh tests >/dev/null

needs-sql:
	@scripts/needs.sh sql >/dev/null

needs-faults:
	@scripts/needs.sh faults >/dev/null

clean: ## remove bin/
	rm -rf bin
