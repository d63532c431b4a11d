// Start-up code of a Cortex-M4: vectors, memory, the unit for floats, and semihosting.
#include <stdint.h>

#include "image.h"

extern unsigned char stack_top[], data_start[], data_end[], bss_start[], bss_end[]; // link.ld
extern const unsigned char data_from[];
_Noreturn void reset(void);

enum { SYS_WRITE0 = 4, SYS_EXIT_EXTENDED = 0x20, STOPPED = 0x20026 }; // Arm, Semihosting for AArch32 and AArch64

static int semihost(int operation, const void *argument) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void image_put(const char *text) { (void)semihost(SYS_WRITE0, text); }

_Noreturn void image_leave(int status) {
  const uint32_t block[2] = {STOPPED, (uint32_t)status};
  (void)semihost(SYS_EXIT_EXTENDED, block);
  for (;;) {
  }
}

static _Noreturn void fault(void) {
  image_put("a fault\n");
  image_leave(3);
}

static __attribute__((noinline, noreturn)) void start(void) {
  const unsigned char *from = data_from;
  for (unsigned char *at = data_start; at != data_end; at++) *at = *from++;
  for (unsigned char *at = bss_start; at != bss_end; at++) *at = 0;
  image_leave(main());
}

// Floats are off after a reset: the register CPACR gives full access to coprocessors 10 and 11.
_Noreturn void reset(void) {
  volatile uint32_t *const cpacr = (volatile uint32_t *)0xe000ed88u; // Armv7-M Architecture Reference Manual, B3.2.20
  *cpacr |= 0xfu << 20;
  __asm__ volatile("dsb\n\tisb" : : : "memory");
  start();
}

// The first word is the stack, the second where to begin; the others are exceptions, of which none is expected.
__attribute__((section(".vectors"), used)) static const struct {
  void *stack;
  void (*handlers[15])(void);
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault}};
