// Maxima of windows for AArch64: 16 bytes at a time.
#include <arm_neon.h>

#include "lib/kernels/kernels_internal.h"

typedef uint8x16_t bytes;
static inline bytes bytes_load(const uint8_t *p) { return vld1q_u8(p); }
static inline void bytes_store(uint8_t *p, bytes x) { vst1q_u8(p, x); }
static inline bytes bytes_larger_signed(bytes a, bytes b) {
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}
static inline bytes bytes_larger_unsigned(bytes a, bytes b) { return vmaxq_u8(a, b); }
// Bytes 0, 2, 4... of a followed by b.
static inline bytes bytes_even(bytes a, bytes b) { return vuzp1q_u8(a, b); }

#define MAXIMUM(name) name##_neon
#include "lib/kernels/maximum_body.h"
