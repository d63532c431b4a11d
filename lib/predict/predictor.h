// The functions of a row of predictors.def, and what they share. Private to this module.
#ifndef DQ_PREDICT_PREDICTOR_H
#define DQ_PREDICT_PREDICTOR_H

#include "lib/decode/detector.h"
#include "lib/decode/text/dictionary.h"
#include "lib/predict/predict.h"

typedef struct dq_predictor_functions {
  const char *name; // of --decode; NULL: heads have their own names
  dq_prediction_kind kind;
  const char *expected; // the outputs, for messages
  double usual_score;   // the lowest of an object; 0: DQ_USUAL_SCORE
  bool (*fits)(const dq_predict_options *options);
  // Reads sizes, and allocates predictor->state; NULL: neither.
  dq_status (*open)(dq_predictor *predictor, const dq_predict_options *options, dq_error *error);
  // Fills objects and plane; the rest of *predictions is filled.
  dq_status (*predict)(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                       dq_predictions *predictions, dq_error *error);
  void (*close)(dq_predictor *predictor); // NULL: nothing but what the predictor owns
} dq_predictor_functions;

struct dq_predictor {
  const dq_predictor_functions *functions;
  const dq_context *context;
  const char *form;
  double shown;          // the lowest score of an object that is shown
  double score, overlap; // score: the lowest of an object that is found
  int64_t top;
  int output_count;
  int64_t input_height, input_width;
  dq_prediction *objects; // of the last picture, [object_count]; owned, as are the masks and points of each
  int64_t object_count, object_room;
  dq_detector detector;      // objects
  dq_dictionary dictionary;  // lines of text; empty: there is none
  int axis;                  // points: dimension of the classes
  bool logits;               // points: single numbers are arguments of a Sigmoid
  dq_prediction_plane plane; // points and map; labels and values are owned
};

#define DQ_PREDICTOR(symbol) extern const dq_predictor_functions dq_predictor_##symbol;
#include "lib/predict/predictors.def"
#undef DQ_PREDICTOR

// Appends a zeroed object; NULL: there is no memory.
dq_prediction *dq_add_prediction(dq_predictor *predictor, dq_error *error);
// Frees masks and points of all objects and sets their number to 0.
void dq_drop_predictions(dq_predictor *predictor);

// The pixel of the picture at a coordinate from 0 to 1 of the input.
double dq_free_x(const dq_predictions *predictions, double x);
double dq_free_y(const dq_predictions *predictions, double y);
// The same, moved into the picture.
double dq_place_x(const dq_predictions *predictions, double x);
double dq_place_y(const dq_predictions *predictions, double y);

// Allocates (within the limit of the context) and fills the mask of the object of detection `found`, whose box is set;
// `planes` are the elements of all planes of the picture. A pixel of the mask is 1 where the weighted sum of planes,
// read between their points bilinearly, is above 0 at its centre. DQ_SYSTEM: there is no memory.
dq_status dq_fill_mask(const dq_predictor *predictor, const double *planes, const dq_detection *found,
                       const dq_predictions *predictions, dq_prediction *object, dq_error *error);

#endif
