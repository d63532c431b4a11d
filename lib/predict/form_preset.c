#include "lib/predict/form_preset.h"

#include "lib/base/sizes.h"
#include "lib/predict/predict.h"
#include "lib/schedule/infer.h"
#include "lib/text/find_row.h"

typedef struct form_preset {
  const char *form, *preset;
} form_preset;

static const form_preset presets[] = {
#define DQ_FORM_PRESET(form, preset) {form, preset},
#include "lib/predict/form_presets.def"
#undef DQ_FORM_PRESET
};

// Heights and widths that are assumed in turn where they are open: of a picture, and of a line of text.
static const int64_t ASSUMED[][2] = {{640, 640}, {48, 320}};

static int64_t assumed_size(const dq_value *input, int dimension, int rows, const int64_t sizes[2]) {
  const int64_t declared = input->dims[dimension].size;
  if (declared > 0) return declared;
  if (dimension == 0) return 1;
  return dimension == rows ? sizes[0] : dimension == rows + 1 ? sizes[1] : 3;
}

static const char *find_form(const dq_graph *graph, const char *decode, const dq_tensor *tensors,
                             const dq_tensor *input, const dq_context *context, dq_arena *arena) {
  const int rows = dq_channels_last(4, input->dims) ? 1 : 2;
  const dq_tensor **outputs = DQ_NEW_ARRAY(arena, graph->output_count, const dq_tensor *);
  for (int i = 0; outputs && i < graph->output_count; i++) outputs[i] = &tensors[graph->outputs[i]->index];
  const dq_predict_options options = {.decode = decode,
                                      .graph = graph,
                                      .outputs = outputs,
                                      .input_height = input->dims[rows],
                                      .input_width = input->dims[rows + 1]};
  dq_predictor *predictor;
  if (!outputs || dq_predictor_open(&predictor, &options, context, NULL) != DQ_OK) return NULL;
  const char *form = dq_predictor_form(predictor);
  dq_predictor_free(predictor);
  return form;
}

// The row for the form that the outputs have at such sizes; -1: there is none.
static int row_at(const dq_graph *graph, const char *decode, const int64_t sizes[2], const dq_context *context,
                  dq_arena *arena) {
  const dq_value *input = graph->inputs[0];
  const int rows = input->dims[3].size == 1 || input->dims[3].size == 3 ? 1 : 2;
  dq_input_shape shape = {.name = "", .rank = 4};
  for (int i = 0; i < 4; i++) shape.dims[i] = assumed_size(input, i, rows, sizes);
  const dq_shape_request request = {.batch = 1, .inputs = &shape, .input_count = 1};
  dq_tensor *tensors;
  if (dq_infer_at(graph, &request, DQ_INFER_ALL, context, arena, &tensors, NULL) != DQ_OK) return -1;
  const char *form = find_form(graph, decode, tensors, &tensors[input->index], context, arena);
  return form ? dq_find_row(form, presets, sizeof *presets, DQ_COUNT(presets)) : -1;
}

const char *dq_form_preset(const dq_graph *graph, const char *decode, const char **form, const dq_context *context,
                           dq_arena *arena) {
  int found = -1;
  if (!graph->input_count || graph->inputs[0]->rank != 4 || dq_input_count(graph) != 1) return NULL;
  for (int i = 0; i < DQ_COUNT(ASSUMED) && found < 0; i++) found = row_at(graph, decode, ASSUMED[i], context, arena);
  if (found < 0) return NULL;
  *form = presets[found].form;
  return presets[found].preset;
}
