// Objects with boxes: what a detector finds.
#include <math.h>
#include <stdlib.h>

#include "lib/decode/item.h"
#include "lib/decode/metadata.h"
#include "lib/predict/predictor.h"

// The outputs as the decoder takes them, in arrays of the caller for the outputs of the graph.
static dq_decode_options decoding_of(const dq_predict_options *options, dq_tensor *outputs, const char **names) {
  for (int i = 0; i < options->graph->output_count; i++) {
    outputs[i] = *options->outputs[i];
    names[i] = options->graph->outputs[i]->name;
  }
  return (dq_decode_options){.decode = options->decode,
                             .metadata = dq_metadata_of(options->graph),
                             .output_count = options->graph->output_count,
                             .outputs = outputs,
                             .output_names = names,
                             .input_height = options->input_height,
                             .input_width = options->input_width};
}

enum { MOST_OUTPUTS = 64 }; // of a detector

static bool fits_objects(const dq_predict_options *options) {
  dq_tensor outputs[MOST_OUTPUTS];
  const char *names[MOST_OUTPUTS];
  if (options->graph->output_count > MOST_OUTPUTS || options->input_height < 1) return false;
  const dq_decode_options decoding = decoding_of(options, outputs, names);
  return dq_decoder_possible(&decoding);
}

static dq_status open_objects(dq_predictor *predictor, const dq_predict_options *options, dq_error *error) {
  dq_tensor outputs[MOST_OUTPUTS];
  const char *names[MOST_OUTPUTS];
  if (options->graph->output_count > MOST_OUTPUTS)
    return dq_fail(error, DQ_UNSUPPORTED, "detect: %d outputs, at most %d are read", options->graph->output_count,
                   MOST_OUTPUTS);
  const dq_decode_options decoding = decoding_of(options, outputs, names);
  DQ_TRY(dq_detector_open(&predictor->detector, &decoding, predictor->context, error));
  predictor->detector.best_class = predictor->detector.decoder.one_class;
  predictor->form = dq_decoder_name(&predictor->detector.decoder);
  return DQ_OK;
}

static void close_objects(dq_predictor *predictor) { dq_detector_close(&predictor->detector); }

static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

// Sets the corners of a box that is turned by `angle` around its centre, in pixels of the input, which may lie outside
// of the picture, and the part of the box around them in the picture.
static void turn(const dq_predictor *predictor, const dq_predictions *predictions, const dq_box *box, double angle,
                 dq_prediction *object) {
  static const double signs[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  const double full_width = (double)predictor->input_width, full_height = (double)predictor->input_height;
  const double width = (box->x2 - box->x1) * full_width / 2, height = (box->y2 - box->y1) * full_height / 2;
  const double x = (box->x1 + box->x2) * full_width / 2, y = (box->y1 + box->y2) * full_height / 2;
  object->box = (dq_box){INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (int k = 0; k < 4; k++) {
    const double right = signs[k][0] * width, down = signs[k][1] * height;
    double *corner = object->corners[k];
    const double across = (x + right * cos(angle) - down * sin(angle)) / full_width;
    const double along = (y + right * sin(angle) + down * cos(angle)) / full_height;
    const double inside[2] = {dq_place_x(predictions, across), dq_place_y(predictions, along)};
    corner[0] = dq_free_x(predictions, across), corner[1] = dq_free_y(predictions, along);
    object->box.x1 = smaller(object->box.x1, inside[0]), object->box.x2 = larger(object->box.x2, inside[0]);
    object->box.y1 = smaller(object->box.y1, inside[1]), object->box.y2 = larger(object->box.y2, inside[1]);
  }
}

static dq_status add_points(const dq_decoder *decoder, const double *extras, const dq_predictions *predictions,
                            dq_prediction *object, dq_error *error) {
  double(*points)[3] = malloc((size_t)decoder->keypoints * sizeof *points);
  if (!points) return dq_fail_memory(error, (size_t)decoder->keypoints * sizeof *points);
  for (int64_t k = 0; k < decoder->keypoints; k++, extras += decoder->keypoint_numbers) {
    points[k][0] = dq_place_x(predictions, extras[0]);
    points[k][1] = dq_place_y(predictions, extras[1]);
    points[k][2] = decoder->keypoint_numbers > 2 ? extras[2] : 1;
  }
  object->points = points, object->keypoints = decoder->keypoints;
  return DQ_OK;
}

// The box in pixels of the picture, whichever of its sides the network gives first.
static dq_box placed(const dq_predictions *predictions, const dq_box *box) {
  const double xs[2] = {dq_place_x(predictions, box->x1), dq_place_x(predictions, box->x2)};
  const double ys[2] = {dq_place_y(predictions, box->y1), dq_place_y(predictions, box->y2)};
  return (dq_box){smaller(xs[0], xs[1]), smaller(ys[0], ys[1]), larger(xs[0], xs[1]), larger(ys[0], ys[1])};
}

static dq_status add_object(dq_predictor *predictor, const dq_detection *found, const dq_predictions *predictions,
                            dq_error *error) {
  const dq_decoder *decoder = &predictor->detector.decoder;
  const double *extras = predictor->detector.candidates.extras + found->candidate * decoder->extras;
  dq_prediction *object = dq_add_prediction(predictor, error);
  if (!object) return DQ_SYSTEM;
  object->label = found->label, object->score = found->score, object->rotated = decoder->rotated;
  object->box = placed(predictions, &found->box);
  if (decoder->rotated) turn(predictor, predictions, &found->box, extras[0], object);
  return decoder->keypoints ? add_points(decoder, extras + decoder->rotated, predictions, object, error) : DQ_OK;
}

// Highest scores first; of equal ones the order in which they were found.
static int by_score(const void *left, const void *right) {
  const dq_detection *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  if (a->label != b->label) return a->label < b->label ? -1 : 1;
  return a->candidate < b->candidate ? -1 : a->candidate > b->candidate;
}

static dq_status add_masks(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                           const dq_predictions *predictions, dq_error *error) {
  const dq_detector *detector = &predictor->detector;
  const dq_decoder *decoder = &detector->decoder;
  double *planes;
  DQ_TRY(dq_item_values(&planes, outputs[decoder->output[1]], item, decoder->elements[1], error));
  dq_status status = DQ_OK;
  for (int64_t i = 0; i < detector->count && status == DQ_OK; i++)
    status = dq_fill_mask(predictor, planes, &detector->found[i], predictions, &predictor->objects[i], error);
  free(planes);
  return status;
}

static dq_status predict_objects(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                                 dq_predictions *predictions, dq_error *error) {
  dq_detector *detector = &predictor->detector;
  DQ_TRY(dq_detect(detector, outputs, item, predictor->score, predictor->overlap, error));
  if (detector->count) qsort(detector->found, (size_t)detector->count, sizeof *detector->found, by_score);
  for (int64_t i = 0; i < detector->count; i++) DQ_TRY(add_object(predictor, &detector->found[i], predictions, error));
  return detector->decoder.coefficients && detector->count ? add_masks(predictor, outputs, item, predictions, error)
                                                           : DQ_OK;
}

const dq_predictor_functions dq_predictor_objects = {.kind = DQ_PREDICT_OBJECTS,
                                                     .fits = fits_objects,
                                                     .open = open_objects,
                                                     .predict = predict_objects,
                                                     .close = close_objects};
