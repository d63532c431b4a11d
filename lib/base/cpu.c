#include "lib/base/cpu.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  unsigned implied; // by the row alone
} features[] = {
#define DQ_CPU_FEATURE(symbol, name, implied) {name, implied},
#include "lib/base/cpu.def"
#undef DQ_CPU_FEATURE
};

const char *dq_cpu_feature_name(int index) { return features[index].name; }

unsigned dq_cpu_with_implied(unsigned mask) {
  for (int i = DQ_CPU_FEATURES - 1; i >= 0; i--) // what a row implies stands above it
    if (mask & (1u << i)) mask |= features[i].implied;
  return mask;
}

#if defined(__x86_64__)
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

unsigned dq_cpu_detect(void) {
  unsigned a = 0, b = 0, c = 0, d = 0, found = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
  unsigned long long saved = extended_control(); // register files the system saves on a switch
  bool fma_f16c = (c & bit_FMA) && (c & bit_F16C) && (c & bit_AVX);
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if ((saved & 0x6) == 0x6 && fma_f16c && (b & bit_AVX2)) found |= DQ_CPU_AVX2;
  unsigned base = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  if ((found & DQ_CPU_AVX2) && (saved & 0xe6) == 0xe6 && (b & base) == base) {
    found |= DQ_CPU_AVX512;
    if (c & bit_AVX512VNNI) found |= DQ_CPU_VNNI;
    if (c & bit_AVX512VBMI) found |= DQ_CPU_VBMI;
    if (d & (1u << 23)) found |= DQ_CPU_AVX512FP16;
  }
  bool tiles = (d & (1u << 24)) && (d & (1u << 25));
  if (tiles && (found & DQ_CPU_AVX512) && (saved & 0x60000) == 0x60000 && amx_permitted())
    found |= DQ_CPU_AMX;
  return found;
}
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

unsigned dq_cpu_detect(void) {
  unsigned found = DQ_CPU_NEON;
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) found |= DQ_CPU_DOTPROD;
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
      return dq_fail(error, DQ_USAGE, "unknown instruction set '%.*s', expected c, native or some of %s",
                     (int)length, name, dq_cpu_mask_text(~0u, all, sizeof all));
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
