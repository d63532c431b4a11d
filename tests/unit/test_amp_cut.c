// Casts are the fewest: minimum cuts by hand, against every categorization of small random networks, and against the
// greedy rule (a node that follows is float16 when all its computed inputs are) on them and on real
// models. Which values have a type.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/graph/min_cut.h"
#include "lib/onnx/onnx.h"
#include "quant/amp/amp_internal.h"

static const dq_context context = {0};

static void cut_by_hand(void **state) {
  (void)state;
  // source -3-> 2 -1-> 3 -2-> sink, 2 -1-> sink, and 4 that hangs at the source alone: cut 1 + 1.
  dq_arena *arena = dq_arena_new(0);
  dq_min_cut *cut = dq_min_cut_new(arena, 5);
  static const int edges[][3] = {
      {DQ_CUT_SOURCE, 2, 3}, {2, 3, 1}, {3, DQ_CUT_SINK, 2}, {2, DQ_CUT_SINK, 1}, {DQ_CUT_SOURCE, 4, 1}};
  for (int i = 0; i < 5; i++)
    assert_int_equal(dq_min_cut_edge(cut, edges[i][0], edges[i][1], edges[i][2], i == 1), DQ_OK);
  bool at_source[5];
  int64_t cost;
  assert_int_equal(dq_min_cut_solve(cut, at_source, &cost), DQ_OK);
  assert_int_equal(cost, 2);
  assert_true(at_source[DQ_CUT_SOURCE] && at_source[2] && at_source[4]);
  assert_false(at_source[DQ_CUT_SINK] || at_source[3]);
  dq_arena_free(arena);
}

// ---- What a categorization costs, counted from the graph alone ----

typedef struct price {
  int64_t bytes;
  int casts;
} price;

static bool mixed(const dq_amp_job *job, const dq_value *value, const bool *half) {
  bool own = value->producer ? half[value->producer->index] : false, other = value->is_output && own;
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *user = value->users[u];
    if (dq_amp_reads_any(user)) continue;
    for (int i = 0; i < user->input_count; i++)
      other |= user->inputs[i] == value && (half[user->index] && dq_amp_input_is_half(job, user, i)) != own;
  }
  return other;
}

static price price_of(const dq_amp_job *job, const bool *half) {
  price total = {0};
  for (int v = 0; v < job->value_count; v++) {
    const dq_value *value = job->graph->values[v];
    if (!dq_amp_is_float(job, value) || dq_amp_constant(job, value) || !mixed(job, value, half)) continue;
    total.casts++;
    total.bytes += 6 * dq_tensor_count(&job->tensors[v]);
  }
  return total;
}

static void greedy(const dq_amp_job *job, dq_node *const *order, bool *half) {
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = order[n];
    bool follows = false, all = true;
    for (int i = 0; i < node->input_count; i++) {
      const dq_value *input = node->inputs[i];
      if (!input || dq_amp_constant(job, input) || !dq_amp_input_is_half(job, node, i)) continue;
      follows = true;
      all &= input->producer && half[input->producer->index];
    }
    half[node->index] = node->mark == DQ_AMP_HALF || (node->mark == DQ_AMP_FREE && follows && all);
  }
}

// Colours a graph, and gives the price of the greedy rule and of the cut.
static dq_amp_job categorized(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report) {
  dq_amp_job job = {.graph = graph,
                    .options = options,
                    .context = &context,
                    .arena = graph->arena,
                    .report = report,
                    .value_count = graph->value_count};
  *report = (dq_amp_report){0};
  dq_error error = {0};
  if (dq_infer(graph, &options->shapes, DQ_INFER_TOLERANT, &context, graph->arena, &job.tensors, &error) != DQ_OK)
    fail_msg("%s", error.message);
  job.half = DQ_NEW_ARRAY(graph->arena, graph->value_count, bool);
  assert_int_equal(dq_amp_categorize(&job), DQ_OK);
  return job;
}

static void halves_of(const dq_amp_report *report, bool *half) {
  for (int n = 0; n < report->count; n++) half[n] = report->nodes[n].half;
}

static void compare(dq_graph *graph, price *rule, price *cut) {
  dq_amp_options options = {.shapes = {.batch = 1}};
  dq_amp_report report;
  dq_amp_job job = categorized(graph, &options, &report);
  dq_node **order = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_node *);
  bool *half = DQ_NEW_ARRAY(graph->arena, graph->node_count, bool);
  assert_int_equal(dq_graph_order(graph, order, NULL), DQ_OK);
  greedy(&job, order, half);
  *rule = price_of(&job, half);
  assert_int_equal(dq_amp_cut(&job), DQ_OK);
  halves_of(&report, half);
  *cut = price_of(&job, half);
  assert_true(cut->bytes <= rule->bytes);
  assert_int_equal(dq_amp_rewrite(&job), DQ_OK);
  assert_int_equal(report.cast_bytes, cut->bytes);
  assert_int_equal(report.casts, cut->casts);
}

static int casts_in_a_row(const dq_graph *graph) {
  int count = 0;
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    const dq_node *before = node->input_count && node->inputs[0] ? node->inputs[0]->producer : NULL;
    count += before && dq_node_is(node, "Cast") && dq_node_is(before, "Cast");
  }
  return count;
}

// ---- Random networks of matrices with 4 columns ----

enum { NODES = 12 };

static dq_value *matrix(dq_graph *graph, const char *name, int rows) {
  dq_value *value = dq_graph_add_value(graph, name);
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, 2, dq_dimension);
  dims[0].size = rows, dims[1].size = 4;
  value->dims = dims, value->type = DQ_F32, value->rank = 2;
  return value;
}

static dq_graph *random_network(dq_random *random) {
  dq_graph *graph = dq_graph_new(0);
  graph->ir_version = 7;
  dq_graph_set_opset(graph, "", 13, NULL);
  dq_value *made[NODES + 1] = {matrix(graph, "x", 2)};
  dq_tensor *weights = dq_tensor_new(graph->arena, DQ_F32, 2, (int64_t[]){4, 4});
  dq_value *w = dq_graph_add_constant(graph, "w", weights);
  for (int n = 0; n < NODES; n++) {
    static const char *const names[] = {"MatMul", "Softmax", "Relu", "Concat", "Concat"};
    int kind = (int)dq_random_below(random, 5);
    dq_value *a = made[dq_random_below(random, (unsigned)n + 1)], *b = made[dq_random_below(random, (unsigned)n + 1)];
    dq_value *inputs[] = {a, kind ? b : w};
    char name[16];
    snprintf(name, sizeof name, "v%d", n);
    made[n + 1] = dq_graph_add_value(graph, name);
    dq_node *node =
        dq_graph_add_node(graph, n, names[kind], name, kind == 1 || kind == 2 ? 1 : 2, inputs, 1, &made[n + 1]);
    if (kind >= 3) dq_node_set_int(graph, node, "axis", 0);
  }
  graph->inputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  graph->outputs = DQ_NEW_ARRAY(graph->arena, 1, dq_value *);
  (graph->inputs[0] = made[0])->is_input = true;
  (graph->outputs[0] = made[NODES])->is_output = true;
  graph->input_count = graph->output_count = 1;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  return graph;
}

static void best_of_all(void **state) {
  (void)state;
  dq_random random = {7};
  int64_t saved = 0;
  for (int trial = 0; trial < 60; trial++) {
    dq_graph *graph = random_network(&random);
    dq_amp_options options = {0};
    dq_amp_report report;
    dq_amp_job job = categorized(graph, &options, &report);
    int free_nodes[NODES], count = 0;
    bool half[NODES];
    for (int n = 0; n < NODES; n++) {
      half[n] = graph->nodes[n]->mark == DQ_AMP_HALF;
      if (graph->nodes[n]->mark == DQ_AMP_FREE) free_nodes[count++] = n;
    }
    price best = {INT64_MAX, 0};
    for (unsigned categories = 0; categories < 1u << count; categories++) {
      for (int i = 0; i < count; i++) half[free_nodes[i]] = categories >> i & 1;
      price here = price_of(&job, half);
      if (here.bytes < best.bytes || (here.bytes == best.bytes && here.casts < best.casts)) best = here;
    }
    price rule, cut;
    compare(graph, &rule, &cut);
    assert_int_equal(cut.bytes, best.bytes);
    assert_int_equal(cut.casts, best.casts);
    assert_int_equal(casts_in_a_row(graph), 0);
    saved += rule.bytes - cut.bytes;
    dq_graph_free(graph);
  }
  assert_true(saved > 0); // the greedy rule is not always the best
}

// Models of $DQ_ASSETS: never more than the greedy rule, at most 2 casts in plain CNNs.
static void real_models(void **state) {
  (void)state;
  static const char *const names[] = {"squeezenet1.1",
                                      "tiny_darknet",
                                      "mobilenetv1_025_224",
                                      "mobilenetv2_100_224_deq_ptq",
                                      "efficientnet_lite0",
                                      "resnet20_cifar10",
                                      "resnet56_cifar10",
                                      "mlperftiny_resnet8_cifar10",
                                      "mlperftiny_vww_mobilenetv1_025_96",
                                      "mnist_cntk",
                                      "unet_lgg_small_selftrained",
                                      "yolo_fastest_1.1",
                                      "yolo_fastest_1.1_xl",
                                      "yolox_nano",
                                      "espnetv2_voc_s2_384"};
  const char *assets = getenv("DQ_ASSETS");
  int found = 0;
  for (size_t i = 0; assets && i < sizeof names / sizeof *names; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/models/%s.onnx", assets, names[i]);
    dq_graph *graph = NULL;
    if (dq_onnx_load(&graph, path, &context, NULL) != DQ_OK) continue;
    found++;
    price rule, cut;
    compare(graph, &rule, &cut);
    assert_true(cut.casts <= rule.casts);
    assert_int_equal(cut.casts, 1 + graph->output_count);
    assert_int_equal(casts_in_a_row(graph), 0);
    dq_graph_free(graph);
  }
  if (!found) {
    print_message("SKIP real_models: no models in $DQ_ASSETS\n");
    skip();
  }
}

// Values that the rewriting adds, behind those that have a type, are not looked up in the table of types.
static void values_without_a_type(void **state) {
  (void)state;
  dq_tensor tensors[] = {{.type = DQ_F32}, {.type = DQ_F16}, {.type = DQ_F32}};
  const dq_amp_job job = {.tensors = tensors, .value_count = 2};
  assert_true(dq_amp_is_float(&job, &(dq_value){.index = 0}));
  assert_false(dq_amp_is_float(&job, &(dq_value){.index = 1}));
  assert_false(dq_amp_is_float(&job, &(dq_value){.index = 2}));
  assert_false(dq_amp_is_float(&job, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut_by_hand), cmocka_unit_test(best_of_all),
                                     cmocka_unit_test(real_models), cmocka_unit_test(values_without_a_type)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
