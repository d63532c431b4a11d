#include "lib/base/cpu.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  unsigned implied; // by the row alone
} features[] = {
#define DQ_CPU_FEATURE(machine, symbol, name, implied, ...) {name, implied},
#include "lib/base/cpu.def"
};

const char *dq_cpu_feature_name(int index) { return features[index].name; }

unsigned dq_cpu_with_implied(unsigned mask) {
  for (int i = DQ_CPU_FEATURES - 1; i >= 0; i--) // what a row implies stands above it
    if (mask & (1u << i)) mask |= features[i].implied;
  return mask;
}

#define HAS(word, bits) (((word) & (bits)) == (bits))
#define TEST(symbol, implied, present)                                                                                 \
  if (HAS(found, (unsigned)(implied)) && (present)) found |= DQ_CPU_##symbol;

#if defined(__x86_64__)
#define TEST_ON_x86_64 TEST
#define TEST_ON_aarch64(...)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long long extended_control(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (unsigned long long)high << 32 | low;
}

// Linux hands out the AMX tile registers on request (arch_prctl ARCH_REQ_XCOMP_PERM, XTILEDATA).
static bool amx_permitted(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

typedef struct leaf {
  unsigned a, b, c, d;
} leaf;

unsigned dq_cpu_detect(void) {
  leaf leaf1 = {0}, leaf7 = {0}, leaf7_1 = {0};
  if (!__get_cpuid(1, &leaf1.a, &leaf1.b, &leaf1.c, &leaf1.d) || !HAS(leaf1.c, bit_OSXSAVE)) return 0;
  if (!__get_cpuid_count(7, 0, &leaf7.a, &leaf7.b, &leaf7.c, &leaf7.d)) return 0;
  __get_cpuid_count(7, 1, &leaf7_1.a, &leaf7_1.b, &leaf7_1.c, &leaf7_1.d); // zeros where there is no such leaf
  const unsigned long long saved = extended_control(); // register files the system saves on a switch
  unsigned found = 0;
#define DQ_CPU_FEATURE(machine, symbol, name, implied, flags, present) TEST_ON_##machine(symbol, implied, present)
#include "lib/base/cpu.def"
  return found;
}
#elif defined(__aarch64__)
#define TEST_ON_x86_64(...)
#define TEST_ON_aarch64 TEST
#include <asm/hwcap.h>
#include <sys/auxv.h>

unsigned dq_cpu_detect(void) {
  const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
  unsigned found = 0;
#define DQ_CPU_FEATURE(machine, symbol, name, implied, flags, present) TEST_ON_##machine(symbol, implied, present)
#include "lib/base/cpu.def"
  return found;
}
#else
unsigned dq_cpu_detect(void) { return 0; }
#endif

static bool is_name(const char *text, size_t length, const char *name) {
  return strlen(name) == length && !strncmp(text, name, length);
}

static bool add_named(const char *text, size_t length, unsigned *mask) {
  if (is_name(text, length, "c")) return true;
  if (is_name(text, length, "native")) return *mask = ~0u, true;
  for (int i = 0; i < DQ_CPU_FEATURES; i++)
    if (is_name(text, length, features[i].name)) {
      *mask |= dq_cpu_with_implied(1u << i);
      return true;
    }
  return false;
}

dq_status dq_cpu_mask_parse(const char *text, unsigned *mask, dq_error *error) {
  *mask = 0;
  for (const char *name = text;; name++) {
    size_t length = strcspn(name, ",");
    if (!add_named(name, length, mask)) {
      char all[128];
      return dq_fail(error, DQ_USAGE, "unknown instruction set '%.*s', expected c, native or some of %s", (int)length,
                     name, dq_cpu_mask_text(~0u, all, sizeof all));
    }
    name += length;
    if (!*name) return DQ_OK;
  }
}

const char *dq_cpu_mask_text(unsigned mask, char *text, size_t size) {
  size_t used = 0;
  snprintf(text, size, "c");
  for (int i = 0; i < DQ_CPU_FEATURES; i++)
    if (mask & (1u << i) && used < size)
      used += (size_t)snprintf(text + used, size - used, used ? ",%s" : "%s", features[i].name);
  return text;
}
