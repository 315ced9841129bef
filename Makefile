# omnijail: every command a person or CI types. `make` lists them.
SHELL := /bin/bash
BIN := bin
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/omnijail/omnijail/api.BuildVersion=$(VERSION)
GOBUILD := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -tags netgo,osusergo
TOOL := go tool -modfile=tools/go.mod
# The toolchain that go.mod names, whatever the machine has: its standard library
# holds the mends that `make lint` looks for.
export GOTOOLCHAIN := auto
DESTDIR ?=
COUNT ?= 1
TESTFLAGS ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/' | expand -t 16

.PHONY: deps
deps: ## install what the build, the demo and the tests need (Debian, Ubuntu)
	@packaging/deps

.PHONY: build
build: ## static binaries in bin/, the manual in bin/man/
	@mkdir -p $(BIN)/man
	$(GOBUILD) -o $(BIN)/ ./cmd/...
	@go run -tags man ./cmd/omnijailctl man $(BIN)/man

.PHONY: demo
demo: ## the main job on this machine: gh api user in a jail, against an embedded upstream
	@packaging/deps --for demo
	@$(MAKE) --no-print-directory build
	@$(GOBUILD) -o $(BIN)/demo ./examples/demo && $(BIN)/demo

.PHONY: test
test: build ## every test, unit and end to end (root; real bwrap, namespaces, TLS, git, gh)
	@go test -race -count=$(COUNT) $(TESTFLAGS) ./...

.PHONY: soak
soak: ## the races, a thousand times or two instead of some dozens; a gigabyte through a jail (root; a quarter of an hour)
	@OMNIJAIL_SOAK=1000 go test -count=1 -timeout 40m -run 'TestS08|TestS09|TestS22|TestS26_SwappedLinks|AtAnyInstant|TestLargeTransfers' ./internal/e2e

.PHONY: race
race: ## the end-to-end tests with the daemon under the race detector (root; ten minutes)
	@OMNIJAIL_E2E_RACE=1 go test -count=1 -timeout 30m $(TESTFLAGS) ./internal/e2e/

.PHONY: test-vm
test-vm: ## the main job in a VM: Debian's kernel, cgroup v2, AppArmor (root; apt and a minute)
	@tools/test-vm

.PHONY: test-gvisor
test-gvisor: ## a jail's network under gVisor, by interception: ports (root; builds runsc the first time)
	@tools/test-gvisor

.PHONY: without
without: ## takes the rules of the threat model out, one at a time, and sees a test of each fail (half an hour)
	go run -C tools ./without

.PHONY: lint
lint: ## gofmt, vet, staticcheck, known vulnerabilities, words
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'gofmt: run gofmt -w on the above' >&2; exit 1; }
	go vet ./...
	go vet -tags man ./cmd/omnijailctl
	GOOS=darwin CGO_ENABLED=0 go vet $(PORTABLE)
	$(TOOL) staticcheck ./...
	go run -C tools ./without -check
	tools/vuln

# What must build where there is no Linux kernel: the client and the pure packages.
PORTABLE := ./api/ ./creds/ ./cmd/omnijailctl/ ./internal/egress/ ./internal/jail/ ./internal/policy/ ./internal/audit/ ./internal/cleanup/

.PHONY: cross
cross: ## linux amd64 and arm64 static, darwin for what is portable
	for a in amd64 arm64; do GOOS=linux GOARCH=$$a $(GOBUILD) -o dist/linux-$$a/ ./cmd/... || exit 1; done
	for a in amd64 arm64; do GOOS=darwin GOARCH=$$a $(GOBUILD) -o dist/darwin-$$a/ ./cmd/omnijailctl || exit 1; done

.PHONY: bench
bench: build ## start-up and proxy figures, pairwise in one run
	go test -run '^$$' -bench 'Request|Exec' -benchtime 500x ./internal/e2e/
	go test -run '^$$' -bench 'Protected|StartsAtOnce|SandboxRuntime' -benchtime 50x ./internal/e2e/
	go test -run '^$$' -bench . -benchtime 500x ./internal/caller/ ./runtime/bwrap/ ./internal/egressd/cage/
	go test -run '^$$' -bench . -benchtime 100x ./internal/mountwatch/ ./internal/cgroup/
	go test -run '^$$' -bench . ./creds/ ./mitm/ ./internal/egress/
	@$(MAKE) --no-print-directory bench-egress

.PHONY: bench-egress
bench-egress: ## the proxy alone and a jail's requests against other proxies, in turns; names those that are missing
	go test -run '^$$' -bench '^BenchmarkProxies$$' -benchtime 5x ./internal/e2e/
	go test -run '^$$' -bench '^Benchmark(Egress|NeighbourUnderFlood)$$' -benchtime 10x -timeout 30m ./internal/e2e/

.PHONY: fuzz-smoke
fuzz-smoke: ## every fuzz target for 20 seconds
	@tools/fuzz 20s

.PHONY: generate
generate: ## the seccomp filters and the generated docs again (needs libseccomp-dev)
	go generate ./...

.PHONY: deb
deb: cross ## dist/omnijail_VERSION_ARCH.deb
	@tools/deb $(VERSION)

.PHONY: install
install: build ## onto this machine, below DESTDIR
	packaging/install $(BIN) '$(DESTDIR)'

.PHONY: uninstall
uninstall: ## remove what install put there; /etc/omnijail and the journal stay
	packaging/install --remove '$(DESTDIR)'

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN) dist
