# dq: build, tests and installation. Sources are found by wildcard, instruction sets by the suffix of a file or by
# the line "// Sets:" of a body, so adding a file never edits this one.
VERSION := 0.2.0
B ?= build
PREFIX ?= /usr/local
CC := gcc
PYTHON ?= python3
.DEFAULT_GOAL := all

PACKAGES := libprotobuf-c openblas lapacke jansson expat yaml-0.1 libxxhash stb cmocka
# Without debug information, which takes a sixth of the compiler's time; make CFLAGS="-O3 -g" has it.
CFLAGS ?= -O3
# A warning ends the build with WERROR=1, as in continuous integration; a compiler newer than ours may have new ones.
WERROR :=
WARNINGS := -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
# clang does not know the pragma ivdep, and dislikes limits that are constants of an enum beside floats, which hold them.
WARNINGS += $(if $(findstring clang,$(shell $(CC) --version)),-Wno-unknown-pragmas -Wno-enum-float-conversion)
OWN_FLAGS := -std=c17 -D_GNU_SOURCE $(WARNINGS) -ffp-contract=off -fno-math-errno -ffunction-sections -fdata-sections \
  -pthread -I. -I$(B)/generated
# Objects serve the static and the shared library: only what the public headers declare is visible outside of the latter.
SHARED_FLAGS := -fPIC -fvisibility=hidden
OWN_FLAGS += $(SHARED_FLAGS)
# -fno-trapping-math lets loops with comparisons vectorise; no program here reads the exception flags.
OWN_FLAGS += -fno-trapping-math
# The commands divide work among processes where Debian's Open MPI is there to build with; MPI= builds without. What
# calls it is a library that processes of such a job load.
MPI := $(shell pkg-config --exists ompi-c && echo yes)
MPI_MODULE := $(if $(MPI),$(B)/dq-mpi.so)
LIBRARIES = $(shell pkg-config --libs libprotobuf-c jansson expat yaml-0.1 libxxhash) -ldl -lm -pthread
LDFLAGS += -Wl,--gc-sections

# The instruction sets, their machines (SETS_machine) and flags (FLAGS_set), from the rows of cpu.def.
SET_ROW = (\w+), *\w+, *"(\w+)", *(0|DQ_CPU_(\w+)), *"([^"]*)"
SET_LINES = SETS_\1 += \2\nFLAGS_\2 = $$(FLAGS_\L\4\E) \5
$(B)/generated/sets.mk: lib/base/cpu.def Makefile
	@mkdir -p $(@D)
	@tr '\n' ' ' <$< | sed 's/DQ_CPU_FEATURE(/\n/g' | sed -nE 's/^$(SET_ROW).*/$(SET_LINES)/p' >$@
include $(B)/generated/sets.mk
MACHINE := $(shell $(CC) -dumpmachine | cut -d- -f1)
# gcc 12.2 for AArch64 ends with an internal error in loops that find the largest of some double values by fmax, unless
# fmax is any other function to it.
OWN_FLAGS += $(if $(filter aarch64,$(MACHINE)),-fno-builtin-fmax -fno-builtin-fmin)
FOREIGN := $(patsubst %,\%_%.c,$(filter-out $(SETS_$(MACHINE)),$(SETS_x86_64) $(SETS_aarch64)))
# Empty: without the convolutions that multiply by OpenBLAS.
OPENBLAS := yes
FOREIGN += $(if $(OPENBLAS),,%_openblas.c)
OWN_FLAGS += $(if $(OPENBLAS),-DDQ_OPENBLAS)
FOUND := $(wildcard lib/*/*.c lib/*/*/*.c quant/*/*.c decomp/*/*.c calib/*.c datasets/*.c datasets/*/*.c)
SOURCES := $(filter-out $(FOREIGN) %_body.c,$(FOUND))
# x_body.c is compiled to x_<set>.o for each set of its line "// Sets: ..." that this machine has; c is plain C.
BODY_SETS := c $(SETS_$(MACHINE))
BODIES := $(shell awk '/^\/\/ Sets: / { for (i = 3; i <= NF; i++) print FILENAME "@" $$i }' $(filter %_body.c,$(FOUND)))
body_objects = $(patsubst %_body.c@$1,$(B)/%_$1.o,$(filter %@$1,$(BODIES)))
OBJECTS := $(SOURCES:%.c=$(B)/%.o) $(foreach set,$(BODY_SETS),$(call body_objects,$(set)))
SHARED_CMD := $(filter-out cmd/dq.c cmd/dq-%.c cmd/mpi/% cmd/packages/%,$(wildcard cmd/*.c cmd/*/*.c))
# One program holds all commands; dq-VERB is a link to it.
VERBS := $(sort $(patsubst cmd/dq-%.c,%,$(wildcard cmd/dq-*.c)))
PROGRAM := cmd/dq.c $(VERBS:%=cmd/dq-%.c) $(SHARED_CMD)
LINKS := $(VERBS:%=$(B)/dq-%)
COMMANDS := $(B)/dq $(LINKS)
SCHEMA := $(B)/generated/onnx.pb-c

suffix_flags = $(FLAGS_$(lastword $(subst _, ,$(notdir $*))))

# Each step prints one line; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '%-4s %s\n' $(1) $@)

.PHONY: all
all: $(COMMANDS) $(MPI_MODULE) $(B)/libdq.so
.DELETE_ON_ERROR:

$(SCHEMA).c: /usr/include/onnx/onnx.proto
	@mkdir -p $(@D)
	@cp $< $(@D)/onnx.proto
	@cd $(@D) && protoc-c --c_out=. onnx.proto
# The C is protoc's, not ours: its warnings are not for us to mend.
$(SCHEMA).o: $(SCHEMA).c
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) -w $(SHARED_FLAGS) -ffunction-sections -fdata-sections -c -o $@ $<

$(filter $(B)/lib/onnx/%,$(OBJECTS)): | $(SCHEMA).c
$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(OWN_FLAGS) $(suffix_flags) $(SANITIZE) -MMD -MP -MT $@ -c -o $@ $<

define BODY_RULE
$(call body_objects,$1): $(B)/%_$1.o: %_body.c
	@mkdir -p $$(@D)
	$$(call say,CC)
	$$(Q)$$(CC) $$(CFLAGS) $$(OWN_FLAGS) $$(FLAGS_$1) -DDQ_SET=$1 $$(SANITIZE) -MMD -MP -MT $$@ -c -o $$@ $$<
endef
$(foreach set,$(BODY_SETS),$(eval $(call BODY_RULE,$(set))))

# The yardstick among the convolutions stays what it is whatever the rest is compiled with.
$(B)/lib/kernels/conv/conv_mcmk.o: override CFLAGS := -O3

# The version, and the commit that is built: of the file `commit` of a source archive, which may lie in a repository of
# other sources, or of the repository.
COMMIT := $(shell cat cmd/packages/commit 2>/dev/null || \
  git -C $(CURDIR) describe --always --abbrev=8 --exclude='*' --dirty=-modified 2>/dev/null)
$(B)/generated/version.h: FORCE
	@mkdir -p $(@D)
	@printf '#define DQ_VERSION "%s"\n#define DQ_COMMIT "%s"\n' '$(VERSION)' '$(COMMIT)' >$@.new
	@cmp -s $@.new $@ || cp $@.new $@
VERSIONED := lib/api/engine lib/wisdom/wisdom quant/mix/mix_cache cmd/shared/command cmd/shared/same_work cmd/options/options_help
$(VERSIONED:%=$(B)/%.o): | $(B)/generated/version.h
.PHONY: FORCE
$(B)/lib/ops/emit/emitted_text.o: $(wildcard lib/ops/emit/emitted_*.h)

# What measured times (lib/wisdom) hold for: the sources of the kernels, the pool, the compiler and its flags, but for
# those that name folders.
FOLDER_FLAGS := -ffile-prefix-map=% -fdebug-prefix-map=% -fmacro-prefix-map=%
KERNEL_SOURCES := $(sort $(wildcard lib/kernels/*/*) lib/base/pool.c lib/exec/bind.c)
$(B)/generated/kernels_hash.h: $(KERNEL_SOURCES) Makefile
	@mkdir -p $(@D)
	@{ cat $(KERNEL_SOURCES); $(CC) --version; echo '$(filter-out $(FOLDER_FLAGS),$(CFLAGS)) $(SANITIZE)'; } | sha256sum | \
	  sed -E 's/^(.{16}).*/#define DQ_KERNELS_HASH "\1"/' >$@
$(B)/lib/wisdom/machine.o: $(B)/generated/kernels_hash.h

$(B)/libdq.a: $(OBJECTS) $(SCHEMA).o
	$(call say,AR)
	$(Q)rm -f $@ && ar rcs $@ $^

# The shared library: libdq.so.MAJOR is its name for programs that were linked with it. Before version 1.0 a minor
# version may change what is visible, and the name has both numbers.
ABI := $(word 1,$(subst ., ,$(VERSION)))$(if $(filter 0.%,$(VERSION)),.$(word 2,$(subst ., ,$(VERSION))))
$(B)/libdq.so.$(VERSION): $(OBJECTS) $(SCHEMA).o lib/api/libdq.map
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared -Wl,-soname,libdq.so.$(ABI) -Wl,--version-script=lib/api/libdq.map \
	  $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-z,relro -o $@ $(filter %.o,$^) $(LIBRARIES)
$(B)/libdq.so.$(ABI): $(B)/libdq.so.$(VERSION)
	@ln -sf $(<F) $@
$(B)/libdq.so: $(B)/libdq.so.$(ABI)
	@ln -sf $(<F) $@

# The rows of the commands that there are, changed only when a command comes or goes.
VERB_ROWS := $(patsubst %,'DQ_VERB(%)',$(subst -,_,$(VERBS)))
$(B)/generated/verbs.def: $(VERBS:%=cmd/dq-%.c) cmd
	@mkdir -p $(@D)
	@printf '%s\n' $(VERB_ROWS) >$@.new
	@cmp -s $@.new $@ || cp $@.new $@
$(B)/cmd/dq.o: $(B)/generated/verbs.def

$(B)/dq: $(PROGRAM:%.c=$(B)/%.o) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
$(B)/dq-mpi.so: cmd/mpi/mpi_module.c
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(OWN_FLAGS) $(SANITIZE) $(patsubst -I%,-isystem %,$(shell pkg-config --cflags ompi-c)) -shared -fvisibility=default \
	  -MMD -MP -MF $(B)/dq-mpi.d -o $@ $< $(shell pkg-config --libs ompi-c)
$(LINKS): $(B)/dq
	@ln -sf dq $@

include $(wildcard tests/*.mk cmd/*.mk)
-include $(MPI_MODULE:.so=.d) $(OBJECTS:.o=.d) $(patsubst cmd/%.c,$(B)/cmd/%.d,$(wildcard cmd/*.c cmd/*/*.c))

.PHONY: clean
clean:
	rm -rf $(B)
