// A small deterministic generator (SplitMix64, Steele, Lea and Flood 2014): the same seed gives the
// same numbers on every machine.
#ifndef DQ_BASE_RANDOM_H
#define DQ_BASE_RANDOM_H

#include <stdint.h>

typedef struct dq_random {
  uint64_t state;
} dq_random;

static inline uint64_t dq_random_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline uint64_t dq_random_next(dq_random *random) { return dq_random_mix(random->state += 0x9e3779b97f4a7c15u); }

// Numbers for one purpose (a small number of the caller's) among those that start from the same seed.
static inline dq_random dq_random_start(uint64_t seed, uint64_t purpose) {
  return (dq_random){dq_random_mix(seed) + purpose}; // mixing leaves 0 as it is
}

// Uniform in [0, 1) with 24 bits.
static inline float dq_random_float(dq_random *random) { return (float)(dq_random_next(random) >> 40) * 0x1p-24f; }

// Uniform in [0, count), count > 0.
static inline uint64_t dq_random_below(dq_random *random, uint64_t count) {
  return (uint64_t)(((unsigned __int128)dq_random_next(random) * count) >> 64);
}

// Standard normal, as the sum of twelve uniforms less six: no library function, same bits anywhere.
static inline float dq_random_normal(dq_random *random) {
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += dq_random_float(random);
  return sum - 6.0f;
}

#endif
