# Everything that people and CI call. `make help` lists the targets.
GO ?= go
export CGO_ENABLED = 1

.DEFAULT_GOAL := build
.PHONY: help build plugins test check

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' $(MAKEFILE_LIST)

plugins: ## compile the built-in writers and the program that runs writers

build: plugins ## build bin/ubunye
	$(GO) build -o bin/ubunye ./cmd/ubunye

test: plugins ## run every test, with the race detector and in random order
	$(GO) test -race -shuffle=on ./...

check: plugins ## formatting, vet and the rules that need no test run
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
