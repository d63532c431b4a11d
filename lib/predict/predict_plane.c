// Maps: a class or a number for each point of the picture.
#include <math.h>
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/decode/item.h"
#include "lib/eval/eval.h"
#include "lib/eval/scores.h"
#include "lib/graph/saturation.h"
#include "lib/predict/predictor.h"

enum { LARGEST_PLANE = 1 << 28 }; // points

// Whether the rows and columns of a map, dimensions `rows` and the next, have the proportions of the input, to less
// than a point.
static bool is_like_input(const dq_predict_options *options, int rows) {
  const double height = (double)options->outputs[0]->dims[rows], width = (double)options->outputs[0]->dims[rows + 1];
  const double full_height = (double)options->input_height, full_width = (double)options->input_width;
  return fabs(height * full_width - width * full_height) < fmax(full_height, full_width);
}

// The dimension of the channels of a map with four: N x C x H x W, or N x H x W x C where that has one channel or the
// proportions of the input.
static int channels_axis(const dq_predict_options *options) {
  const int64_t *dims = options->outputs[0]->dims;
  if (dims[3] == 1) return dq_channels_last(4, dims) ? 3 : 1;
  return is_like_input(options, 1) && !is_like_input(options, 2) ? 3 : 1;
}

// Dimension of the channels of a map; 0: there is none.
static int channels_of(const dq_predict_options *options, int64_t *channels) {
  const dq_tensor *map = options->outputs[0];
  if (options->graph->output_count != 1 || map->rank < 3 || map->rank > 4) return 0;
  *channels = 1;
  if (map->rank == 3) return map->dims[1] > 1 && map->dims[2] > 1 ? 1 : 0;
  const int axis = channels_axis(options);
  *channels = map->dims[axis];
  const bool plane = axis == 3 ? map->dims[1] > 1 && map->dims[2] > 1 : map->dims[2] > 1 && map->dims[3] > 1;
  return plane ? axis : 0;
}

// Whether the only output is computed by a Sigmoid.
static bool is_share(const dq_predict_options *options) {
  static const char *const functions[] = {"Sigmoid", "HardSigmoid", NULL};
  return dq_function_behind(options->graph->outputs[0], functions);
}

// Whether the channels are those of the picture that goes in, as of a network that makes a picture of a picture.
static bool is_picture(const dq_predict_options *options, int axis, int64_t channels) {
  const dq_graph *graph = options->graph;
  const dq_value *input = graph->input_count ? graph->inputs[0] : NULL;
  return channels == 3 && input && input->rank == 4 && input->dims[axis].size == channels &&
         !dq_is_softmax(graph->outputs[0]);
}

static bool fits_points(const dq_predict_options *options) {
  int64_t channels = 0;
  const int axis = channels_of(options, &channels);
  if (!axis || options->outputs[0]->rank != 4) return false;
  return options->decode || (channels > 1 ? !is_picture(options, axis, channels) : is_share(options));
}

// Dimensions that do not have the proportions of the input may count anything, such as rows of numbers.
static bool fits_map(const dq_predict_options *options) {
  int64_t channels = 0;
  const int axis = channels_of(options, &channels);
  if (!axis || channels != 1) return false;
  return options->decode || is_like_input(options, options->outputs[0]->rank == 4 && axis == 1 ? 2 : 1);
}

// Sets the sizes of the plane; returns its number of points.
static dq_status set_sizes(dq_predictor *predictor, const dq_predict_options *options, size_t *points,
                           dq_error *error) {
  const dq_tensor *map = options->outputs[0];
  predictor->axis = channels_of(options, &predictor->plane.classes);
  const int rows = map->rank == 3 || predictor->axis == 3 ? 1 : 2;
  predictor->plane.height = map->dims[rows], predictor->plane.width = map->dims[rows + 1];
  if (!dq_mul_size((size_t)map->dims[rows], (size_t)map->dims[rows + 1], points) || *points > LARGEST_PLANE)
    return dq_fail(error, DQ_BAD_INPUT, "the map is too large");
  return DQ_OK;
}

static dq_status open_points(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  size_t points;
  DQ_TRY(set_sizes(predictor, options, &points, error));
  predictor->logits = predictor->plane.classes == 1 && !is_share(options);
  predictor->plane.labels = malloc(points * sizeof *predictor->plane.labels);
  return predictor->plane.labels ? DQ_OK : dq_fail_memory(error, points * sizeof *predictor->plane.labels);
}

static dq_status open_map(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  size_t points;
  DQ_TRY(set_sizes(predictor, options, &points, error));
  predictor->plane.values = malloc(points * sizeof *predictor->plane.values);
  return predictor->plane.values ? DQ_OK : dq_fail_memory(error, points * sizeof *predictor->plane.values);
}

// The first of the highest scores, `step` apart; -1: one is no score.
static int32_t class_at(const double *values, int64_t classes, int64_t step) {
  int64_t best = 0;
  for (int64_t c = 0; c < classes; c++) {
    if (dq_is_no_score(values[c * step])) return -1;
    if (values[c * step] > values[best * step]) best = c;
  }
  return (int32_t)best;
}

static dq_status predict_points(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                                dq_predictions *predictions, dq_error *error) {
  (void)predictions;
  const dq_prediction_plane *plane = &predictor->plane;
  const int64_t points = plane->height * plane->width, classes = plane->classes;
  const bool last = predictor->axis == 3;
  int32_t *labels = (int32_t *)(uintptr_t)plane->labels;
  double *values;
  DQ_TRY(dq_item_values(&values, outputs[0], item, points * classes, error));
  for (int64_t p = 0; p < points; p++)
    labels[p] = classes == 1 ? dq_is_no_score(values[p]) ? -1 : values[p] > (predictor->logits ? 0 : 0.5)
                             : class_at(last ? values + p * classes : values + p, classes, last ? 1 : points);
  free(values);
  return DQ_OK;
}

static dq_status predict_map(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                             dq_predictions *predictions, dq_error *error) {
  (void)predictions;
  const int64_t points = predictor->plane.height * predictor->plane.width;
  float *to = (float *)(uintptr_t)predictor->plane.values;
  double *values;
  DQ_TRY(dq_item_values(&values, outputs[0], item, points, error));
  for (int64_t p = 0; p < points; p++) to[p] = (float)values[p];
  free(values);
  return DQ_OK;
}

const dq_predictor_functions dq_predictor_points = {.name = "segment",
                                                    .kind = DQ_PREDICT_POINTS,
                                                    .expected = "one of N x classes x height x width",
                                                    .fits = fits_points,
                                                    .open = open_points,
                                                    .predict = predict_points};
const dq_predictor_functions dq_predictor_map = {.name = "map",
                                                 .kind = DQ_PREDICT_MAP,
                                                 .expected = "one of N x 1 x height x width or N x height x width",
                                                 .fits = fits_map,
                                                 .open = open_map,
                                                 .predict = predict_map};
