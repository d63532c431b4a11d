// A schedule: what a run of a graph at given shapes of its inputs does on any machine. It has the order of the steps,
// the type and shape of every value, the steps from which to which each value needs memory, and where in one block of
// memory the value lies. A schedule is the same whatever instruction sets and threads there are: it chooses no kernel
// and packs no weight. Binding a schedule to this machine (lib/exec/plan.h) does that, and adds the workspace that the
// kernels ask for, which is no part of the schedule's bytes.
//
// No decision on memory depends on the kernel that is chosen. A value is written over an operand, or into the result of
// a concatenation, where flags of the operator's row allow it (DQ_OP_VIEW, DQ_OP_IN_PLACE, DQ_OP_JOIN), and every
// kernel of such a row has to work so. Fusions are made by the passes, before the graph is scheduled, without the
// processor too. Binding alone decides the algorithm of a product, the form of packed operands, whether a float16 step
// is computed by a float32 kernel in pieces, and the workspace of all of these.
#ifndef DQ_SCHEDULE_SCHEDULE_H
#define DQ_SCHEDULE_SCHEDULE_H

#include "lib/schedule/infer.h"

typedef struct dq_schedule dq_schedule;

typedef struct dq_schedule_step {
  const dq_node *node;    // of the graph
  const dq_operator *row; // the operator
  int version;            // its since-version that the graph's opset means
  bool dynamic;           // a shape of its inputs or outputs depends on elements: it is known only while running
} dq_schedule_step;

typedef enum dq_storage {
  DQ_STORED_NOWHERE,  // nothing makes the value
  DQ_STORED_GRAPH,    // an initializer: the graph owns its elements
  DQ_STORED_SCHEDULE, // found from constants and shapes while scheduling, so no step makes it: the schedule owns it
  DQ_STORED_BLOCK,    // has a place in the block
  DQ_STORED_RUN,      // its shape depends on elements: it gets memory while running, outside of the block
} dq_storage;

// Where and when a value is needed. Steps are counted from 0; -1 is before the first step, the number of steps is
// behind the last. All but `storage` is meaningful for DQ_STORED_BLOCK only.
typedef struct dq_place {
  dq_storage storage;
  // The step that makes the value (-1: it is an input) and the last that reads it. Inputs and outputs of the graph are
  // needed to the end: the next run reads inputs, the caller reads outputs.
  int first, last;
  size_t bytes;  // of the elements, rounded up to 64; at least 64
  size_t offset; // in the block, in bytes; a multiple of 64, or of the size of an element where values are joined
  // The index of the value whose memory this one shares from its start (views, in place); its own: it is a root.
  int root;
  // The fields of a root: the steps between which its memory is needed by any value in it; whether one of these is
  // written over another; the result of a concatenation in whose memory it lies, `shift` bytes from the start of that
  // (-1: in none).
  int opened, ended;
  bool in_place;
  int joined;
  size_t shift;
} dq_place;

// Schedules an indexed graph, which must outlive the schedule and keep its structure; nodes in any order. `request` may
// be NULL. The caller frees *schedule (NULL after a failure) after the plans that are bound to it; the graph is not
// freed. Values whose shapes depend on elements (NonZero, NonMaxSuppression) are allowed: DQ_STORED_RUN. Small
// constants are computed on the pool of `context`; its budget must outlive the schedule. DQ_UNSUPPORTED names a node
// that dq cannot run, or an input or a constant with a type that dq does not compute with; else statuses as dq_infer.
// The time is proportional to the numbers of nodes and values; for networks of at most 4096 values several orders of
// places are tried.
dq_status dq_schedule_new(dq_schedule **schedule, const dq_graph *graph, const dq_shape_request *request,
                          const dq_context *context, dq_error *error);
void dq_schedule_free(dq_schedule *schedule); // NULL is allowed

// A schedule does not change any more, so several threads may read it. All pointers below belong to the schedule or to
// its graph, and hold until the schedule is freed.
const dq_graph *dq_schedule_graph(const dq_schedule *schedule);

// The steps, in an order in which every node follows those whose results it reads; 0 <= step < count.
int dq_schedule_step_count(const dq_schedule *schedule);
const dq_schedule_step *dq_schedule_step_at(const dq_schedule *schedule, int step);

// Inputs that are not constants, in the order of the graph.
int dq_schedule_input_count(const dq_schedule *schedule);
const dq_value *dq_schedule_input(const dq_schedule *schedule, int i);

// Tensor and place of the value with index `value`. The tensor has type and shape; its rank is -1 for DQ_STORED_RUN. It
// has elements for DQ_STORED_SCHEDULE only: those that followed from the constants when the graph was scheduled.
const dq_tensor *dq_schedule_tensor(const dq_schedule *schedule, int value);
const dq_place *dq_schedule_place(const dq_schedule *schedule, int value);

// The bytes of the block (the planned memory), and the most bytes that values need at any one step (the peak live
// memory), which is a lower bound of the block of any schedule with these lifetimes.
size_t dq_schedule_bytes(const dq_schedule *schedule);
size_t dq_schedule_live_bytes(const dq_schedule *schedule);

#endif
