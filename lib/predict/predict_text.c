// Text: lines of recognizers, and regions of text that detectors find.
#include <math.h>
#include <string.h>

#include "lib/decode/metadata.h"
#include "lib/decode/text/ctc.h"
#include "lib/decode/text/regions.h"
#include "lib/eval/scores.h"
#include "lib/graph/saturation.h"
#include "lib/predict/numbers_text.h"
#include "lib/predict/predictor.h"

enum { LEAST_CHARACTERS = 20 };

// ---- Lines ----

// The only output is a sequence of steps: shares of many classes, or the model brings a dictionary.
static bool fits_line(const dq_predict_options *options) {
  if (options->graph->output_count != 1 || options->outputs[0]->rank < 2) return false;
  const dq_tensor *output = options->outputs[0];
  const int64_t classes = dq_ctc_classes(output);
  if (options->decode) return output->rank == 3 || output->rank == 2;
  if (output->rank != 3 || classes < LEAST_CHARACTERS) return false;
  return dq_metadata_of(options->graph).character || dq_is_softmax(options->graph->outputs[0]);
}

static dq_status open_line(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  const dq_metadata metadata = dq_metadata_of(options->graph);
  const int64_t classes = dq_ctc_classes(options->outputs[0]);
  if (options->dictionary)
    return dq_dictionary_read(&predictor->dictionary, options->dictionary, classes, predictor->context, error);
  if (!metadata.character) return DQ_OK;
  return dq_dictionary_of_model(&predictor->dictionary, &metadata, classes, predictor->context, error);
}

static void close_line(dq_predictor *predictor) { dq_dictionary_deinit(&predictor->dictionary); }

static dq_status add_line(dq_predictor *predictor, const dq_ctc *ctc, const dq_predictions *predictions,
                          dq_error *error) {
  dq_prediction *line = dq_add_prediction(predictor, error);
  if (!line) return DQ_SYSTEM;
  line->score = line->text_score = ctc->score;
  line->box = (dq_box){0, 0, (double)predictions->width, (double)predictions->height};
  if (!predictor->dictionary.lines.count) return dq_numbers_text(&line->text, ctc, predictor->context, error);
  return dq_ctc_text(&line->text, ctc, &predictor->dictionary, predictor->context, error);
}

static dq_status predict_line(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                              dq_predictions *predictions, dq_error *error) {
  dq_ctc ctc;
  DQ_TRY(dq_ctc_read(&ctc, outputs[0], item, 0, predictor->context, error));
  dq_status status = add_line(predictor, &ctc, predictions, error);
  dq_ctc_deinit(&ctc);
  return status;
}

const dq_predictor_functions dq_predictor_line = {.name = "text",
                                                  .kind = DQ_PREDICT_TEXT,
                                                  .expected = "one of N x steps x classes, or N x steps of classes",
                                                  .fits = fits_line,
                                                  .open = open_line,
                                                  .predict = predict_line,
                                                  .close = close_line};

// ---- Regions ----

// Whether the graph is one of PaddlePaddle, by the name of its input, which is all that tells its detectors of text
// from other networks with a map of shares: these have other masks.
static bool is_paddle(const dq_graph *graph) { return graph->input_count == 1 && !strcmp(graph->inputs[0]->name, "x"); }

static bool fits_regions(const dq_predict_options *options) {
  static const char *const functions[] = {"Sigmoid", NULL};
  if (options->graph->output_count != 1 || options->outputs[0]->rank != 4) return false;
  const dq_tensor *map = options->outputs[0];
  const bool plane = map->dims[1] == 1 && map->dims[2] == options->input_height && map->dims[3] == options->input_width;
  if (options->decode) return map->dims[1] == 1 || map->dims[3] == 1;
  return plane && is_paddle(options->graph) && dq_function_behind(options->graph->outputs[0], functions);
}

static double corner_distance(const double a[2], const double b[2]) { return hypot(a[0] - b[0], a[1] - b[1]); }

static dq_status add_region(dq_predictor *predictor, const dq_region *region, const dq_predictions *predictions,
                            dq_error *error) {
  dq_prediction *added = dq_add_prediction(predictor, error);
  if (!added) return DQ_SYSTEM;
  added->score = region->score, added->rotated = true;
  added->box = (dq_box){INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (int k = 0; k < 4; k++) {
    added->corners[k][0] = dq_place_x(predictions, region->corners[k][0]);
    added->corners[k][1] = dq_place_y(predictions, region->corners[k][1]);
    added->box.x1 = fmin(added->box.x1, added->corners[k][0]),
    added->box.x2 = fmax(added->box.x2, added->corners[k][0]);
    added->box.y1 = fmin(added->box.y1, added->corners[k][1]),
    added->box.y2 = fmax(added->box.y2, added->corners[k][1]);
  }
  // Regions of no area lie outside of the picture, as in the padding of a letterbox.
  if (corner_distance(added->corners[0], added->corners[2]) < 1) predictor->object_count--;
  return DQ_OK;
}

static dq_status predict_regions(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                                 dq_predictions *predictions, dq_error *error) {
  static const double ROW_PIXELS = 10; // of the picture, within which regions are in one row
  dq_region_options options = DQ_REGION_DEFAULTS;
  dq_score_map map;
  dq_regions regions = {0};
  options.box_threshold = predictor->score;
  DQ_TRY(dq_score_map_open(&map, outputs[0], item, predictor->context, error));
  dq_status status = dq_regions_find(&regions, &map, &options, predictor->context, error);
  if (status == DQ_OK) dq_regions_sort(&regions, ROW_PIXELS / (double)predictions->height / predictions->view.scale_y);
  for (int64_t i = 0; i < regions.count && status == DQ_OK; i++)
    status = add_region(predictor, &regions.items[i], predictions, error);
  dq_regions_deinit(&regions);
  dq_score_map_close(&map);
  return status;
}

const dq_predictor_functions dq_predictor_regions = {.name = "text-regions",
                                                     .kind = DQ_PREDICT_OBJECTS,
                                                     .expected = "one of N x 1 x height x width",
                                                     .usual_score = 0.5,
                                                     .fits = fits_regions,
                                                     .predict = predict_regions};
