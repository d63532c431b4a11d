// What dq-run says of pictures beside the shapes of outputs: predictions as text, as JSON and drawn.
#ifndef DQ_CMD_RUN_ANSWERS_H
#define DQ_CMD_RUN_ANSWERS_H

#include <stdio.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/decode/text/class_names.h"
#include "lib/predict/label_names.h"
#include "lib/predict/changes.h"
#include "lib/predict/recognize.h"

typedef struct dq_answer_options {
  const char *decode;     // how outputs are read; NULL: guessed
  double score;           // the lowest of a box; 0: as usual
  double overlap;         // above which the lower of two boxes goes; 0: as usual
  int64_t top;            // classes of a vector
  const char *dictionary; // file of characters; NULL: as the model says
  const char *json;       // file to write; NULL: none, "-": standard output
  const char *draw;       // folder for pictures; NULL: none
  const char *pair;       // file of the reference; NULL: none
  const char *recognize;  // file of the network that reads regions of text; NULL: none
} dq_answer_options;

// Whether standard output belongs to the JSON.
static inline bool dq_run_answers_only_json(const dq_answer_options *options) {
  return options->json && !strcmp(options->json, "-");
}

// What one network says.
typedef struct dq_answer_side {
  dq_predictor *predictor; // NULL: there is no such network
  const char **output_names;
  int output_count;
  dq_predictions predictions; // of the current picture
} dq_answer_side;

typedef struct dq_run_answers {
  const dq_answer_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_data *data;
  dq_label_names names;
  dq_names model_names;    // that `names` may be
  dq_answer_side sides[2]; // of the model and of its reference
  int side_count;
  dq_changes changes;        // of the current picture
  dq_recognizer *recognizer; // owned; NULL: none
  dq_graph *recognizer_graph;
  // Sums over the pictures, and by picture the answers and those of them that are equal.
  dq_changes all;
  int64_t *answers, *equal, pictures, room;
  dq_output json;
} dq_run_answers;

// Answers for pictures of the data. Texts are copied to the arena. The caller closes the answers.
dq_run_answers dq_run_answers_new(dq_data *data, const dq_answer_options *options, const dq_context *context,
                                  dq_arena *arena);
void dq_run_answers_close(dq_run_answers *answers); // allowed on a zeroed struct; an unfinished JSON is not kept

// Opens a predictor for the outputs of an indexed graph, whose values have the shapes `alone` (dq_infer_alone): that of
// the model, in a second call that of its reference. Statuses as dq_predictor_open.
dq_status dq_run_answers_add(dq_run_answers *answers, const dq_graph *graph, const dq_tensor *alone, dq_error *error);
// A note says what the outputs of the model are read as. Opens the model of --recognize, and the file of --json, and
// makes the folder of --draw. DQ_USAGE: the data are arrays, which cannot be drawn on.
dq_status dq_run_answers_begin(dq_run_answers *answers, dq_error *error);

// Prints, writes and draws the predictions of picture `index` of the data; outputs[side] are those of this picture
// alone. Statuses as dq_predict, and those of writing files.
dq_status dq_run_answers_picture(dq_run_answers *answers, const dq_tensor *const outputs[2], int64_t index,
                                 const dq_sample_info *info, dq_error *error);
// Prints what both networks have in common, and completes the JSON. DQ_SYSTEM: it cannot be written.
dq_status dq_run_answers_finish(dq_run_answers *answers, dq_error *error);

#endif
