// A plan: a schedule bound to this machine. Kernels are chosen, constant operands packed, and the block of the schedule
// and the workspace of the kernels allocated. A plan is made once and run many times, by one thread at a time; a run
// uses the pool of the context.
#ifndef DQ_EXEC_PLAN_H
#define DQ_EXEC_PLAN_H

#include "lib/base/random.h"
#include "lib/schedule/schedule.h"
#include "lib/wisdom/wisdom.h"

typedef struct dq_plan dq_plan;

// How convolutions are computed: `algorithm` is a dq_conv_choice (lib/kernels/conv/conv.h); 0 is the default
// DQ_CONV_SAME_BITS.
typedef struct dq_conv_setting {
  const char *pattern; // shell pattern on names of nodes (dq_pattern_fits); NULL: all convolutions
  int algorithm;
} dq_conv_setting;

// DQ_USAGE, with the nearest name as a hint: a pattern fits no node of any of the graphs.
dq_status dq_conv_settings_check(const dq_conv_setting *settings, int count, const dq_graph *const *graphs,
                                 int graph_count, dq_error *error);

typedef struct dq_binding {
  const dq_conv_setting *convolutions; // [convolution_count]; of several that fit a node the last counts
  int convolution_count;
  // The graph whose copy the schedule's graph is and which owns the elements of constants, when no other plan needs
  // them; NULL: none. Binding then frees the weights that steps have packed. They are gone from both graphs, and the
  // plan cannot be packed again.
  dq_graph *spent;
  bool lent; // the caller lends memory for each run (dq_plan_lend); the plan allocates neither block nor workspace
  const dq_step_choice *choices; // [steps]: how each step is computed; NULL: as the wisdom of the context says
  // Draws where in memory the plan lies, as the time of a step depends by some percent on that; for a schedule that was
  // bound before, so that no messages are repeated. NULL: where the system puts it.
  dq_random *places;
} dq_binding;

// Binds a schedule to the processor and the threads of the context. The schedule, its graph and the context must
// outlive the plan; `binding` (may be NULL) is read during the call only. The caller frees *plan. DQ_UNSUPPORTED names
// a node that dq cannot run; DQ_SYSTEM: the plan needs more than context->budget has left.
dq_status dq_plan_bind(dq_plan **plan, const dq_schedule *schedule, const dq_binding *binding,
                       const dq_context *context, dq_error *error);
// Schedules the graph and binds the schedule, which the plan then owns. `request` and `binding` may be NULL. Statuses
// as dq_schedule_new and dq_plan_bind.
dq_status dq_plan_new(dq_plan **plan, const dq_graph *graph, const dq_shape_request *request, const dq_binding *binding,
                      const dq_context *context, dq_error *error);
void dq_plan_free(dq_plan *plan); // NULL is allowed

// Makes a further plan of the schedule of `origin` that reads its packed operands, so that one thread can run the one
// while another runs the other. *plan has tensors of its own and no block: the caller lends memory for each run.
// `context` must outlive the plan and have the instruction sets and the number of threads of that of `origin`, and may
// have another pool, or none (NULL) during a run, which then is that of one thread. `origin` must outlive the plan and
// must not be packed again while the plan is there. The time and the memory are those of its steps and values alone.
// The caller frees *plan. DQ_SYSTEM: there is no memory.
dq_status dq_plan_share(dq_plan **plan, const dq_plan *origin, const dq_context *context, dq_error *error);
// The bytes that a run needs for block and workspace together, a multiple of 64.
size_t dq_plan_lent_bytes(const dq_plan *plan);
// Sets the memory that the next runs of a plan without a block of its own (dq_binding.lent, dq_plan_share) use:
// dq_plan_lent_bytes bytes, aligned to 64, owned by the caller; their contents do not matter. Inputs are written after
// this, and outputs are read before the memory is lent to another plan.
void dq_plan_lend(dq_plan *plan, void *memory);
// Lets the next runs of a plan read input `i` (of dq_plan_input_count) at `elements`, which the caller owns and
// leaves as they are until the run has ended; NULL: in the block, or the memory of dq_plan_lend, as at first and after
// each call of dq_plan_lend with other memory.
void dq_plan_lend_input(dq_plan *plan, int i, const void *elements);
// Lets the next runs write output `i` (of dq_plan_output_count) to `elements`, memory of the caller for all of its
// elements; NULL: in the block again. False: the output is not written there but stays in the memory of
// dq_plan_output, as other values share that memory, its shape depends on elements, or no step computes it.
bool dq_plan_lend_output(dq_plan *plan, int i, void *elements);

const dq_schedule *dq_plan_schedule(const dq_plan *plan); // the schedule that was bound; lives as long as the plan

// Packs the constants again after their elements have changed in the graph; types and shapes must be as before. Values
// that follow from constants alone are computed again, and kernels are chosen again, because some need weights of a
// certain form (safe pairs). The plan then gives the results of a new plan of the graph, bit for bit. Pointers to
// tensors and the contents of inputs stay; outputs and states (dq_plan_save) are those of the old constants until the
// next run. The old packed operands are freed first, so no more memory is needed than for one plan. DQ_USAGE: binding
// freed weights (dq_binding.spent); DQ_BAD_INPUT: a type or a shape would change; after both the plan is as it was.
// When packing itself fails (DQ_SYSTEM, or a status of an operator), the plan does not run until packing succeeds.
dq_status dq_plan_repack(dq_plan *plan, dq_error *error);

// The inputs that are not constants, in the order of the graph; 0 <= i < dq_plan_input_count. The plan owns the tensor
// and its memory, which lies apart from that of other values: runs read it and do not change it. The caller writes the
// elements before the first run and whenever they change.
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

// Runs all steps. DQ_CANCELLED: context->stop was set, or the deadline passed; DQ_USAGE: dq_plan_repack failed before,
// or a plan without a block was lent no memory; also statuses of operators, such as DQ_BAD_INPUT for an index out of
// its range, and of the tap.
dq_status dq_plan_run(dq_plan *plan, dq_error *error);

// Runs the steps from `from` to `end` - 1 (of dq_plan_step_count), so that several plans can run side by side. A run
// starts with from = 0, and each part starts where the one before ended. Statuses as dq_plan_run.
dq_status dq_plan_run_steps(dq_plan *plan, int from, int end, dq_error *error);
// The state between two steps: everything that later steps read is in a block of dq_plan_state_bytes bytes.
// dq_plan_save copies it to `state`, dq_plan_restore back, also into another plan of the same graph whose constants
// have other elements. Values whose shapes depend on elements are not included; they stay until the next run begins.
size_t dq_plan_state_bytes(const dq_plan *plan);
void dq_plan_save(const dq_plan *plan, void *state);
void dq_plan_restore(dq_plan *plan, const void *state);
// The value of that name, owned by the plan; its elements hold from the step that computes it to the last that reads
// it. NULL: the graph of the plan has no such value.
const dq_tensor *dq_plan_value(const dq_plan *plan, const char *name);

// The outputs, in the order of the graph; 0 <= i < dq_plan_output_count. The plan owns the tensors; their elements hold
// until the next run.
int dq_plan_output_count(const dq_plan *plan);
const dq_tensor *dq_plan_output(const dq_plan *plan, int i);
const char *dq_plan_output_name(const dq_plan *plan, int i);
// Whether the shape of output `i` is the same in every run; that of the boxes which a NonMaxSuppression keeps is not.
bool dq_plan_output_fixed(const dq_plan *plan, int i);

// Bytes that binding needs in addition to those of the schedule (dq_schedule_bytes). Both fields depend on the
// instruction sets of the processor, `workspace` also on the number of threads.
typedef struct dq_plan_memory {
  size_t packed;    // packed operands of all steps
  size_t workspace; // scratch that the steps share: the most that one of them needs
} dq_plan_memory;
dq_plan_memory dq_plan_memory_of(const dq_plan *plan);

// The steps in the order of a run, for the time of each layer; 0 <= i < dq_plan_step_count. dq_plan_step returns the
// node of a step, which belongs to the graph of the plan. *nanoseconds (NULL is allowed) receives the time of the step
// in the last run with timing on, 0 before such a run.
int dq_plan_step_count(const dq_plan *plan);
const dq_node *dq_plan_step(const dq_plan *plan, int i, int64_t *nanoseconds);
void dq_plan_set_timing(dq_plan *plan, bool on); // off at first
// Sets the clock of timing, which returns nanoseconds from any fixed point in time; dq_nanoseconds at first. With
// timing on, the thread that runs the plan calls it before and after each step.
void dq_plan_set_clock(dq_plan *plan, int64_t (*clock)(void));
// The bytes of the elements of all inputs (weights too, as the model has them and not packed) and outputs of a step; an
// input that stands twice counts twice, workspace does not count. Shapes that depend on elements are those of the last
// run; they do not count before the first one.
int64_t dq_plan_step_bytes(const dq_plan *plan, int i);
// The step that computes the value of that name; -1: none does, it is an input, follows from constants or was fused
// away.
int dq_plan_step_of(const dq_plan *plan, const char *value);
bool dq_plan_step_integer(const dq_plan *plan, int i); // whether the first input of the step has 8 bits
double dq_plan_packing_time(const dq_plan *plan);      // seconds that packing took, the last time
// Writes the run of step `i` for wisdom to text[DQ_RUN_TEXT]: its operator, the algorithm that its dq_conv_setting asks
// for ("any": DQ_CONV_AUTO), types, shapes and attributes, without spaces. Steps with the same text take the same time
// in every network, except where the elements of weights decide on the kernel (8 bits). False: a shape of the step
// depends on elements, or the text is too long.
bool dq_plan_step_run(const dq_plan *plan, int i, char *text);
// The choice by which step `i` is computed.
dq_step_choice dq_plan_step_choice(const dq_plan *plan, int i);
// The knobs whose values can change how step `i` is computed, as a set of bits 1 << dq_knob.
unsigned dq_plan_step_knobs(const dq_plan *plan, int i);
// The form of a step with a choice: two choices with the same form run the same kernels on the same blocks in the same
// memory.
typedef struct dq_step_form {
  const char *algorithm;  // static; NULL: there is only one algorithm
  unsigned knobs;         // set of bits 1 << dq_knob: the sizes that the algorithm reads
  int64_t columns, depth; // of its blocks
  int threads;
  dq_counts counts; // of a convolution; else all 0
} dq_step_form;
// The form of step `i` with a choice; nothing is packed or run. The elements of constants must still be there (not
// dq_binding.spent).
dq_step_form dq_plan_step_form(const dq_plan *plan, int i, const dq_step_choice *choice);
// Whether algorithm, columns, depth and threads are equal.
bool dq_step_same_form(const dq_step_form *a, const dq_step_form *b);
// The name of the algorithm of a step (dq_conv_algorithm_name), static; NULL: there is only one way to compute the
// step.
const char *dq_plan_step_algorithm(const dq_plan *plan, int i);

#endif
