# SPDX-License-Identifier: GPL-2.0
#
# The front door: `make help` says what there is. The work is done by the scripts, and by Kbuild.
# Kbuild itself reads the file of that name and never this one.

.DEFAULT_GOAL := $(if $(KDIR),modules,help)
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# What the scripts start ends with them, and they end with make.
export IB_SMI_LEASH := yes
# What a script tells a user to run as root.
export IB_SMI_GOAL := $(or $(firstword $(MAKECMDGOALS)),demo)

S := $(CURDIR)/scripts
$(if $(word 2,$(CURDIR)),$(error the path of this checkout has a blank in it, with which Kbuild cannot build: move it))

.PHONY: help
help: ## this list
	@echo 'make TARGET, as root where a guest or the sysroot is needed:'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(CURDIR)/Makefile | expand -t 16
	@echo 'make KDIR=TREE builds the modules for the kernel that was prepared or built in TREE, into build/RELEASE.'
	@echo 'make test PYTEST="-k name" passes arguments to pytest.'

.PHONY: demo
demo: ## a fabric in a guest, and what the module shows of it
	@$(S)/demo

.PHONY: test
test: ## set up what is missing, build, and run the tests
	@$(S)/test $(PYTEST)

.PHONY: test-all
test-all: ## the same with the tests that take long for what they add
	@IB_SMI_LONG=1 $(S)/test $(PYTEST)

.PHONY: test-builtin
test-builtin: ## the module on a kernel with ib_core built in, which is built first
	@$(S)/build builtin
	@$(S)/test -k test_builtin $(PYTEST)

.PHONY: test-kernels
test-kernels: ## what depends on the kernel, on each of Debian's kernels in scripts/pins
	@$(S)/test-kernels

.PHONY: test-large
test-large: ## fabrics of hundreds of nodes, in a guest of 8 GB
	@IB_SMI_LARGE=1 $(S)/test -k 'test_fabric or test_topologies' $(PYTEST)

# The tests whose kernel makes no difference, or which need Debian's, are left out.
DEBUG_TESTS := debug plant smi origin counters send_queue fabric faults sma traffic opa opensm beside memory stress fuzz
empty :=
space := $(empty) $(empty)
# What has pytest run these files alone.
only = -k '$(subst $(space), or ,$(1:%=test_%))'

.PHONY: test-debug
test-debug: ## the tests in guests on a kernel with KASAN, lockdep and more, which is built first
	@$(S)/build debug
	@IB_SMI_LONG=1 IB_SMI_KERNEL=debug $(S)/test $(call only,$(DEBUG_TESTS)) $(PYTEST)

KCSAN_TESTS := plant smi origin counters send_queue fabric

.PHONY: test-kcsan
test-kcsan: ## the same on a kernel with KCSAN, which looks for data races
	@$(S)/build kcsan
	@IB_SMI_LONG=1 IB_SMI_KERNEL=kcsan $(S)/test $(call only,$(KCSAN_TESTS)) $(PYTEST)

.PHONY: stress
stress: ## load and unload under traffic, CYCLES times (1000), with WITH=links,nodes,reversals besides
	@$(S)/build $(or $(KERNEL),stock)
	@$(S)/guest --kernel $(or $(KERNEL),stock) --timeout 86400 -- \
		/src/scripts/stress --cycles $(or $(CYCLES),1000) --with '$(WITH)'

.PHONY: fuzz
fuzz: ## COUNT hostile SMPs (1000000) that follow from SEED (1), in a guest with KERNEL (stock)
	@COUNT='$(COUNT)' SEED='$(SEED)' KERNEL='$(KERNEL)' $(S)/fuzz $(PYTEST)

.PHONY: fuzz-host
fuzz-host: ## libFuzzer on what runs on the host, FUZZ_SECONDS (30) for each target
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' $(S)/fuzz-host

.PHONY: bench
bench: ## instructions of a hop, an answer, a request and more, into Documentation/benchmarks
	@$(S)/bench-smi

.PHONY: bench-steps
bench-steps: ## what CALLS (4) of the module are made of, instruction by instruction, with EVENT on
	@$(S)/bench-steps '$(or $(CALLS),4)' '$(EVENT)'

.PHONY: bench-fabric
bench-fabric: ## what nodes of the fabric take, and whether packets get lost
	@$(S)/bench-fabric

.PHONY: bench-ibsim
bench-ibsim: ## how long OpenSM takes on the fabric and on ibsim
	@$(S)/bench-ibsim

.PHONY: check
check: ## formatting, lints and other checks of the sources
	@$(S)/check

.PHONY: format
format: ## format the Rust sources as the kernel does
	@$(S)/format

.PHONY: all
all: modules dr-judge ## everything that is built

.PHONY: modules
ifdef KDIR
# Without a sysroot, with the tools of this system.
modules:
	@release=$$($(S)/kdir '$(KDIR)') && mkdir -p "$(CURDIR)/build/$$release" && \
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)' MO="$(CURDIR)/build/$$release" modules && \
	echo "modules for Linux $$release: build/$$release"
else
modules: ## build the modules for the stock kernel (or for KDIR)
	@$(S)/build stock
endif

# To sign modules with, and what the kernel is told to trust.
KEY := signing/key.pem
CERT := signing/cert.der

.PHONY: key
key: ## make a key to sign modules with: KEY, and its certificate CERT
	@$(S)/key '$(KEY)' '$(CERT)'

.PHONY: sign
sign: ## sign the modules for the stock kernel (or for KDIR) with KEY and CERT
	@$(S)/sign '$(KEY)' '$(CERT)' $(if $(KDIR),'$(KDIR)')

.PHONY: dr-judge
dr-judge: ## build the rules as a command, build/dr-judge
	@$(S)/build dr-judge

.PHONY: shell
shell: ## a shell in a guest with the modules (KERNEL=NAME for another kernel)
	@$(S)/build $(or $(KERNEL),stock)
	@$(S)/guest --kernel $(or $(KERNEL),stock) --timeout 86400 --shell

.PHONY: load
load: ## load the module into the running kernel
	@$(S)/load

.PHONY: unload
unload: ## unload it again
	@$(S)/unload

.PHONY: clean
clean: ## remove what was built, but no kernel and no sysroot
	rm -rf '$(CURDIR)/build' '$(CURDIR)/target'

.PHONY: distclean
distclean: clean ## remove the cache too: sysroot and kernels
	@$(S)/distclean
