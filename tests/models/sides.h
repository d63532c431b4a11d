// Models with several inputs of different ranks and types.
#ifndef DQ_TESTS_SIDES_H
#define DQ_TESTS_SIDES_H

#include "tests/models/maker.h"

void make_sides(maker *m);  // left: pictures Nx3x8x8; right: Nx6
void make_words(maker *m);  // picture: Nx3x8x8; ids: Nx5, int64, 0...19
void make_gained(maker *m); // x: 1x3x8x8; size: 2; gain: a scalar

#endif
