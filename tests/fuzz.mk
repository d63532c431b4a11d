# Fuzzing. A target is a file tests/fuzz/fuzz_NAME.c; it is built with driver.c by any compiler (tests/fuzz/check
# runs that for a minute), and with libFuzzer by clang.
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZERS := $(FUZZ_TARGETS:%=$(B)/tests/fuzz/%)
FUZZ_SHARED := $(addprefix $(B)/tests/fuzz/,$(patsubst %.c,%.o,$(filter-out driver.c mutators.c fuzz_%.c,$(notdir $(wildcard tests/fuzz/*.c))))) $(B)/tests/unit/wire.o

$(B)/tests/fuzz/mutate_message.o $(B)/tests/fuzz/mutate_model.o: | $(SCHEMA).c
$(FUZZERS): $(B)/tests/fuzz/%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/driver.o $(FUZZ_SHARED) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE:%,fuzzer-no-link=%) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lstb

.PHONY: fuzz fuzz-libfuzzer check-long-fuzz
## fuzz: libFuzzer over every target for FUZZ_SECONDS (60), or FUZZ_RUNS inputs
FUZZ_SECONDS ?= 60
FUZZ_RUNS ?=
fuzz: $(B)/models/.made
	@sh cmd/deps.sh fuzz
	$(MAKE) CC=clang CFLAGS="-O1 -g" WARNINGS=-w B=build/fuzz SANITIZE="-fsanitize=address,undefined,fuzzer-no-link" fuzz-libfuzzer
	tests/fuzz/libfuzzer build/fuzz $(B)/models $(if $(FUZZ_RUNS),-runs=$(FUZZ_RUNS),-max_total_time=$(FUZZ_SECONDS)) $(FUZZ_TARGETS)

# The kernels of instruction sets are built without sanitizers here: with all of them clang 14 takes 27 s instead of 3
# for f32_tile_avx512.o and more than 13 minutes instead of 20 s for f16_window_avx512fp16.o, and with
# AddressSanitizer alone it ends with an error of its own in requantize_avx512.c. gcc instruments them (make asan).
# Adding 0 to NULL, as the decoder of pictures does, is defined from C2y on.
ifneq ($(findstring fuzzer,$(SANITIZE)),)
$(SETS_$(MACHINE):%=$(B)/lib/kernels/\%_%.o): override SANITIZE :=
$(B)/datasets/image/image_decode.o: override SANITIZE += -fno-sanitize=pointer-overflow
endif
fuzz-libfuzzer: $(FUZZ_TARGETS:%=$(B)/fuzz_%) $(FUZZERS)
$(B)/fuzz_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/mutators.o $(FUZZ_SHARED) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) -fsanitize=address,undefined,fuzzer -o $@ $^ $(LIBRARIES) -lstb

## check-long-fuzz: 1,000,000 mutated models, 100,000 inputs of each other target
check-long-fuzz: $(FUZZERS) $(B)/models/.made
	tests/fuzz/replay $(B) --long

-include $(FUZZ_TARGETS:%=$(B)/tests/fuzz/fuzz_%.d) $(B)/tests/fuzz/driver.d $(B)/tests/fuzz/mutators.d $(FUZZ_SHARED:.o=.d)
