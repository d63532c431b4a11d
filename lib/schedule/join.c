// Concatenation without copies: an input lies where its part of the result is, and what makes it writes it
// there. The axis must have nothing but ones in front of it; nothing may be written in place while another
// value in the same memory is still needed; and the most bytes alive at once must not grow, as the whole
// result then has its memory from its first part on. The bytes alive at each step are the
// leaves of a tree of maxima, so that a join takes time in proportion to the logarithm of the number of steps, however
// long values live.
#include <stdlib.h>

#include "lib/schedule/schedule_internal.h"

// ---- Bytes alive at each step ----

// Node 1 is the root, nodes 2 i and 2 i + 1 are below node i, leaf `leaves` + i is the step i - 1.
typedef struct live_tree {
  int leaves;     // a power of 2
  int64_t *most;  // by node: the most in the leaves below it, but for what is added to nodes above
  int64_t *added; // by node: to all leaves below it
  int64_t peak;   // before anything is joined
} live_tree;

static void add_to_node(live_tree *tree, int node, int64_t bytes) {
  tree->most[node] += bytes;
  if (node < tree->leaves) tree->added[node] += bytes;
}

static void update_above(live_tree *tree, int node) {
  while (node /= 2) {
    int64_t left = tree->most[2 * node], right = tree->most[2 * node + 1];
    tree->most[node] = (left > right ? left : right) + tree->added[node];
  }
}

// Adds bytes at the steps [first, last], which may be empty.
static void add_live(live_tree *tree, int first, int last, int64_t bytes) {
  if (first > last) return;
  int from = first + 1 + tree->leaves, to = last + 1 + tree->leaves + 1;
  for (int left = from, right = to; left < right; left /= 2, right /= 2) {
    if (left % 2) add_to_node(tree, left++, bytes);
    if (right % 2) add_to_node(tree, --right, bytes);
  }
  update_above(tree, from);
  update_above(tree, to - 1);
}

// ---- Joins ----

// Whether the inputs of a step lie one behind another in its output.
static bool is_join(const dq_schedule *schedule, const dq_schedule_step *step) {
  if (!(step->row->flags & DQ_OP_JOIN)) return false;
  const dq_tensor *output = &schedule->tensors[step->node->outputs[0]->index];
  if (output->rank < 1) return false;
  int64_t axis = dq_node_int(step->node, "axis", 1);
  if (axis < 0) axis += output->rank;
  return axis < output->rank && dq_tensor_product(output, 0, (int)axis) == 1;
}

// What becomes of the live bytes when `part` lies in `whole`, which then has its memory for as long as both; `sign` -1
// takes it back.
static void add_join(live_tree *tree, const dq_place *whole, const dq_place *part, int sign) {
  int64_t bytes = sign * (int64_t)whole->bytes;
  add_live(tree, part->opened, part->ended, -sign * (int64_t)part->bytes);
  add_live(tree, part->opened, part->ended < whole->opened ? part->ended : whole->opened - 1, bytes);
  add_live(tree, part->opened > whole->ended ? part->opened : whole->ended + 1, part->ended, bytes);
}

static bool may_join(const dq_schedule *schedule, int step, const dq_place *whole, int value) {
  const dq_place *part = &schedule->places[schedule->places[value].root];
  bool planned = schedule->places[value].storage == DQ_STORED_BLOCK;
  if (!planned || part == whole || part->joined >= 0 || part->opened < 0) return false;
  bool over = part->ended <= step; // nothing happens to it behind
  return over || (!part->in_place && !whole->in_place);
}

// Puts the part there unless more bytes than before would be alive at once.
static void join_part(live_tree *tree, dq_place *whole, int whole_index, dq_place *part, size_t shift) {
  add_join(tree, whole, part, 1);
  if (tree->most[1] > tree->peak) {
    add_join(tree, whole, part, -1);
    return;
  }
  part->joined = whole_index;
  part->shift = shift;
  if (part->opened < whole->opened) whole->opened = part->opened;
  if (part->ended > whole->ended) whole->ended = part->ended;
}

static void join_inputs(dq_schedule *schedule, int s, live_tree *tree) {
  const dq_schedule_step *step = &schedule->steps[s];
  if (!is_join(schedule, step)) return;
  int output = step->node->outputs[0]->index;
  dq_place *whole = &schedule->places[output];
  if (whole->storage != DQ_STORED_BLOCK || whole->root != output) return;
  size_t shift = 0;
  for (int i = 0; i < step->node->input_count; i++) {
    int value = step->node->inputs[i]->index;
    if (may_join(schedule, s, whole, value))
      join_part(tree, whole, output, &schedule->places[schedule->places[value].root], shift);
    shift += dq_tensor_bytes(&schedule->tensors[value]);
  }
}

static void fill_tree(const dq_schedule *schedule, live_tree *tree) {
  for (int v = 0; v < schedule->graph->value_count; v++) {
    const dq_place *place = &schedule->places[v];
    if (place->storage == DQ_STORED_BLOCK && place->root == v)
      add_live(tree, place->opened, place->ended, (int64_t)place->bytes);
  }
}

dq_status dq_schedule_join(dq_schedule *schedule, dq_error *error) {
  bool any = false;
  for (int s = 0; s < schedule->step_count && !any; s++) any = is_join(schedule, &schedule->steps[s]);
  if (!any) return DQ_OK;
  live_tree tree = {.leaves = 1};
  while (tree.leaves < schedule->step_count + 2) tree.leaves *= 2;
  tree.most = calloc(4 * (size_t)tree.leaves, sizeof *tree.most);
  if (!tree.most) return dq_fail_memory(error, 4 * (size_t)tree.leaves * sizeof *tree.most);
  tree.added = tree.most + 2 * (size_t)tree.leaves;
  fill_tree(schedule, &tree);
  tree.peak = tree.most[1];
  for (int s = 0; s < schedule->step_count; s++) join_inputs(schedule, s, &tree);
  free(tree.most);
  return DQ_OK;
}
