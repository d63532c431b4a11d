# An image for a machine without an operating system: C of a network by dq-cc, a picture, start-up code, and main.c,
# which prints the five largest scores. The Makefile of a machine sets CROSS, CPU, TARGET, START and EMULATOR, and
# includes this file.
#
# make [run|check] MODEL=FILE PICTURE=DATA PRESET=NAME
#   MODEL     a classifier in 8 bits with one input and one output (default: datasets/shapes.onnx through dq-int8)
#   PICTURE   what --data takes; the first picture of it is part of the image
#   PRESET    how the picture becomes the input, when the model does not say so itself
#   DQ        the folder of the commands; OUT: the folder of all that is made
# Paths are absolute, or start from the folder of the Makefile.
IMAGES := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
ROOT := $(abspath $(IMAGES)/../../..)
DQ ?= $(ROOT)/build
OUT ?= $(DQ)/images/$(notdir $(CURDIR))
MODEL ?= $(OUT)/shapes-int8.onnx
PICTURE ?= synth:shapes,count=100
DATA = --data $(PICTURE) $(if $(PRESET),--preset $(PRESET)) --limit 1
CFLAGS ?= -O2

COMPILER = $(CROSS)gcc $(CPU) $(CFLAGS) -Wall -Wextra -ffunction-sections -fdata-sections -fno-pie -fno-stack-protector \
  -fno-asynchronous-unwind-tables -I$(OUT) -I$(IMAGES)
# memory.c is memcpy and memset: their loops must not become calls of themselves.
OWN = $(COMPILER) -std=c11 -ffreestanding -fno-tree-loop-distribute-patterns
OBJECTS := $(addprefix $(OUT)/,net.o picture.o main.o number.o memory.o $(START:.c=.o))

.PHONY: all run check clean FORCE
.DELETE_ON_ERROR:
all: $(OUT)/image.elf

# Written only when the words differ, so that another model or picture makes a new image.
$(OUT)/settings: FORCE
	@mkdir -p $(OUT)
	@echo '$(MODEL) $(DATA) $(TARGET) $(CFLAGS)' | cmp -s - $@ || echo '$(MODEL) $(DATA) $(TARGET) $(CFLAGS)' >$@

$(OUT)/shapes-int8.onnx: $(ROOT)/datasets/shapes.onnx $(wildcard $(DQ)/dq) | $(OUT)/settings
	$(DQ)/dq-int8 $< --data synth:shapes,split=calib,count=64 -o $@ -q >/dev/null

$(OUT)/net.c: $(MODEL) $(OUT)/settings
	$(DQ)/dq-cc $(MODEL) --target $(TARGET) -o $@ -q >/dev/null
$(OUT)/net.h: $(OUT)/net.c ;

# --verify runs the C on this machine too, with the input in a file, of which keep-input makes a copy: float32, little
# endian, as net_run takes it.
$(OUT)/picture.bin: $(MODEL) $(OUT)/settings
	$(DQ)/dq-cc $(MODEL) -o $(OUT)/host.c --verify $(DATA) --run '$(IMAGES)/keep-input $@' -q >/dev/null
$(OUT)/expected.txt: $(MODEL) $(OUT)/settings
	$(DQ)/dq-run $(MODEL) $(DATA) >$(OUT)/dq-run.txt
	sed -nE 's/^( +[0-9]+ +[^ ]+)  .*/\1/p' $(OUT)/dq-run.txt >$@

$(OUT)/net.o: $(OUT)/net.c
	$(COMPILER) -std=c99 -c -o $@ $<
$(OUT)/picture.o: $(OUT)/picture.bin
	printf '.section .rodata\n.balign 16\n.global picture\npicture: .incbin "$<"\n' | $(CROSS)gcc $(CPU) -x assembler -c -o $@ -
# The names of the macros come from the model: the first is that of the input, the second that of the output.
$(OUT)/main.o: $(IMAGES)/main.c $(IMAGES)/image.h $(OUT)/net.h
	$(OWN) -DINPUT_ELEMENTS=$(word 1,$(ELEMENTS)) -DOUTPUT_ELEMENTS=$(word 2,$(ELEMENTS)) -c -o $@ $<
ELEMENTS = $(shell sed -nE 's/^\#define (NET_.*_ELEMENTS) .*/\1/p' $(OUT)/net.h)
$(OUT)/%.o: $(IMAGES)/%.c $(IMAGES)/image.h $(OUT)/settings
	$(OWN) -c -o $@ $<
$(OUT)/%.o: %.c $(IMAGES)/image.h $(OUT)/settings
	$(OWN) -c -o $@ $<

$(OUT)/image.elf: $(OBJECTS) link.ld
	$(CROSS)gcc $(CPU) -nostdlib -static -no-pie -Wl,--gc-sections -Wl,--build-id=none -T link.ld -o $@ $(OBJECTS) -lgcc

## run: the image in the emulator
run: $(OUT)/image.elf
	@timeout 300 $(EMULATOR) -display none -monitor none -serial none -chardev stdio,id=console \
	  -semihosting-config enable=on,target=native,chardev=console -kernel $< </dev/null

## check: that the image prints the lines of dq-run
check: $(OUT)/image.elf $(OUT)/expected.txt
	@$(MAKE) -s --no-print-directory run >$(OUT)/answer.txt
	@test -s $(OUT)/expected.txt || { echo 'dq-run printed no scores'; false; }
	@diff $(OUT)/expected.txt $(OUT)/answer.txt
	@cat $(OUT)/answer.txt
	@echo "$(notdir $(CURDIR)): the $$(wc -l <$(OUT)/answer.txt) lines of dq-run"

clean:
	rm -rf $(OUT)
