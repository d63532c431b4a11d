// Loads and stores of the first bytes of a vector, for instruction sets without masks of bytes; included by the
// vector_<set>.h that define u8_vector, u8_load and u8_store.
#include <string.h>

static inline u8_vector u8_load_some(const uint8_t *p, int64_t count) {
  if (count >= (int64_t)sizeof(u8_vector)) return u8_load(p);
  uint8_t some[sizeof(u8_vector)] = {0};
  memcpy(some, p, (size_t)count);
  return u8_load(some);
}
static inline void u8_store_some(uint8_t *p, u8_vector x, int64_t count) {
  uint8_t some[sizeof(u8_vector)];
  u8_store(count >= (int64_t)sizeof(u8_vector) ? p : some, x);
  if (count < (int64_t)sizeof(u8_vector)) memcpy(p, some, (size_t)count);
}
