# Everything that people and CI call. `make help` lists the targets.
GO ?= go
export CGO_ENABLED = 1

.DEFAULT_GOAL := build
.PHONY: rust needs servers help build plugins quickstart fixedwidth excel statement httpjson orders generate venv model test sim editor bench torture mutants check .FORCE

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST)

# What cannot be installed for a person is named, in one line, before anything is built.
needs:
	@for tool in $(GO) gcc g++; do command -v $$tool >/dev/null || { echo "make needs $$tool (Go 1.26 from https://go.dev/dl; Debian: apt-get install gcc g++)" >&2; exit 1; }; done

# What engine/writer embeds. The stamp changes with the toolchain; GOFLAGS are not for a module (-race),
# and without -buildvcs the digests change only when the code does.
EMBEDDED := engine/writer/embedded
FIXEDWIDTH := configs/fixedwidth/fixedwidth.wasm
EXAMPLES := excel statement httpjson
EXAMPLE_MODULES := $(foreach name,$(EXAMPLES),configs/plugins/$(name)/$(name).wasm)
PLUGIN_SOURCES := $(shell find engine/abi engine/deltalog internal engine/store/fsops engine/writer plugins -name '*.go' ! -name '*_test.go') go.mod go.sum Makefile
PLUGIN_BUILD := GOFLAGS= CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags='-s -w'
MODULE_BUILD := GOOS=wasip1 GOARCH=wasm $(PLUGIN_BUILD) -buildmode=c-shared
TOOLCHAIN = $(shell $(GO) env GOVERSION GOOS GOARCH)

plugins: $(EMBEDDED)/plugins.json $(FIXEDWIDTH) $(EXAMPLE_MODULES) ## compile the built-in writers and the program that runs writers

.build/toolchain: needs .FORCE
	@mkdir -p .build; echo '$(TOOLCHAIN)' | cmp -s - $@ || echo '$(TOOLCHAIN)' > $@

$(EMBEDDED)/plugins.json: $(PLUGIN_SOURCES) .build/toolchain
	$(PLUGIN_BUILD) -o .build/child ./engine/writer/child
	$(MODULE_BUILD) -o .build/builtin.wasm ./plugins/builtin
	$(MODULE_BUILD) -o .build/tables.wasm ./plugins/builtin/tables
	@rm -f $(EMBEDDED)/*.zst $(EMBEDDED)/*.wasm
	GOFLAGS= CGO_ENABLED=0 $(GO) run ./engine/writer/internal/pack -child .build/child -to $(EMBEDDED) .build/builtin.wasm .build/tables.wasm

# An example of a plugin that is not built in.
$(FIXEDWIDTH): $(PLUGIN_SOURCES) $(wildcard configs/fixedwidth/writer/*.go) .build/toolchain
	$(MODULE_BUILD) -o $@ ./configs/fixedwidth/writer

define example
configs/plugins/$(1)/$(1).wasm: $$(PLUGIN_SOURCES) $$(wildcard configs/plugins/$(1)/writer/*.go) .build/toolchain
	$$(MODULE_BUILD) -o $$@ ./configs/plugins/$(1)/writer
endef
$(foreach name,$(EXAMPLES),$(eval $(call example,$(name))))

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PROGRAM := $(GO) build -trimpath -ldflags='-s -w -X main.version=$(VERSION)'

build: plugins ## build bin/ubunye
	$(PROGRAM) -o bin/ubunye ./cmd/ubunye

quickstart: build ## run a real pipeline: once, again (refused), and as a rerun
	@scripts/quickstart.sh

fixedwidth: build ## build a plugin that is not built in and run a pipeline with it
	@scripts/fixedwidth.sh

excel: build ## write an Excel workbook by a plugin that is not built in
	@scripts/plugins.sh excel

statement: build ## write a bank statement by a plugin that is not built in
	@scripts/plugins.sh statement

httpjson: build ## deliver rows to a host by a plugin that is not built in
	@scripts/plugins.sh httpjson

orders: build ## run a pipeline with bad rows, two outputs and a task that reads another one's
	@scripts/orders.sh

# The end-to-end tests need the program with fault injection, and readers that are not ours.
bin/ubunye-fault: plugins .build/hostile .build/broken.wasm .FORCE
	$(PROGRAM) -tags fault -o $@ ./cmd/ubunye

# Writers with a mistake each, which the tests of writers must find.
.build/broken.wasm: $(PLUGIN_SOURCES)
	$(MODULE_BUILD) -o $@ ./plugins/hostile/broken

# Modules that do whatever a module can do to the engine.
.build/hostile: $(wildcard plugins/hostile/*.go) $(wildcard plugins/hostile/dump/*.go) $(wildcard plugins/hostile/numbered/*.go) $(wildcard plugins/sdk/*.go) $(wildcard engine/abi/*.go)
	CGO_ENABLED=0 $(GO) run ./plugins/hostile/dump $@
	$(MODULE_BUILD) -o $@/numbered.wasm ./plugins/hostile/numbered
	@touch $@

venv: .venv/made ## install the foreign readers that tests check with
.venv/made: e2e/requirements.txt
	@python3 -m venv --help >/dev/null 2>&1 || { echo "make test needs python3 with its venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }
	python3 -m venv --clear .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -r e2e/requirements.txt
	@touch $@

# Spark reads and writes tables of ours too. It needs Java 17 and Maven; UBUNYE_SPARK=off leaves its checks out.
.venv-spark/made: e2e/spark-requirements.txt e2e/spark-pom.xml
	@for tool in java mvn; do command -v $$tool >/dev/null || { echo "the checks with Spark need $$tool (Debian: apt-get install openjdk-17-jre-headless maven); UBUNYE_SPARK=off leaves them out" >&2; exit 1; }; done
	python3 -m venv --clear .venv-spark
	.venv-spark/bin/python -m pip install --quiet --disable-pip-version-check -r e2e/spark-requirements.txt
	mvn --quiet --batch-mode --file e2e/spark-pom.xml dependency:copy-dependencies -DincludeGroupIds=io.delta,io.unitycatalog -DoutputDirectory=$(CURDIR)/.venv-spark/jars
	@touch $@

ifneq ($(UBUNYE_SPARK),off)
test: .venv-spark/made
endif

generate: ## write the schemas and pages that follow from the declarations in the source
	$(GO) run ./engine/config/gen schema > .build/schema && mv .build/schema schemas/pipeline.schema.json
	$(GO) run ./engine/config/gen reference > .build/reference && mv .build/reference docs/reference.md
	$(GO) build -o .build/schemas ./schemas/gen
	for file in $$(.build/schemas list); do .build/schemas $$file > .build/generated && mv .build/generated $$file || exit 1; done

model: ## check the models of the ledger, and that each of their faults is found
	@scripts/model.sh

servers: ## install the servers of databases that tests start, where that can be done without asking
	@scripts/servers.sh

rust: ## install Rust for WebAssembly, of Debian 12 (as root)
	@[ -d /usr/lib/rustlib/wasm32-wasi ] && [ -x /usr/bin/cargo ] || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "make test needs Rust for WebAssembly (Debian: apt-get install cargo libstd-rust-dev-wasm32 lld)" >&2; exit 1; }; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends cargo rustc libstd-rust-dev-wasm32 lld >/dev/null; }
	cd plugins/sdk-rust && PATH=/usr/bin:$$PATH CARGO_TARGET_DIR=../../.build/sdk-rust cargo test --quiet --offline

test: plugins bin/ubunye-fault venv servers rust model ## run every test, with the race detector and in random order
	$(GO) test -race -shuffle=on -count=1 -timeout=40m ./...
	$(GO) test -shuffle=on -count=1 -run StoppedAtEveryOperation ./engine/ledger

sim: ## play ten thousand seeds of the deterministic simulation of the ledger
	$(GO) test -count=1 -timeout=20m ./engine/ledger/sim -run '^TestSim$$' -seeds=10000 -v

editor: ## check the schema of the pipeline file as editors use it, by yaml-language-server (needs npm)
	npm install --silent --no-audit --no-fund --prefix .build/editor yaml-language-server@1.25.0
	node scripts/editor.mjs .build/editor

bench: build bin/ubunye-fault venv ## measure against bare DuckDB and delta-rs, and write docs/bench.md
	$(GO) build -trimpath -ldflags='-s -w' -o .build/peer ./bench/peer
	$(GO) run ./bench

torture: bin/ubunye-fault venv ## kill, pause and race whole runs thousands of times, and write docs/torture.md
	$(GO) run ./torture -page docs/torture.md $(TORTURE)

mutants: plugins ## break the source by one edit at a time: a test must find each
	$(GO) run ./mutants

check: plugins mutants ## formatting, vet, mutants and the rules of the source
	@test -z "$$(gofmt -l *.go bench cmd configs engine mutants plugins schemas e2e torture)" || { echo "gofmt would change:"; gofmt -l *.go bench cmd configs engine mutants plugins schemas e2e torture; exit 1; }
	@$(GO) run ./engine/config/gen schema | cmp - schemas/pipeline.schema.json || { echo "run make generate" >&2; exit 1; }
	@$(GO) run ./engine/config/gen reference | cmp - docs/reference.md || { echo "run make generate" >&2; exit 1; }
	@$(GO) build -o .build/schemas ./schemas/gen
	@for file in $$(.build/schemas list); do .build/schemas $$file | cmp - $$file || { echo "run make generate" >&2; exit 1; }; done
	$(GO) vet ./...
	$(GO) vet -tags fault ./engine/store/fsops ./cmd/ubunye
	GOOS=darwin CGO_ENABLED=0 $(GO) vet ./engine/ledger ./engine/runstate ./engine/store/...
	GOOS=windows CGO_ENABLED=0 $(GO) vet ./engine/ledger ./engine/runstate ./engine/store/...
	GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) vet ./engine/abi ./plugins/... ./configs/...
	GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 $(GO) build ./engine/deltalog/...
