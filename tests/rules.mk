# Tests: every tests/unit/test_*.c is a program; dqcheck is one program of all tests/check/*.c; the
# groups are run and counted by tests/run.
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst %.c,$(B)/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
CHECK_OBJECTS := $(patsubst %.c,$(B)/%.o,$(wildcard tests/check/*.c))
MODEL_OBJECTS := $(patsubst %.c,$(B)/%.o,$(filter-out %/make_networks.c,$(wildcard tests/models/*.c))) \
  $(B)/tests/unit/wire.o
NETWORK_OBJECT := $(B)/tests/models/make_networks.o
TEST_PROGRAMS = $(UNIT_TESTS) $(B)/dqcheck $(TILE_CHECK) $(B)/make_networks $(B)/models/.made $(FUZZERS) $(SATURATING)

# cmocka's header compares with casts that -Wconversion dislikes.
$(B)/tests/%.o: OWN_FLAGS += -Wno-conversion -Wno-sign-conversion

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(UNIT_SHARED) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lcmocka

# A locale with a decimal comma in which i and I are no pair and bytes above 127 are letters, for the tests of the public
# interface. Where localedef or its sources (Debian: locales) are missing it is not made, and the tests say so.
$(B)/locale/.made:
	@mkdir -p $(@D)
	@localedef -i tr_TR -f ISO-8859-9 $(@D)/tr_TR.ISO-8859-9 2>/dev/null || echo 'no localedef, or no source of tr_TR'
	@touch $@
$(filter $(B)/tests/unit/test_api%,$(UNIT_TESTS)): | $(B)/locale/.made

# Its own functions are put in front of those that give memory.
MEMORY_FUNCTIONS := malloc calloc realloc dq_budget_alloc dq_budget_realloc dq_arena_alloc dq_arena_array dq_arena_copy \
  dq_arena_strdup dq_arena_strndup dq_arena_printf
$(B)/tests/unit/test_memory_failures: LDFLAGS += $(MEMORY_FUNCTIONS:%=-Wl,--wrap=%)
# It counts the calls of umask.
$(B)/tests/unit/test_base: LDFLAGS += -Wl,--wrap=umask

# It needs the kernels alone and no library but OpenBLAS, which may be left out, so that it is built for
# another machine with a compiler.
CHECKED := lib/text/% lib/base/% lib/kernels/% $(if $(OPENBLAS),lib/blas/%)
$(B)/dqcheck: $(CHECK_OBJECTS) $(filter $(CHECKED:%=$(B)/%),$(OBJECTS))
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(if $(OPENBLAS),-ldl) -lm -pthread

# The same with the tile registers of AMX in memory.
TILE_SOURCES := $(filter-out $(FOREIGN),$(wildcard lib/kernels/*/*_amx.c))
TILE_CHECK := $(if $(filter amx,$(SETS_$(MACHINE))),$(B)/tiles/dqcheck)
$(B)/tiles/%.o: OWN_FLAGS += -include tests/tiles/tiles.h
$(B)/tiles/%.o: lib/kernels/%.c tests/tiles/tiles.h
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(OWN_FLAGS) $(suffix_flags) $(SANITIZE) -MMD -MP -MT $@ -c -o $@ $<
$(B)/tiles/dqcheck: $(CHECK_OBJECTS) $(TILE_SOURCES:lib/kernels/%.c=$(B)/tiles/%.o) $(B)/tests/tiles/detect.o \
  $(filter-out %_amx.o,$(filter $(CHECKED:%=$(B)/%),$(OBJECTS)))
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -Wl,--wrap=dq_cpu_detect -o $@ $^ $(if $(OPENBLAS),-ldl) -lm -pthread

# Small models, good and bad, that the tests of commands and the fuzzers read.
$(B)/make_models: $(MODEL_OBJECTS) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
$(B)/make_networks: $(NETWORK_OBJECT) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

$(B)/models/.made: $(B)/make_models
	mkdir -p $(@D) && $(B)/make_models $(@D) && touch $@

# Commands whose convolutions clip pairs of products (tests/saturating).
SATURATING := $(addprefix $(B)/saturating/,dq dq-run dq-report)
$(B)/saturating/dq-%: $(B)/saturating/dq
	@ln -sf dq $@
$(B)/saturating/dq: $(PROGRAM:%.c=$(B)/%.o) $(B)/tests/saturating/clip.o $(B)/libdq.a
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -Wl,--wrap=dq_conv_pairs_safe,--wrap=dq_sums16_prepare \
	  -o $@ $^ $(LIBRARIES)

.PHONY: test check check-long snapshots tests-built test-aarch64 test-audit test-machines test-emitted test-large test-networks test-packages test-saturating test-flips test-kills test-overfit test-steps test-faults unit asan tsan
## test: install what is missing, build everything, run all tests
test: deps
	$(MAKE) -j$(shell nproc) tests-built
	tests/run $(B)
tests-built: all $(TEST_PROGRAMS)

## check: the tests for a change in hand, less than a minute and a half on 2 cores: unit, kernels, tables, the quick files of the commands
check: all $(UNIT_TESTS) $(B)/dqcheck $(B)/support $(B)/models/.made
	tests/run $(B) --quick

## snapshots: tests/snapshots anew, as the commands print now; read the difference before it is committed
snapshots: all $(B)/models/.made
	tests/snapshots/run $(B) --write

## unit: the unit tests alone
unit: $(UNIT_TESTS)
	tests/run $(B) unit

## test-aarch64: every kernel on AArch64 under qemu, with many cases; the tests run a few
test-aarch64:
	@sh cmd/deps.sh aarch64
	tests/aarch64 $(B) 200

## test-machines: the C of dq-cc by all compilers and on all machines that are installed; the tests take three small networks
test-machines: $(B)/dq-int8 $(B)/dq-cc
	@sh cmd/deps.sh machines
	JOBS=$(shell nproc) tests/machines $(B)

## test-emitted: what the C of dq-cc keeps beside its bits, on networks of ../shared: rules of MISRA C, bounds on flash, memory and instructions of Cortex-M, the accuracy on CIFAR-10; the tests take one network
test-emitted: $(B)/dq-int8 $(B)/dq-cc $(B)/dq-report
	@sh cmd/deps.sh emitted
	for check in misra bounds accuracy; do tests/emitted/$$check $(B) || exit; done

## test-audit: on all models, the audit never sees more than it proved; the tests take three small ones
test-audit: $(B)/dq-int8 $(B)/dq-report
	tests/audit $(B)

## test-large: what needs gigabytes of disk and memory
test-large: $(B)/tests/unit/test_onnx_round_trip $(LINKS) $(B)/models/.made
	DQ_TEST_LARGE=1 $<
	DQ_TEST_LARGE=1 DQ_BUILD=$(B) bats -f 'largest broken file' tests/commands/broken.bats

## test-networks: dq-tucker on large networks with random weights, 3 GB of disk
test-networks: $(B)/make_networks $(B)/dq-tucker $(B)/dq-report
	tests/networks $(B)

## test-packages: static program, wheel, bills of materials, Debian packages and container, twice the same bytes, used alone, by pip, in a fresh system and in the image, and on AArch64 under qemu; the tests make all but packages and image; PARTS='static aarch64 deb container'
test-packages:
	tests/packages/long $(B) $(PARTS)

## test-saturating: whole networks on a kernel that clips pairs of products, with and without safe pairs
test-saturating: $(B)/dq-int8 $(B)/dq-run $(B)/dq-report $(SATURATING)
	tests/saturating/check $(B) $${DQ_ASSETS:-../shared} all

## test-faults: plants 100 small faults in copies of the source and counts those that the tests catch; FAULTS=--seed 2
test-faults:
	$(FIXED_ADDRESSES) tests/mutate $(B) $(FAULTS)

## test-flips: what commands do with 10,000 models of which one bit is flipped; the tests take 3,000
test-flips: $(B)/tests/unit/test_onnx_flips
	FLIPS=10000 $<

## test-kills: a training that is killed at 20 random moments ends in the same bytes; KILLS=20
test-kills: $(LINKS) $(B)/models/.made
	DQ_BUILD=$(B) KILLS=$(or $(KILLS),20) bats --print-output-on-failure -f 'killed at any moment' tests/commands/train.bats

# What takes too long for every change. A slow check is a target whose name is added to CHECKS_LONG.
## test-overfit: dq-train learns 64 pictures by heart on each network of ../shared, or says what forbids it; OVERFIT='resnet20_cifar10 ...'
test-overfit: $(LINKS)
	tests/overfit $(B) $(OVERFIT)

## test-steps: ten steps of ResNet-8 by dq-train have the losses of PyTorch
test-steps: $(LINKS)
	@sh cmd/deps.sh steps
	/usr/bin/python3 -B tests/interop/steps.py $(B)

## check-long: all slow checks, one after the other: every kernel on AArch64, C on all machines and its rules, the audit and the clipping kernel on all networks, large networks and files, packages, flipped bits, killed trainings, pictures learned by heart, steps beside PyTorch, planted faults, fuzzing, both sanitizers
check-long: deps tests-built
	tests/long $(CHECKS_LONG)
CHECKS_LONG = test-aarch64 test-machines test-emitted test-audit test-saturating test-networks test-large test-packages test-flips test-kills test-overfit test-steps test-faults check-long-fuzz asan tsan

# The sanitizers' own code brings warnings of conversions that are not there without it.
SANITIZED = $(MAKE) CFLAGS="-O1 -g -fno-omit-frame-pointer" WARNINGS="-Wall -Wextra" tests-built
# Left out are the groups that run nothing of this build (aarch64, machines, tables) or programs that are built without the
# sanitizers (api, interop).
SANITIZED_GROUPS = unit kernels conformance commands saturating audit fuzz
# The runtimes of gcc 12 do not always start where the system spreads addresses over more than 28 bits.
FIXED_ADDRESSES = $(if $(shell setarch -R true 2>&1 || echo no),,setarch -R)
## asan: all tests of this build under AddressSanitizer and UndefinedBehaviorSanitizer
asan:
	$(FIXED_ADDRESSES) $(SANITIZED) B=build/asan SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
	FLIPS=2000 $(FIXED_ADDRESSES) tests/run build/asan $(SANITIZED_GROUPS)
## tsan: the same under ThreadSanitizer
tsan:
	$(FIXED_ADDRESSES) $(SANITIZED) B=build/tsan SANITIZE="-fsanitize=thread"
	FLIPS=500 $(FIXED_ADDRESSES) tests/run build/tsan $(SANITIZED_GROUPS)

-include $(wildcard $(B)/tiles/*.d) $(UNIT_TESTS:%=%.d) $(UNIT_SHARED:.o=.d) $(CHECK_OBJECTS:.o=.d) $(MODEL_OBJECTS:.o=.d) $(NETWORK_OBJECT:.o=.d)
