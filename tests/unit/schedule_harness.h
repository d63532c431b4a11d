// Checks on schedules that look at the graph alone, not at how a schedule was found.
#ifndef DQ_TESTS_UNIT_SCHEDULE_HARNESS_H
#define DQ_TESTS_UNIT_SCHEDULE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/schedule/schedule.h"

// Steps stand behind those that they read, lifetimes are those of the graph, everything lies in the block, and two
// values that are needed at the same step share a byte only where it is the same element, or where the step writes its
// result over an operand that nothing needs later.
void check_places(const dq_schedule *schedule);

// Two schedules of a graph, or of two copies of it, are the same in all that they tell; `elements`: so are the elements
// of values that follow from constants and shapes.
void same_schedule(const dq_schedule *a, const dq_schedule *b, bool elements);

#endif
