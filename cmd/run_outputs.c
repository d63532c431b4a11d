// Outputs of dq-run as they are: their types and shapes, the largest elements of vectors, files.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/run_command.h"
#include "cmd/shared/output_names.h"
#include "datasets/npy.h"
#include "lib/base/order.h"
#include "lib/eval/eval.h"
#include "lib/text/print_name.h"

dq_status dq_run_open_folder(const dq_run_arguments *options, const dq_plan *plan, dq_arena *arena, const char ***files,
                             dq_error *error) {
  int count = dq_plan_output_count(plan);
  *files = NULL;
  if (!options->save_output) return DQ_OK;
  DQ_TRY(dq_make_folder(options->save_output, error));
  const char **names = DQ_NEW_ARRAY(arena, count, const char *);
  if (!names) return dq_fail_memory(error, (size_t)count * sizeof *names);
  for (int i = 0; i < count; i++) names[i] = dq_plan_output_name(plan, i);
  return dq_output_names(names, count, arena, files, error);
}

dq_status dq_run_save_outputs(const dq_run_arguments *options, const char *const *files, const dq_tensor *outputs,
                              int count, int64_t index, dq_error *error) {
  for (int i = 0; files && i < count; i++) {
    char path[4096];
    if (index < 0) snprintf(path, sizeof path, "%s/%s.npy", options->save_output, files[i]);
    else snprintf(path, sizeof path, "%s/%06" PRId64 "_%s.npy", options->save_output, index, files[i]);
    DQ_TRY(dq_npy_write(path, &outputs[i], error));
  }
  return DQ_OK;
}

// Classifier: one vector of scores per picture.
static bool is_scores(const dq_tensor *output) {
  return output->type == DQ_F32 && output->rank >= 1 && dq_tensor_count(output) > 0 &&
         dq_tensor_count(output) / output->dims[0] <= 100000 &&
         (output->rank <= 2 || dq_tensor_product(output, 2, output->rank) == 1);
}

static dq_status print_scores(const dq_tensor *output, int64_t top, const dq_data *data, dq_error *error) {
  int64_t count = dq_tensor_count(output) / output->dims[0];
  dq_ranked *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  for (int64_t b = 0; b < output->dims[0]; b++) {
    for (int64_t i = 0; i < count; i++)
      sorted[i] = (dq_ranked){(double)((const float *)output->data)[b * count + i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, dq_compare_ranked);
    for (int64_t k = 0; k < top && k < count; k++) {
      const char *name = data ? dq_data_class_name(data, sorted[k].index) : NULL;
      printf("  %5" PRId64 "  %12.6g  ", sorted[k].index, sorted[k].value);
      dq_print_name(stdout, name ? name : "");
      putchar('\n');
    }
  }
  free(sorted);
  return DQ_OK;
}

static void note_odd_scores(const dq_tensor *output) {
  int64_t odd = 0, count = dq_tensor_count(output);
  for (int64_t i = 0; i < count; i++) odd += dq_is_no_score((double)((const float *)output->data)[i]);
  if (odd) printf(", %" PRId64 " of %" PRId64 " scores are NaN or infinite", odd, count);
}

dq_status dq_run_print_outputs(const dq_run_arguments *options, const dq_plan *plan, const dq_tensor *outputs,
                               const dq_data *data, dq_error *error) {
  for (int i = 0; i < dq_plan_output_count(plan); i++) {
    const dq_tensor *output = &outputs[i];
    char shape[DQ_SHAPE_TEXT];
    dq_print_name(stdout, dq_plan_output_name(plan, i));
    printf(": %s %s", dq_dtype_name(output->type), dq_tensor_shape_text(output, shape, sizeof shape));
    if (is_scores(output)) note_odd_scores(output);
    putchar('\n');
    if (is_scores(output)) DQ_TRY(print_scores(output, options->answers.top, data, error));
  }
  return DQ_OK;
}

dq_status dq_run_set_convolutions(const dq_run_arguments *options, const dq_graph *graph, const char *usual,
                                  dq_arena *arena, dq_session_options *session, dq_error *error) {
  dq_convolutions *ways;
  int count;
  DQ_TRY(dq_read_convolutions(&options->convolutions, usual, arena, &ways, &count, error));
  if (count > 1) return dq_fail(error, DQ_USAGE, "option '--conv': one algorithm for all layers, %d given", count);
  session->convolutions = ways->settings;
  session->convolution_count = ways->count;
  return dq_conv_settings_check(ways->settings, ways->count, &graph, 1, error);
}
