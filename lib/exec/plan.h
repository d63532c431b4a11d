// A plan: a schedule bound to this machine. Kernels are chosen, constant operands packed, and the block of the schedule
// and the workspace of the kernels allocated. Made once, run many times.
#ifndef DQ_EXEC_PLAN_H
#define DQ_EXEC_PLAN_H

#include "lib/schedule/schedule.h"

typedef struct dq_plan dq_plan;

// How convolutions are computed: `algorithm` is a dq_conv_choice of lib/kernels, 0 the default, whose sums
// are the same as everywhere.
typedef struct dq_conv_setting {
  const char *pattern; // dq_pattern_fits; NULL: all
  int algorithm;
} dq_conv_setting;

// Every pattern fits a node of some graph; else DQ_USAGE with the nearest name.
dq_status dq_conv_settings_check(const dq_conv_setting *settings, int count, const dq_graph *const *graphs,
                                 int graph_count, dq_error *error);

typedef struct dq_binding {
  const dq_conv_setting *convolutions; // the last that fits a node counts
  int convolution_count;
  // NULL, or the graph that owns elements of constants, when no other plan needs them: weights that steps have packed
  // are given back while binding. They are then gone from both graphs, and the plan cannot be packed again.
  dq_graph *spent;
} dq_binding;

// Binds a schedule to the processor and the threads of the context. The schedule and its graph must outlive the plan.
// `binding` may be NULL, and is not needed afterwards. DQ_UNSUPPORTED names a node, DQ_SYSTEM when the plan needs more
// than context->budget has left.
dq_status dq_plan_bind(dq_plan **plan, const dq_schedule *schedule, const dq_binding *binding,
                       const dq_context *context, dq_error *error);
// Schedules the graph and binds the schedule, which the plan then owns. `request` and `binding` may be NULL.
dq_status dq_plan_new(dq_plan **plan, const dq_graph *graph, const dq_shape_request *request, const dq_binding *binding,
                      const dq_context *context, dq_error *error);
void dq_plan_free(dq_plan *plan); // NULL is fine

const dq_schedule *dq_plan_schedule(const dq_plan *plan);

// Packs the constants anew when their elements have changed in the graph; types and shapes must be as before. Values
// that follow from constants alone are computed again, kernels are chosen again, as some are taken only for weights
// that permit them (safe pairs). The plan then answers as a new plan of the graph does, bit for bit. Pointers to
// tensors and the contents of inputs stay; outputs and states (dq_plan_save) are those of the old constants until the
// next run. The old packed operands are freed first, so no more memory is needed than for one plan. DQ_USAGE when
// elements were given back, DQ_BAD_INPUT when a type or a shape would change: the plan stays as it was. When packing
// itself fails (DQ_SYSTEM, or what an operator refuses), the plan does not run until packing succeeds.
dq_status dq_plan_repack(dq_plan *plan, dq_error *error);

// The inputs that are not constants, in the order of the graph; 0 <= i < dq_plan_input_count. The plan owns the tensor
// and its memory. The caller writes the elements before every run, because a run may overwrite them.
int dq_plan_input_count(const dq_plan *plan);
dq_tensor *dq_plan_input(dq_plan *plan, int i);
const char *dq_plan_input_name(const dq_plan *plan, int i);

// Called right after the step that computes a value, with its elements in row-major order, which later steps may
// overwrite. A status other than DQ_OK ends the run, which returns it.
typedef dq_status (*dq_tap)(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error);
// Adds the value of that name to those that the tap of dq_plan_set_tap is called for in every later run; no value is
// ever taken out again. The tap gets inputs, and values computed from constants and shapes alone, at the start of a
// run, and is never called for initializers. False: the graph of the plan has no value of that name.
bool dq_plan_tap(dq_plan *plan, const char *value);
// Sets the tap, which replaces the one before; NULL: none. `user` is its first argument.
void dq_plan_set_tap(dq_plan *plan, dq_tap tap, void *user);

dq_status dq_plan_run(dq_plan *plan, dq_error *error);

// A run in parts, so that several plans can be run side by side: steps [from, end) of dq_plan_step_count; a run
// starts with from = 0, and parts follow each other.
dq_status dq_plan_run_steps(dq_plan *plan, int from, int end, dq_error *error);
// Between two steps all that later ones read lies in so many bytes, which may be kept and gone back to, also by
// another plan of the same graph whose constants have other elements. Values of steps whose shapes depend on
// elements are not among them: they stay until a run begins anew.
size_t dq_plan_state_bytes(const dq_plan *plan);
void dq_plan_save(const dq_plan *plan, void *state);
void dq_plan_restore(dq_plan *plan, const void *state);
// The value of that name, valid from the step that computes it to the last that reads it; NULL: there is none.
const dq_tensor *dq_plan_value(const dq_plan *plan, const char *name);

// Outputs in the order of the graph, valid until the next run.
int dq_plan_output_count(const dq_plan *plan);
const dq_tensor *dq_plan_output(const dq_plan *plan, int i);
const char *dq_plan_output_name(const dq_plan *plan, int i);
// Whether its shape is the same in every run; that of what a NonMaxSuppression picks is not.
bool dq_plan_output_fixed(const dq_plan *plan, int i);

// Bytes that binding adds to those of the schedule (dq_schedule_bytes): of packed operands, and of the workspace that
// the steps share, the most that one of them asks for. Both depend on the processor, the workspace on threads too.
typedef struct dq_plan_memory {
  size_t packed, workspace;
} dq_plan_memory;
dq_plan_memory dq_plan_memory_of(const dq_plan *plan);

// Steps, for time per layer: the node, and the nanoseconds of its last run when timing is on.
int dq_plan_step_count(const dq_plan *plan);
const dq_node *dq_plan_step(const dq_plan *plan, int i, int64_t *nanoseconds);
void dq_plan_set_timing(dq_plan *plan, bool on);
// Bytes of a step's inputs, weights among them, and outputs; whether its first input has 8 bits.
int64_t dq_plan_step_bytes(const dq_plan *plan, int i);
bool dq_plan_step_integer(const dq_plan *plan, int i);
double dq_plan_packing_time(const dq_plan *plan); // seconds, of bringing constant operands into order, the last time
// What dq_conv_algorithm_name says of a step; NULL when there is but one way to compute it.
const char *dq_plan_step_algorithm(const dq_plan *plan, int i);

#endif
