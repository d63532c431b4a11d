// Accuracy and comparison of the public interface.
#include "lib/api/api_internal.h"
#include "lib/eval/accuracy.h"
#include "lib/decode/decode.h"

// ---- Accuracy ----

static const dq_model_accuracy_options accuracy_defaults = {.batch = 1};
enum { FIGURES = sizeof(((dq_model_accuracy_facts *)0)->figures) / sizeof(dq_figure_row) };
_Static_assert((int)FIGURES == (int)DQ_MAX_FIGURES, "room for all figures");

void dq_model_accuracy_defaults(dq_model_accuracy_options *options, size_t size) {
  dq_api_set_defaults(options, size, &accuracy_defaults, sizeof *options);
}

static void give_accuracy(const dq_result *result, dq_model_accuracy_facts *facts) {
  dq_model_accuracy_facts known = {.task = result->task,
                                   .pictures = result->pictures,
                                   .figure_count = result->count,
                                   .nonfinite = result->nonfinite};
  for (int i = 0; i < result->count; i++)
    known.figures[i] = (dq_figure_row){.name = result->figures[i].name,
                                       .key = result->figures[i].key,
                                       .unit = result->figures[i].unit,
                                       .value = result->figures[i].value};
  dq_api_copy_results(facts, &known, sizeof known);
}

static dq_status measure(const dq_model *model, dq_dataset *dataset, const dq_model_accuracy_options *options,
                         dq_arena *arena, dq_result *result, dq_error *error) {
  dq_model_accuracy_options given = accuracy_defaults;
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  if (given.batch < 1 || given.batch > 65536)
    return dq_fail(error, DQ_USAGE, "batch is %lld, expected 1 to 65536", (long long)given.batch);
  DQ_TRY(dq_task_check(given.task, error));
  DQ_TRY(dq_decoder_check(given.decode, error));
  dq_accuracy_options settings = {.task = given.task, .decode = given.decode, .batch = given.batch};
  DQ_TRY(dq_api_shapes(given.shapes, (const dq_graph *const[]){model->graph}, 1, given.batch, arena, &settings.shapes,
                       error));
  return dq_accuracy_run(result, model->graph, dataset->data, &settings, &model->engine->context, error);
}

dq_code dq_model_accuracy(dq_model *model, dq_dataset *dataset, const dq_model_accuracy_options *options,
                          dq_model_accuracy_facts *facts, dq_failure *failure) {
  dq_call call;
  dq_result result = {0};
  dq_arena *arena = NULL;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"dataset", dataset});
  if (status == DQ_OK) status = dq_api_check_facts(facts, &call.error);
  if (status == DQ_OK && !(arena = dq_context_arena(&model->engine->context))) status = dq_fail_memory(&call.error, 0);
  if (status == DQ_OK) status = measure(model, dataset, options, arena, &result, &call.error);
  dq_arena_free(arena);
  if (status == DQ_OK) give_accuracy(&result, facts);
  return dq_api_leave(&call, status, failure);
}

// ---- Comparison ----

void dq_model_compare_defaults(dq_model_compare_options *options, size_t size) {
  dq_api_set_defaults(options, size, &(dq_model_compare_options){0}, sizeof *options);
}

static dq_status compare(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                         const dq_model_compare_options *options, dq_arena *arena, dq_error *error) {
  dq_model_compare_options given = {0};
  DQ_TRY(dq_api_read_options(&given, sizeof given, options, error));
  dq_layer_options settings = {.by_names = given.match_names != 0};
  const dq_graph *graphs[] = {model->graph, reference->graph};
  DQ_TRY(dq_api_shapes(given.shapes, graphs, 2, 0, arena, &settings.shapes, error));
  return dq_compare_layers(&model->comparison, reference->graph, model->graph, dataset->data, &settings,
                           &model->engine->context, arena, error);
}

// Makes the comparison that the model keeps, in place of the one before.
static dq_status keep_comparison(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                                 const dq_model_compare_options *options, dq_error *error) {
  dq_arena_free(model->comparison_arena);
  model->comparison_arena = NULL;
  dq_arena *arena = dq_context_arena(&model->engine->context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = compare(model, reference, dataset, options, arena, error);
  if (status == DQ_OK) model->comparison_arena = arena;
  else dq_arena_free(arena);
  return status;
}

dq_code dq_model_compare(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                         const dq_model_compare_options *options, dq_model_compare_facts *facts, dq_failure *failure) {
  dq_call call;
  dq_status status = DQ_ENTER(&call, {"model", model}, {"reference", reference}, {"dataset", dataset});
  if (status == DQ_OK) status = dq_api_check_facts(facts, &call.error);
  if (status == DQ_OK) status = keep_comparison(model, reference, dataset, options, &call.error);
  if (status == DQ_OK) {
    const dq_model_compare_facts known = {.pictures = model->comparison.pictures,
                                          .outputs = model->comparison.output_count,
                                          .layers = model->comparison.layer_count};
    dq_api_copy_results(facts, &known, sizeof known);
  }
  return dq_api_leave(&call, status, failure);
}

int dq_model_compare_at(const dq_model *model, int index, dq_model_compare_row *row) {
  if (!model || !model->comparison_arena) return 0;
  const dq_layer_comparison *all = &model->comparison;
  if (index < 0 || index >= all->output_count + all->layer_count) return 0;
  bool output = index < all->output_count;
  const dq_layer_pair *pair = output ? &all->outputs[index] : &all->layers[index - all->output_count];
  const dq_comparison *distance = &pair->comparison;
  dq_model_compare_row known = {.value = pair->reference->name,
                                .compared = pair->candidate->name,
                                .layer = pair->layer ? dq_node_name(pair->layer) : NULL,
                                .sqnr = dq_comparison_sqnr(distance),
                                .cosine = dq_comparison_cosine(distance),
                                .largest = distance->largest,
                                .values = distance->values,
                                .nonfinite = distance->nonfinite,
                                .left_out = distance->left_out,
                                .agreement = index == 0 && all->scores ? dq_comparison_agreement(distance) : -1};
  dq_api_copy_results(row, &known, sizeof known);
  return 1;
}
