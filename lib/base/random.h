// A small deterministic generator of random numbers: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014). The same seed gives the same numbers on every machine.
#ifndef DQ_BASE_RANDOM_H
#define DQ_BASE_RANDOM_H

#include <stdint.h>

typedef struct dq_random {
  uint64_t state;
} dq_random;

// The mixing function of SplitMix64, a bijection on 64 bits with 0 as a fixed point.
static inline uint64_t dq_random_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// 64 random bits.
static inline uint64_t dq_random_next(dq_random *random) { return dq_random_mix(random->state += 0x9e3779b97f4a7c15u); }

// A generator for one purpose. Generators with the same seed and different purposes (small numbers that callers choose)
// give different sequences.
static inline dq_random dq_random_start(uint64_t seed, uint64_t purpose) {
  return (dq_random){dq_random_mix(seed) + purpose}; // mixing leaves 0 as it is
}

// Uniform in [0, 1) with 24 bits.
static inline float dq_random_float(dq_random *random) { return (float)(dq_random_next(random) >> 40) * 0x1p-24f; }

// Uniform in [low, high), one of 2^24 numbers; low where both are equal.
static inline double dq_random_between(dq_random *random, double low, double high) {
  return low + (high - low) * (double)dq_random_float(random);
}

// Uniform in [0, count), count > 0.
static inline uint64_t dq_random_below(dq_random *random, uint64_t count) {
  return (uint64_t)(((unsigned __int128)dq_random_next(random) * count) >> 64);
}

// Approximately standard normal, within +-6: the sum of twelve uniform numbers less 6. It needs no function of the C
// library, whose last bits differ between machines.
static inline float dq_random_normal(dq_random *random) {
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += dq_random_float(random);
  return sum - 6.0f;
}

#endif
