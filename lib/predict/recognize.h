// Lines of text in a picture, each read by a recognizer: the second network of the two that read a page.
#ifndef DQ_PREDICT_RECOGNIZE_H
#define DQ_PREDICT_RECOGNIZE_H

#include "datasets/image/image.h"
#include "lib/predict/predict.h"

typedef struct dq_recognizer dq_recognizer;

// Opens a recognizer whose first input is a picture and whose first output is read by dq_ctc_read. Its characters are
// those of the file `dictionary` (NULL: of the model; where it has none texts are numbers of classes); its pictures are
// prepared as the model remembers, else by the preset ppocr-rec. Graph and context must outlive the recognizer, which
// the caller frees. DQ_BAD_INPUT: the input is no picture; else statuses as dq_preprocess_parse.
dq_status dq_recognizer_open(dq_recognizer **recognizer, const dq_graph *graph, const char *dictionary,
                             const dq_context *context, dq_error *error);
void dq_recognizer_free(dq_recognizer *recognizer); // NULL is allowed

// Reads the text inside of the corners of each object that the predictor found last, rounded to whole pixels, from its
// RGB picture, into its `text` and `text_score`, which the predictions of dq_predict have as well. The input, where the
// model leaves its width open, has the least of the widths 320, 640, 1280 and 2560 for its height of 48 that holds the
// line. A line that cannot be cut out, of less than a pixel, has no text. Statuses as dq_session_open, dq_plan_run and
// dq_ctc_read.
dq_status dq_recognize(dq_recognizer *recognizer, const dq_image *picture, dq_predictor *predictor, dq_error *error);

#endif
