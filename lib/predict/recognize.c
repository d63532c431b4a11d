#include "lib/predict/recognize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/preprocess.h"
#include "lib/base/sizes.h"
#include "lib/decode/metadata.h"
#include "lib/decode/text/ctc.h"
#include "lib/document/stored_preset.h"
#include "lib/predict/numbers_text.h"
#include "lib/predict/predictor.h"
#include "lib/session/session.h"

enum { USUAL_HEIGHT = 48 };
static const int64_t WIDTHS[] = {320, 640, 1280, 2560}; // of inputs of that height whose width is open

struct dq_recognizer {
  const dq_graph *graph;
  const dq_context *context;
  const char *dictionary_path;
  dq_arena *arena;
  dq_preprocess preprocess;
  dq_session sessions[DQ_COUNT(WIDTHS)]; // by width, opened when a line needs them
  bool open[DQ_COUNT(WIDTHS)];
  int64_t height, width; // of the input; width 0: it is open
  dq_dictionary dictionary;
  bool asked; // for the dictionary
};

static dq_status read_preset(dq_recognizer *recognizer, dq_error *error) {
  dq_data_options options = {0};
  const char *norm;
  dq_apply_stored_preset(&options, recognizer->graph, NULL);
  return dq_preprocess_parse(&recognizer->preprocess, options.preprocess ? NULL : "ppocr-rec", options.preprocess,
                             &norm, recognizer->arena, error);
}

static dq_status read_input(dq_recognizer *recognizer, dq_error *error) {
  const dq_graph *graph = recognizer->graph;
  const dq_value *input = graph->input_count ? graph->inputs[0] : NULL;
  if (!input || input->rank != 4 || !graph->output_count)
    return dq_fail(error, DQ_BAD_INPUT, "the model has no picture as its input, expected a text recognizer");
  recognizer->height = input->dims[2].size > 0 ? input->dims[2].size : USUAL_HEIGHT;
  recognizer->width = input->dims[3].size > 0 ? input->dims[3].size : 0;
  return DQ_OK;
}

dq_status dq_recognizer_open(dq_recognizer **recognizer, const dq_graph *graph, const char *dictionary,
                             const dq_context *context, dq_error *error) {
  dq_recognizer *opened = calloc(1, sizeof *opened);
  *recognizer = NULL;
  if (!opened) return dq_fail_memory(error, sizeof *opened);
  *opened = (dq_recognizer){
      .graph = graph, .context = context, .dictionary_path = dictionary, .arena = dq_context_arena(context)};
  dq_status status = opened->arena ? read_input(opened, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = read_preset(opened, error);
  if (status == DQ_OK) *recognizer = opened;
  else dq_recognizer_free(opened);
  return status;
}

void dq_recognizer_free(dq_recognizer *recognizer) {
  if (!recognizer) return;
  for (int i = 0; i < DQ_COUNT(WIDTHS); i++)
    if (recognizer->open[i]) dq_session_close(&recognizer->sessions[i]);
  dq_dictionary_deinit(&recognizer->dictionary);
  dq_arena_free(recognizer->arena);
  free(recognizer);
}

// The session for a line of this aspect (width over height).
static dq_status session_for(dq_recognizer *recognizer, double aspect, dq_session **session, dq_error *error) {
  int i = 0;
  if (!recognizer->width)
    while (i + 1 < DQ_COUNT(WIDTHS) && aspect * USUAL_HEIGHT > (double)WIDTHS[i]) i++;
  *session = &recognizer->sessions[i];
  if (recognizer->open[i]) return DQ_OK;
  const int64_t width = recognizer->width ? recognizer->width : WIDTHS[i] * recognizer->height / USUAL_HEIGHT;
  dq_input_shape shape = {.name = "", .rank = 4, .dims = {1, 3, recognizer->height, width}};
  const dq_session_options options = {.shapes = {.inputs = &shape, .input_count = 1, .batch = 1}};
  DQ_TRY(dq_session_open(*session, recognizer->graph, &options, recognizer->context, error));
  recognizer->open[i] = true;
  return DQ_OK;
}

static dq_status open_dictionary(dq_recognizer *recognizer, const dq_tensor *output, dq_error *error) {
  const dq_metadata metadata = dq_metadata_of(recognizer->graph);
  const int64_t classes = dq_ctc_classes(output);
  if (recognizer->asked) return DQ_OK;
  recognizer->asked = true;
  if (recognizer->dictionary_path)
    return dq_dictionary_read(&recognizer->dictionary, recognizer->dictionary_path, classes, recognizer->context,
                              error);
  if (!metadata.character) return DQ_OK;
  return dq_dictionary_of_model(&recognizer->dictionary, &metadata, classes, recognizer->context, error);
}

static dq_status set_text(const dq_recognizer *recognizer, const dq_ctc *ctc, dq_prediction *line, dq_error *error) {
  line->text_score = ctc->score;
  if (!recognizer->dictionary.lines.count) return dq_numbers_text(&line->text, ctc, recognizer->context, error);
  return dq_ctc_text(&line->text, ctc, &recognizer->dictionary, recognizer->context, error);
}

static dq_status read_line(dq_recognizer *recognizer, dq_image *line, dq_prediction *object, dq_error *error) {
  dq_session *session;
  dq_view view;
  dq_ctc ctc;
  DQ_TRY(session_for(recognizer, (double)line->width / (double)line->height, &session, error));
  const dq_tensor *input = dq_plan_input(session->plan, 0);
  if (input->type != DQ_F32) return dq_fail(error, DQ_UNSUPPORTED, "the input is not of type float32");
  const dq_picture_shape shape = {
      .channels = (int)input->dims[1], .height = (int)input->dims[2], .width = (int)input->dims[3]};
  if (shape.channels != 1 && shape.channels != 3)
    return dq_fail(error, DQ_BAD_INPUT, "the input has %d channels, expected 1 or 3", shape.channels);
  DQ_TRY(dq_preprocess_apply(&recognizer->preprocess, line, NULL, &shape, input->data, &view, error));
  DQ_TRY(dq_plan_run(session->plan, error));
  const dq_tensor *output = dq_plan_output(session->plan, 0);
  DQ_TRY(open_dictionary(recognizer, output, error));
  DQ_TRY(dq_ctc_read(&ctc, output, 0, 0, recognizer->context, error));
  dq_status status = set_text(recognizer, &ctc, object, error);
  dq_ctc_deinit(&ctc);
  return status;
}

static double clip(double value, double most) { return value > 0 ? value < most ? value : most : 0; }

dq_status dq_recognize(dq_recognizer *recognizer, const dq_image *picture, dq_predictor *predictor, dq_error *error) {
  for (int64_t i = 0; i < predictor->object_count; i++) {
    dq_prediction *object = &predictor->objects[i];
    double corners[4][2];
    dq_image line = {0};
    for (int k = 0; k < 4; k++) {
      corners[k][0] = clip(floor(object->corners[k][0] + 0.5), (double)picture->width - 1);
      corners[k][1] = clip(floor(object->corners[k][1] + 0.5), (double)picture->height - 1);
    }
    if (!object->rotated || dq_image_crop(&line, picture, corners, NULL) != DQ_OK) continue;
    dq_status status = read_line(recognizer, &line, object, error);
    dq_image_deinit(&line);
    if (status != DQ_OK) return status;
  }
  return DQ_OK;
}
