// Plans whose constants change: packed again, a plan answers as a new one does, bit for bit, for every operator that
// packs, every algorithm of convolutions, with and without the instruction sets of this machine, on one thread and two.
// And plans that share what one of them packed: they answer side by side as a plan of their own does.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "lib/base/half.h"
#include "lib/base/random.h"
#include "lib/kernels/conv/conv.h"
#include "tests/unit/plan_harness.h"
#include "tests/unit/schedule_harness.h"

typedef enum kind { WEIGHT, SCALE, ZERO_POINT } kind;

typedef struct network {
  dq_graph *graph;
  int type; // of x
  dq_tensor *constants[8];
  kind kinds[8];
  int count;
} network;

static void set_random(dq_tensor *tensor, kind what, dq_random *random) {
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    float normal = dq_random_normal(random);
    uint64_t number = dq_random_below(random, what == ZERO_POINT ? 40 : 256);
    if (what == ZERO_POINT && tensor->type == DQ_U8) number += 108;
    switch (tensor->type) {
    case DQ_F32: ((float *)tensor->data)[i] = what == SCALE ? 0.01f + 0.0001f * (float)number : normal; break;
    case DQ_F16: ((uint16_t *)tensor->data)[i] = dq_float_to_half(what == SCALE ? 1 + normal * normal : normal); break;
    case DQ_I32: ((int32_t *)tensor->data)[i] = (int32_t)number - 128; break;
    default: ((uint8_t *)tensor->data)[i] = (uint8_t)number;
    }
  }
}

static void set_constants(network *n, uint64_t seed) {
  dq_random random = {seed};
  for (int i = 0; i < n->count; i++) set_random(n->constants[i], n->kinds[i], &random);
}

static dq_value *constant_of(network *n, kind what, int type, int rank, const int64_t *dims) {
  char name[16];
  snprintf(name, sizeof name, "c%d", n->count);
  n->kinds[n->count] = what;
  n->constants[n->count] = dq_tensor_new(n->graph->arena, type, rank, dims);
  return dq_graph_add_constant(n->graph, name, n->constants[n->count++]);
}
static dq_value *scale(network *n) { return constant_of(n, SCALE, DQ_F32, 0, NULL); }
static dq_value *zero_point(network *n, int type) { return constant_of(n, ZERO_POINT, type, 0, NULL); }

#define DIMS(...)                                                                                                      \
  (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define NODE(n, op, ...)                                                                                               \
  add((n)->graph, op, (int)(sizeof(dq_value *[]){__VA_ARGS__} / sizeof(dq_value *)), (dq_value *[]){__VA_ARGS__}, "y")

static dq_value *picture(network *n, int type) {
  n->type = type;
  dq_value *x = shaped(n->graph, "x", 4, (int64_t[]){1, 8, 11, 13});
  x->type = type;
  return x;
}
static dq_value *matrix(network *n, int type) {
  n->type = type;
  dq_value *x = shaped(n->graph, "x", 2, (int64_t[]){5, 70});
  x->type = type;
  return x;
}
static void pad(network *n, dq_node *node) { dq_node_set_ints(n->graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4); }

// ---- Networks of one step that packs ----

static void conv_of(network *n, int type, int64_t group) {
  dq_value *x = picture(n, type), *w = constant_of(n, WEIGHT, type, DIMS(8, 8 / group, 3, 3));
  dq_node *node = NODE(n, "Conv", x, w, constant_of(n, WEIGHT, type, DIMS(8)));
  dq_node_set_int(n->graph, node, "group", group);
  pad(n, node);
}
static void conv(network *n) { conv_of(n, DQ_F32, 1); }
static void depthwise(network *n) { conv_of(n, DQ_F32, 8); }
static void half_conv(network *n) { conv_of(n, DQ_F16, 1); }
static void half_depthwise(network *n) { conv_of(n, DQ_F16, 8); }
static void pixels(network *n) {
  dq_value *x = picture(n, DQ_F32);
  NODE(n, "Conv", x, constant_of(n, WEIGHT, DQ_F32, DIMS(20, 8, 1, 1)));
}
static void transposed(network *n) {
  dq_value *x = picture(n, DQ_F32);
  NODE(n, "ConvTranspose", x, constant_of(n, WEIGHT, DQ_F32, DIMS(8, 6, 2, 2)));
}
static void gemm(network *n) {
  dq_value *x = matrix(n, DQ_F32), *w = constant_of(n, WEIGHT, DQ_F32, DIMS(70, 33));
  NODE(n, "Gemm", x, w, constant_of(n, WEIGHT, DQ_F32, DIMS(33)));
}
static void flattened(network *n) { // a view of the input
  dq_value *x = picture(n, DQ_F32), *flat = add(n->graph, "Flatten", 1, &x, "flat")->outputs[0];
  NODE(n, "MatMul", flat, constant_of(n, WEIGHT, DQ_F32, DIMS(8 * 11 * 13, 9)));
}
static void half_gemm(network *n) {
  dq_value *x = matrix(n, DQ_F16), *w = constant_of(n, WEIGHT, DQ_F16, DIMS(70, 33));
  NODE(n, "Gemm", x, w, constant_of(n, WEIGHT, DQ_F16, DIMS(33)));
}
static void matmul(network *n) {
  dq_value *x = matrix(n, DQ_F32);
  NODE(n, "MatMul", x, constant_of(n, WEIGHT, DQ_F32, DIMS(70, 33)));
}
static void half_norm(network *n) { // whose constants are widened
  dq_value *x = picture(n, DQ_F16), *s = constant_of(n, SCALE, DQ_F16, DIMS(8));
  dq_value *b = constant_of(n, WEIGHT, DQ_F16, DIMS(8)), *m = constant_of(n, WEIGHT, DQ_F16, DIMS(8));
  NODE(n, "BatchNormalization", x, s, b, m, constant_of(n, SCALE, DQ_F16, DIMS(8)));
}
static void qconv_of(network *n, int weight_type, int64_t group) {
  dq_value *x = picture(n, DQ_U8), *xs = scale(n), *xz = zero_point(n, DQ_U8);
  dq_value *w = constant_of(n, WEIGHT, weight_type, DIMS(8, 8 / group, 3, 3)), *ws = scale(n);
  dq_value *wz = zero_point(n, weight_type), *ys = scale(n), *yz = zero_point(n, DQ_U8);
  dq_node *node = NODE(n, "QLinearConv", x, xs, xz, w, ws, wz, ys, yz, constant_of(n, WEIGHT, DQ_I32, DIMS(8)));
  dq_node_set_int(n->graph, node, "group", group);
  pad(n, node);
}
static void qconv(network *n) { qconv_of(n, DQ_I8, 1); }
static void qconv_unsigned(network *n) { qconv_of(n, DQ_U8, 2); }
static void qconv_depthwise(network *n) { qconv_of(n, DQ_I8, 8); }
static void conv_integer(network *n) {
  dq_value *x = picture(n, DQ_U8), *w = constant_of(n, WEIGHT, DQ_I8, DIMS(8, 8, 3, 3));
  NODE(n, "ConvInteger", x, w, zero_point(n, DQ_U8));
}
static void qmatmul(network *n) {
  dq_value *x = matrix(n, DQ_U8), *xs = scale(n), *xz = zero_point(n, DQ_U8);
  dq_value *w = constant_of(n, WEIGHT, DQ_I8, DIMS(70, 33)), *ws = scale(n), *wz = zero_point(n, DQ_I8);
  dq_value *ys = scale(n);
  NODE(n, "QLinearMatMul", x, xs, xz, w, ws, wz, ys, zero_point(n, DQ_U8));
}
static void matmul_integer(network *n) {
  dq_value *x = matrix(n, DQ_U8);
  NODE(n, "MatMulInteger", x, constant_of(n, WEIGHT, DQ_I8, DIMS(70, 33)));
}
static void qgemm(network *n) { // with the bias that QLinearMatMul has not
  dq_value *x = matrix(n, DQ_U8), *xs = scale(n), *xz = zero_point(n, DQ_U8);
  dq_value *w = constant_of(n, WEIGHT, DQ_I8, DIMS(70, 33)), *ws = scale(n), *wz = zero_point(n, DQ_I8);
  dq_value *ys = scale(n), *yz = zero_point(n, DQ_U8);
  NODE(n, "QGemm", x, xs, xz, w, ws, wz, ys, yz, constant_of(n, WEIGHT, DQ_I32, DIMS(33)))->domain = "dq";
}
static void qadd(network *n) { // whose scales are prepared
  dq_value *x = picture(n, DQ_U8), *xs = scale(n), *xz = zero_point(n, DQ_U8);
  dq_value *b = constant_of(n, WEIGHT, DQ_U8, DIMS(1, 8, 11, 13)), *bs = scale(n), *bz = zero_point(n, DQ_U8);
  dq_value *ys = scale(n);
  NODE(n, "QAdd", x, xs, xz, b, bs, bz, ys, zero_point(n, DQ_U8))->domain = "dq";
}
static void weight_from_weights(network *n) { // computed while scheduling
  dq_value *x = matrix(n, DQ_F32), *w = constant_of(n, WEIGHT, DQ_F32, DIMS(33, 70));
  NODE(n, "MatMul", x, add(n->graph, "Transpose", 1, &w, "wt")->outputs[0]);
}

static void (*const networks[])(network *) = {conv,
                                              depthwise,
                                              half_conv,
                                              half_depthwise,
                                              pixels,
                                              transposed,
                                              gemm,
                                              half_gemm,
                                              matmul,
                                              flattened,
                                              qconv,
                                              qconv_unsigned,
                                              qconv_depthwise,
                                              conv_integer,
                                              qmatmul,
                                              matmul_integer,
                                              qgemm,
                                              qadd,
                                              weight_from_weights,
                                              half_norm};

static network open_network(void (*build)(network *)) {
  network n = {.graph = new_graph()};
  build(&n);
  interface(n.graph, dq_graph_find(n.graph, "x"), dq_graph_find(n.graph, "y"));
  set_constants(&n, 1);
  assert_int_equal(dq_graph_index(n.graph, true, NULL), DQ_OK);
  return n;
}

static dq_plan *open_plan(const network *n, int algorithm, const dq_context *with) {
  dq_conv_setting setting = {NULL, algorithm};
  dq_binding binding = {.convolutions = &setting, .convolution_count = 1};
  dq_plan *plan;
  dq_error error = {0};
  if (dq_plan_new(&plan, n->graph, NULL, &binding, with, &error) != DQ_OK) fail_msg("%s", error.message);
  return plan;
}

static dq_tensor *answer(dq_plan *plan, dq_arena *arena) {
  dq_random random = {7};
  dq_error error = {0};
  set_random(dq_plan_input(plan, 0), WEIGHT, &random);
  if (dq_plan_run(plan, &error) != DQ_OK) fail_msg("%s", error.message);
  const dq_tensor *output = dq_plan_output(plan, 0);
  dq_tensor *copy = dq_arena_copy(arena, output, sizeof *output);
  copy->data = dq_arena_copy(arena, output->data, dq_tensor_bytes(output));
  return copy;
}

static void same_memory(const dq_plan *a, const dq_plan *b) {
  dq_plan_memory left = dq_plan_memory_of(a), right = dq_plan_memory_of(b);
  assert_int_equal(left.packed, right.packed);
  assert_int_equal(left.workspace, right.workspace);
}

// Three sets of constants, the first again at the end.
static void repack(void (*build)(network *), int algorithm, const dq_context *with) {
  network n = open_network(build);
  dq_arena *arena = dq_arena_new(0);
  dq_error error = {0};
  dq_plan *plan = open_plan(&n, algorithm, with);
  const dq_schedule *schedule = dq_plan_schedule(plan);
  dq_tensor *first = answer(plan, arena), *before = first;
  static const uint64_t seeds[] = {2, 3, 1};
  for (int i = 0; i < 3; i++) {
    set_constants(&n, seeds[i]);
    if (dq_plan_repack(plan, &error) != DQ_OK) fail_msg("%s", error.message);
    dq_tensor *now = answer(plan, arena);
    dq_plan *fresh = open_plan(&n, algorithm, with);
    same_bits(now, answer(fresh, arena));
    if (!memcmp(now->data, before->data, dq_tensor_bytes(now)))
      fail_msg("%s: the constants change nothing", n.graph->nodes[n.graph->node_count - 1]->op_type);
    same_schedule(schedule, dq_plan_schedule(fresh), false);
    same_memory(plan, fresh);
    const char *own = dq_plan_step_algorithm(plan, 0), *other = dq_plan_step_algorithm(fresh, 0);
    assert_true(own == other || !strcmp(own, other));
    dq_plan_free(fresh);
    before = now;
  }
  assert_ptr_equal(dq_plan_schedule(plan), schedule);
  same_bits(first, before);
  dq_plan_free(plan);
  dq_arena_free(arena);
  dq_graph_free(n.graph);
}

static void changed_constants_answer_as_a_new_plan(void **state) {
  (void)state;
  for (int threads = 1; threads <= 2; threads++)
    for (int feature = -1; feature <= DQ_CPU_FEATURES; feature++) {
      dq_context with;
      unsigned mask = feature < 0 ? 0 : feature == DQ_CPU_FEATURES ? ~0u : dq_cpu_with_implied(1u << feature);
      if (feature >= 0 && feature < DQ_CPU_FEATURES && (dq_cpu_detect() & mask) != mask) continue;
      assert_int_equal(dq_context_init(&with, threads, mask, NULL), DQ_OK);
      for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        bool convolves = networks[i] == conv || networks[i] == depthwise || networks[i] == pixels;
        for (int algorithm = 0; algorithm < (convolves ? DQ_CONV_CHOICES : 1); algorithm++)
          repack(networks[i], algorithm, &with);
      }
      dq_context_deinit(&with);
    }
}

// Weights of which pairs are safe get the kernel that adds pairs, where there is one; others may not keep it.
static void kernels_are_chosen_again(void **state) {
  (void)state;
  network n = open_network(qconv);
  dq_context with;
  assert_int_equal(dq_context_init(&with, 1, DQ_CPU_AVX2, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *weight = n.constants[2];
  assert_int_equal(weight->type, DQ_I8);
  memset(weight->data, 1, dq_tensor_bytes(weight));
  dq_plan *plan = open_plan(&n, 0, &with);
  answer(plan, arena);
  memset(weight->data, 127, dq_tensor_bytes(weight));
  assert_int_equal(dq_plan_repack(plan, NULL), DQ_OK);
  dq_plan *fresh = open_plan(&n, 0, &with);
  same_bits(answer(plan, arena), answer(fresh, arena));
  dq_plan_free(fresh);
  dq_plan_free(plan);
  dq_arena_free(arena);
  dq_context_deinit(&with);
  dq_graph_free(n.graph);
}

// A new shape is refused and nothing has happened; weights that are gone cannot be packed.
static void what_cannot_be_packed_again(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_tensor *sizes = dq_tensor_new(graph->arena, DQ_I64, 1, (int64_t[]){2});
  memcpy(sizes->data, (int64_t[]){3, 4}, sizeof(int64_t[2]));
  dq_value *x = shaped(graph, "x", 2, (int64_t[]){2, 6}), *to = dq_graph_add_constant(graph, "sizes", sizes);
  dq_value *w = constant(graph, "w", 2, (int64_t[]){4, 1}, (float[]){1, 2, 3, 4});
  dq_value *r = add(graph, "Reshape", 2, (dq_value *[]){x, to}, "r")->outputs[0];
  interface(graph, x, add(graph, "MatMul", 2, (dq_value *[]){r, w}, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  dq_plan *plan;
  dq_error error = {0};
  assert_int_equal(dq_plan_new(&plan, graph, NULL, NULL, &context, &error), DQ_OK);
  dq_tensor *before = run_plan(plan, arena, 1);
  memcpy(sizes->data, (int64_t[]){4, 3}, sizeof(int64_t[2]));
  ((float *)w->constant->data)[0] = 9;
  assert_int_equal(dq_plan_repack(plan, &error), DQ_BAD_INPUT);
  assert_non_null(strstr(error.message, "y"));
  ((float *)w->constant->data)[0] = 1;
  same_bits(before, run_plan(plan, arena, 1));
  memcpy(sizes->data, (int64_t[]){-1, 4}, sizeof(int64_t[2]));
  assert_int_equal(dq_plan_repack(plan, &error), DQ_OK);
  same_bits(before, run_plan(plan, arena, 1));
  dq_plan_free(plan);
  dq_arena_free(arena);
  dq_graph_free(graph);

  network n = open_network(conv);
  arena = dq_arena_new(0);
  plan = open_plan(&n, 0, &context);
  dq_tensor *answered = answer(plan, arena);
  dq_plan_free(plan);
  assert_int_equal(dq_plan_new(&plan, n.graph, NULL, &(dq_binding){.spent = n.graph}, &context, &error), DQ_OK);
  assert_int_equal(dq_plan_repack(plan, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "'c0'"));
  same_bits(answered, answer(plan, arena));
  dq_plan_free(plan);
  dq_arena_free(arena);
  dq_graph_free(n.graph);
}

// Twice the packed weights of 4 MB would not fit. On more threads the workspace does not fit either: the plan then does
// not run until it does.
static void memory_of_packing(void **state) {
  (void)state;
  network n = {.graph = new_graph()};
  dq_value *x = shaped(n.graph, "x", 2, (int64_t[]){1, 1000}), *w = constant_of(&n, WEIGHT, DQ_F32, DIMS(1000, 1000));
  interface(n.graph, x, NODE(&n, "MatMul", x, w)->outputs[0]);
  assert_int_equal(dq_graph_index(n.graph, true, NULL), DQ_OK);
  dq_budget budget = {.limit = 6 << 20};
  dq_context bounded = {.budget = &budget};
  dq_plan *plan;
  dq_error error = {0};
  assert_int_equal(dq_plan_new(&plan, n.graph, NULL, NULL, &bounded, &error), DQ_OK);
  size_t used = budget.used;
  for (int i = 0; i < 3; i++) assert_int_equal(dq_plan_repack(plan, &error), DQ_OK);
  assert_in_range(budget.used, used, used + (256 << 10));
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *before = run_plan(plan, arena, 1);
  dq_context many;
  assert_int_equal(dq_context_init(&many, 16, 0, NULL), DQ_OK);
  bounded.pool = many.pool;
  budget.limit = budget.used + (160 << 10);
  assert_int_equal(dq_plan_repack(plan, &error), DQ_SYSTEM);
  fill(dq_plan_input(plan, 0), 1);
  assert_int_equal(dq_plan_run(plan, &error), DQ_USAGE);
  budget.limit = 0;
  assert_int_equal(dq_plan_repack(plan, &error), DQ_OK);
  same_bits(before, run_plan(plan, arena, 1));
  dq_plan_free(plan);
  assert_int_equal(budget.used, 0);
  dq_context_deinit(&many);
  dq_arena_free(arena);
  dq_graph_free(n.graph);
}

// ---- Plans that share packed operands ----

enum { RUNS = 8 };

typedef struct sharer {
  dq_plan *plan;
  void *memory[2]; // lent by turns
  size_t bytes;    // of each
  void *input;     // lent in every other pair of runs, in front of a page that must not be touched
  const dq_tensor *expected;
  int different;
} sharer;

enum { PAGE = 4096 };

static size_t pages_of(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// Memory that ends where a page begins that nobody may read.
static void *new_guarded(size_t bytes) {
  const size_t pages = pages_of(bytes);
  char *memory = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  assert_int_equal(mprotect(memory + pages, PAGE, PROT_NONE), 0);
  return memory + pages - bytes;
}

static void free_guarded(void *guarded, size_t bytes) {
  assert_int_equal(munmap((char *)guarded + bytes - pages_of(bytes), pages_of(bytes) + PAGE), 0);
}

static void *run_sharer(void *argument) {
  sharer *self = argument;
  for (int run = 0; run < RUNS; run++) {
    dq_random random = {7};
    memset(self->memory[run % 2], 0x5a, self->bytes); // nothing of the runs before
    dq_plan_lend(self->plan, self->memory[run % 2]);
    dq_plan_lend_input(self->plan, 0, run / 2 % 2 ? self->input : NULL);
    self->different += (dq_plan_input(self->plan, 0)->data == self->input) != run / 2 % 2;
    set_random(dq_plan_input(self->plan, 0), WEIGHT, &random);
    if (dq_plan_run(self->plan, NULL) != DQ_OK) self->different++;
    else if (memcmp(dq_plan_output(self->plan, 0)->data, self->expected->data, dq_tensor_bytes(self->expected)))
      self->different++;
  }
  return NULL;
}

static void share(void (*build)(network *), int algorithm, const dq_context *with) {
  network n = open_network(build);
  dq_arena *arena = dq_arena_new(0);
  dq_plan *own = open_plan(&n, algorithm, with), *origin;
  dq_tensor *expected = answer(own, arena);
  dq_conv_setting setting = {NULL, algorithm};
  dq_binding binding = {.convolutions = &setting, .convolution_count = 1, .lent = true};
  dq_error error = {0};
  assert_int_equal(dq_plan_new(&origin, n.graph, NULL, &binding, with, &error), DQ_OK);
  assert_int_equal(dq_plan_run(origin, &error), DQ_USAGE);
  size_t bytes = dq_plan_lent_bytes(origin), input_bytes = dq_tensor_bytes(dq_plan_input(own, 0));
  sharer sharers[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    sharers[i] = (sharer){.expected = expected, .bytes = bytes, .input = new_guarded(input_bytes)};
    assert_int_equal(dq_plan_share(&sharers[i].plan, origin, with, &error), DQ_OK);
    assert_int_equal(dq_plan_run(sharers[i].plan, &error), DQ_USAGE);
    for (int m = 0; m < 2; m++) sharers[i].memory[m] = dq_arena_alloc(arena, bytes + 4096); // large blocks are aligned
  }
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_sharer, &sharers[i]), 0);
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
    if (sharers[i].different) fail_msg("%s: another answer", n.graph->nodes[n.graph->node_count - 1]->op_type);
    dq_plan_free(sharers[i].plan);
    free_guarded(sharers[i].input, input_bytes);
  }
  dq_plan_free(origin);
  dq_plan_free(own);
  dq_arena_free(arena);
  dq_graph_free(n.graph);
}

static void shared_operands_answer_as_own_ones(void **state) {
  (void)state;
  for (int native = 0; native < 2; native++) {
    dq_context with;
    assert_int_equal(dq_context_init(&with, 1, native ? ~0u : 0, NULL), DQ_OK);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
      bool convolves = networks[i] == conv || networks[i] == depthwise || networks[i] == pixels;
      for (int algorithm = 0; algorithm < (convolves ? DQ_CONV_CHOICES : 1); algorithm++)
        share(networks[i], algorithm, &with);
    }
    dq_context_deinit(&with);
  }
}

static void count_thread(void *user, int thread, int64_t begin, int64_t end) {
  atomic_fetch_add((atomic_int *)user, thread >= 0 && begin <= end);
}

// How often threads took part in a run of a shared plan, whose steps have a choice of threads.
static int shares_of_run(void (*build)(network *), int choice, const dq_context *with) {
  network n = open_network(build);
  dq_arena *arena = dq_arena_new(0);
  dq_plan *origin, *shared;
  dq_step_choice choices[8] = {0}; // more than a network has steps
  for (int s = 0; s < 8; s++) choices[s].values[DQ_KNOB_OF_THREADS] = choice;
  atomic_int shares = 0;
  assert_int_equal(dq_plan_new(&origin, n.graph, NULL, &(dq_binding){.choices = choices, .lent = true}, with, NULL), 0);
  assert_int_equal(dq_plan_share(&shared, origin, with, NULL), DQ_OK);
  dq_plan_lend(shared, dq_arena_alloc(arena, dq_plan_lent_bytes(origin) + 4096));
  dq_pool_observe(with->pool, count_thread, &shares);
  answer(shared, arena);
  dq_pool_observe(with->pool, NULL, NULL);
  dq_plan_free(shared);
  dq_plan_free(origin);
  dq_arena_free(arena);
  dq_graph_free(n.graph);
  return shares;
}

// The workspace of a step that was chosen to run in one thread is that of one thread.
static void shared_steps_keep_one_thread(void **state) {
  (void)state;
  dq_context with;
  assert_int_equal(dq_context_init(&with, 2, ~0u, NULL), DQ_OK);
  int shares[2] = {0};
  for (size_t i = 0; i < 2 * sizeof networks / sizeof *networks; i++)
    shares[i % 2] += shares_of_run(networks[i / 2], (int)(i % 2), &with);
  assert_true(shares[0] > 0 && shares[1] == 0);
  dq_context_deinit(&with);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changed_constants_answer_as_a_new_plan),
      cmocka_unit_test(kernels_are_chosen_again),
      cmocka_unit_test(what_cannot_be_packed_again),
      cmocka_unit_test(memory_of_packing),
      cmocka_unit_test(shared_operands_answer_as_own_ones),
      cmocka_unit_test(shared_steps_keep_one_thread),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
