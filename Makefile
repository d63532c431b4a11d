# dq: build, tests and installation. Sources are found by wildcard and instruction-set flags by file
# suffix, so adding a file never edits this one.
VERSION := 0.1.0
B ?= build
PREFIX ?= /usr/local
CC := gcc
PYTHON ?= python3

PACKAGES := libprotobuf-c openblas lapacke jansson libxxhash stb cmocka
CFLAGS ?= -O3 -g
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Werror
OWN_FLAGS := -std=c17 -D_GNU_SOURCE $(WARNINGS) -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections \
  -pthread -I. -I$(B)/generated -DDQ_VERSION='"$(VERSION)"'
# -fno-trapping-math lets loops with comparisons vectorise; no program here reads the exception flags.
OWN_FLAGS += -fno-trapping-math
LIBRARIES = $(shell pkg-config --libs libprotobuf-c lapacke openblas jansson libxxhash) -lm -pthread
LDFLAGS += -Wl,--gc-sections

ROOMS := lib/base lib/graph lib/kernels lib/linalg lib/onnx datasets lib/ops lib/exec lib/passes calib \
  lib/eval quant decomp lib/api lib/report
# Files of instruction sets that the compiler's machine does not have are left out.
SETS_x86_64 := avx2 avx512 vnni vbmi avx512fp16 amx
SETS_aarch64 := neon dotprod
MACHINE := $(shell $(CC) -dumpmachine | cut -d- -f1)
FOREIGN := $(patsubst %,\%_%.c,$(filter-out $(SETS_$(MACHINE)),$(SETS_x86_64) $(SETS_aarch64)))
SOURCES := $(filter-out $(FOREIGN),$(wildcard $(addsuffix /*.c,$(ROOMS))))
OBJECTS := $(SOURCES:%.c=$(B)/%.o)
SHARED_CMD := $(filter-out cmd/dq.c cmd/dq-%.c,$(wildcard cmd/*.c))
COMMANDS := $(patsubst cmd/%.c,$(B)/%,$(wildcard cmd/dq.c cmd/dq-*.c))
SCHEMA := $(B)/generated/onnx.pb-c

FLAGS_avx2 := -mavx2 -mfma -mf16c
FLAGS_avx512 := $(FLAGS_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
FLAGS_vnni := $(FLAGS_avx512) -mavx512vnni
FLAGS_vbmi := $(FLAGS_avx512) -mavx512vbmi
FLAGS_avx512fp16 := $(FLAGS_avx512) -mavx512fp16
FLAGS_amx := $(FLAGS_avx512) -mamx-tile -mamx-int8
# Loads moved ahead of the sums would push some of those out of their registers.
FLAGS_neon := -fno-schedule-insns
FLAGS_dotprod := $(FLAGS_neon) -march=armv8.2-a+dotprod
suffix_flags = $(FLAGS_$(lastword $(subst _, ,$(notdir $*))))

# Each step prints one line; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-4s %s\n' $(1) $@)

.PHONY: all
all: $(COMMANDS)
.DELETE_ON_ERROR:

$(SCHEMA).c: /usr/include/onnx/onnx.proto
	@mkdir -p $(@D)
	@cp $< $(@D)/onnx.proto
	@cd $(@D) && protoc-c --c_out=. onnx.proto
# The C is protoc's, not ours: its warnings are not for us to mend.
$(SCHEMA).o: $(SCHEMA).c
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -w -ffunction-sections -fdata-sections -c -o $@ $<

$(filter $(B)/lib/onnx/%,$(OBJECTS)): | $(SCHEMA).c
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(OWN_FLAGS) $(suffix_flags) $(SANITIZE) -MMD -MP -c -o $@ $<

$(B)/libdq.a: $(OBJECTS) $(SCHEMA).o
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/%: $(B)/cmd/%.o $(SHARED_CMD:%.c=$(B)/%.o) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(B)/libdq.a $(LIBRARIES)

include $(wildcard tests/*.mk cmd/*.mk)
-include $(OBJECTS:.o=.d) $(patsubst cmd/%.c,$(B)/cmd/%.d,$(wildcard cmd/*.c))

.PHONY: clean
clean:
	rm -rf $(B)
