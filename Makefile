# Everything that people and CI call. `make help` lists the targets.
GO ?= go
export CGO_ENABLED = 1

.DEFAULT_GOAL := build
.PHONY: help build plugins test check .FORCE

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST)

# What engine/writer embeds. The stamp changes with the toolchain; GOFLAGS are not for a module (-race),
# and without -buildvcs the digests change only when the code does.
EMBEDDED := engine/writer/embedded
PLUGIN_SOURCES := $(shell find engine/abi engine/store/fsops engine/writer plugins -name '*.go' ! -name '*_test.go') go.mod go.sum Makefile
PLUGIN_BUILD := GOFLAGS= CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags='-s -w'
TOOLCHAIN := $(shell $(GO) env GOVERSION GOOS GOARCH)

plugins: $(EMBEDDED)/plugins.json ## compile the built-in writers and the program that runs writers

.build/toolchain: .FORCE
	@mkdir -p .build; echo '$(TOOLCHAIN)' | cmp -s - $@ || echo '$(TOOLCHAIN)' > $@

$(EMBEDDED)/plugins.json: $(PLUGIN_SOURCES) .build/toolchain
	$(PLUGIN_BUILD) -o .build/child ./engine/writer/child
	GOOS=wasip1 GOARCH=wasm $(PLUGIN_BUILD) -buildmode=c-shared -o .build/builtin.wasm ./plugins/builtin
	GOFLAGS= CGO_ENABLED=0 $(GO) run ./engine/writer/internal/pack -child .build/child -to $(EMBEDDED) .build/builtin.wasm

build: plugins ## build bin/ubunye
	$(GO) build -o bin/ubunye ./cmd/ubunye

test: plugins ## run every test, with the race detector and in random order
	$(GO) test -race -shuffle=on ./...

check: plugins ## formatting, vet and the rules that need no test run
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
