// Start-up code of a Cortex-A53 at exception level 1: stack, floats, exceptions, memory, and semihosting.
#include <stdint.h>

#include "image.h"

extern unsigned char bss_start[], bss_end[]; // link.ld
_Noreturn void start(void);
_Noreturn void fault(void);

// Floats are off after a reset. The bits FPEN of CPACR_EL1 turn them on, before any C runs, which may use their
// registers. All 16 exceptions end in fault().
__asm__(".section .start, \"ax\"\n"
        ".global _start\n"
        "_start:\n"
        "  ldr x0, =stack_top\n"
        "  mov sp, x0\n"
        "  mov x0, #(3 << 20)\n"
        "  msr cpacr_el1, x0\n"
        "  ldr x0, =exceptions\n"
        "  msr vbar_el1, x0\n"
        "  isb\n"
        "  b start\n"
        ".balign 2048\n"
        "exceptions:\n"
        ".rept 16\n"
        "  b fault\n"
        ".balign 128\n"
        ".endr\n"
        ".text\n");

enum { SYS_WRITE0 = 4, SYS_EXIT = 0x18, STOPPED = 0x20026 }; // Arm, Semihosting for AArch32 and AArch64

static int64_t semihost(int operation, const void *argument) {
  register int64_t x0 __asm__("x0") = operation;
  register const void *x1 __asm__("x1") = argument;
  __asm__ volatile("hlt 0xf000" : "+r"(x0) : "r"(x1) : "memory");
  return x0;
}

void image_put(const char *text) { (void)semihost(SYS_WRITE0, text); }

_Noreturn void image_leave(int status) {
  const uint64_t block[2] = {STOPPED, (uint64_t)status};
  (void)semihost(SYS_EXIT, block);
  for (;;) {
  }
}

_Noreturn void fault(void) {
  image_put("an exception\n");
  image_leave(3);
}

// Without translation all memory counts as a device: no caches, no words at any address. One table of blocks of 1 GiB:
// devices from 0, memory from 0x40000000. Arm Architecture Reference Manual for A-profile, D8.3 (blocks), D17.2
// (registers).
static void turn_translation_on(void) {
  static _Alignas(4096) uint64_t table[512];
  const uint64_t block = 1, accessed = 1 << 10, shared = 3 << 8, memory = 1 << 2, no_code = UINT64_C(3) << 53;
  const uint64_t kinds = 0xff00; // MAIR_EL1: attribute 0 is a device, attribute 1 memory with caches
  // TCR_EL1: addresses of 39 bits and pages of 4 KiB from TTBR0 alone, walks through caches, 36 physical bits.
  const uint64_t control = 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23 | UINT64_C(1) << 32;
  uint64_t system;
  table[0] = block | accessed | no_code;
  table[1] = 0x40000000 | block | accessed | shared | memory;
  __asm__ volatile("msr mair_el1, %0\n\tmsr tcr_el1, %1\n\tmsr ttbr0_el1, %2\n\tdsb sy\n\ttlbi vmalle1\n\tdsb sy\n\tisb"
                   :
                   : "r"(kinds), "r"(control), "r"(table)
                   : "memory");
  __asm__ volatile("mrs %0, sctlr_el1" : "=r"(system));
  system |= 1 | 1 << 2 | 1 << 12; // translation, caches of data and of instructions
  __asm__ volatile("msr sctlr_el1, %0\n\tisb" : : "r"(system) : "memory");
}

// .bss is cleared by whole words: before translation is on, an address must be a multiple of the size.
_Noreturn void start(void) {
  for (volatile uint64_t *at = (volatile uint64_t *)(void *)bss_start; at != (void *)bss_end; at++) *at = 0;
  turn_translation_on();
  image_leave(main());
}
