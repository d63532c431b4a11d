// What a network says of a picture: classes, boxes, keypoints, masks, maps, in coordinates of the picture. No labels
// are needed. A kind of predictions is a row of predictors.def.
#ifndef DQ_PREDICT_PREDICT_H
#define DQ_PREDICT_PREDICT_H

#include "datasets/datasets.h"
#include "lib/base/context.h"
#include "lib/decode/decode.h"
#include "lib/graph/graph.h"

#define DQ_USUAL_SCORE 0.25 // the lowest of an object that is shown

typedef enum dq_prediction_kind {
  DQ_PREDICT_NONE,    // the outputs stand for nothing that is known
  DQ_PREDICT_CLASSES, // objects: the classes with the highest scores, of each output that is a vector
  DQ_PREDICT_OBJECTS, // objects with boxes
  DQ_PREDICT_POINTS,  // plane.labels: a class for each point
  DQ_PREDICT_MAP,     // plane.values: a number for each point
  DQ_PREDICT_TEXT,    // objects: one, whose text is the line
} dq_prediction_kind;

// Pixels of a picture: x to the right, y downwards, the picture covers 0 to its width and 0 to its height.
typedef struct dq_prediction {
  int64_t label;        // class; -1: none
  double score;         // DQ_PREDICT_CLASSES: the element of the output
  int output;           // DQ_PREDICT_CLASSES: index of the output
  dq_box box;           // within the picture
  bool rotated;         // the box is that around `corners`
  double corners[4][2]; // clockwise; those of a detector of rotated boxes may lie outside of the picture
  char *text;           // UTF-8, of a line; NULL: there is none
  double text_score;    // of the text: the mean probability of its characters; --score bounds `score` alone
  int64_t keypoints;
  const double (*points)[3]; // [keypoints]: x, y, score from 0 to 1 (1 where the network gives none)
  // The mask of an instance: 1 or 0 for each pixel of mask_box, whole pixels; NULL: there is none.
  const uint8_t *mask;
  int64_t mask_box[4]; // left, top, width, height
} dq_prediction;

// The score that is shown: that of the text, where there is one.
static inline double dq_shown_score(const dq_prediction *object) {
  return object->text ? object->text_score : object->score;
}

// A map as the network gives it; the view of the picture says which part shows the picture.
typedef struct dq_prediction_plane {
  int64_t height, width;
  const int32_t *labels; // [height][width]: class, -1 where no element is a number
  const float *values;   // [height][width]
  int64_t classes;       // of labels; 1: the points above 1/2 are 1, others 0
} dq_prediction_plane;

typedef struct dq_predictions {
  dq_prediction_kind kind;
  const char *form;      // of the outputs: "yolov8", "points"; static
  int64_t width, height; // of the picture; of arrays those of the input
  dq_view view;
  const dq_prediction *objects; // by descending score; DQ_PREDICT_CLASSES: output by output
  int64_t count;
  dq_prediction_plane plane;
} dq_predictions;

typedef struct dq_predict_options {
  const char *decode;     // a row of predictors.def, or a head (dq_decode_options); NULL: guessed
  double score;           // the lowest of an object that is shown; 0: 0.25, of a region of text 0.5
  bool halved;            // objects down to half of that score are found, for a comparison
  double overlap;         // intersection over union above which the lower of two boxes of a class goes; 0: 0.45
  int64_t top;            // classes of a vector; 0: 5
  const char *dictionary; // file with the characters of a recognizer, a line each; NULL: as the model says
  const dq_graph *graph;  // indexed; its outputs in their order
  const dq_tensor *const *outputs;   // [graph->output_count]: types and shapes of one picture, without elements
  int64_t input_height, input_width; // of the model; 0: it has no picture as its input
} dq_predict_options;

typedef struct dq_predictor dq_predictor;

// DQ_USAGE: `decode` is neither a row of predictors.def nor begins with the name of a head; NULL is allowed.
dq_status dq_predict_check(const char *decode, dq_error *error);

// Names that --decode takes, in the order of predictors.def and then heads.def; NULL after the last.
const char *dq_predict_name(int index);

// Chooses how the outputs are read. The options may be freed after the call; the context (NULL is allowed) must outlive
// the predictor, which the caller frees. DQ_USAGE: an unknown `decode`; DQ_BAD_INPUT: the outputs do not have the form
// that `decode` says, or metadata of the model is broken; DQ_SYSTEM: there is no memory.
dq_status dq_predictor_open(dq_predictor **predictor, const dq_predict_options *options, const dq_context *context,
                            dq_error *error);
void dq_predictor_free(dq_predictor *predictor); // NULL is allowed
dq_prediction_kind dq_predictor_kind(const dq_predictor *predictor);
const char *dq_predictor_form(const dq_predictor *predictor); // dq_predictions.form
double dq_predictor_shown(const dq_predictor *predictor);     // the lowest score of an object that is shown

// Reads the predictions of entry `item` along dimension 0 of the outputs, in the order of the model. `info` is that of
// the picture (dq_data_read). What *predictions points to belongs to the predictor and holds until the next call.
// DQ_BAD_INPUT: an output has another shape than at dq_predictor_open; DQ_SYSTEM: there is no memory.
dq_status dq_predict(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                     dq_predictions *predictions, dq_error *error);

#endif
