// The quantization of a network as it is asked for: what dq-int8 and the public interface have in common. Each of them
// fills a request, and names options in messages by its own words.
//
// dq_int8_task_check, dq_int8_task_read, dq_int8_task_convert and dq_int8_task_conclude follow each other; the caller
// opens and widens (dq_int8_widen) the model in between, and writes the result.
#ifndef DQ_QUANT_INT8_TASK_H
#define DQ_QUANT_INT8_TASK_H

#include "lib/eval/accuracy_change.h"
#include "quant/int8/int8_files.h"
#include "quant/search/convert_int8.h"

// What messages say where the faces differ. Messages on values out of their range name the fields of lib/dq_int8.h, as
// a command line checks ranges when it is parsed.
typedef struct dq_int8_words {
  const char *max_float;   // the name of the option
  const char *search_hint; // as in dq_int8_options
  const char *source;      // why there must be data or a table; all of the message
  const char *percentile;  // of which methods the percentile is, and behind it the method that was asked for
  const char *quote;       // in front of and behind the name of that method
  const char *no_labels;   // a note: answers are compared for max_drop; NULL: it is not reported
} dq_int8_words;

typedef enum dq_int8_activations { DQ_INT8_ACTIVATIONS_U8, DQ_INT8_ACTIVATIONS_S8 } dq_int8_activations;
typedef enum dq_int8_form { DQ_INT8_FORM_QDQ, DQ_INT8_FORM_QOPERATOR } dq_int8_form;

// Options as they were given. Texts and lists belong to the caller and outlive the task.
typedef struct dq_int8_request {
  const dq_int8_words *words;
  // The options of the transform. percentile 0: none was given, 99.999. Those that other fields of the request give
  // are not read: method, rounding, table, precision, activation_type, qoperator, shapes, search_hint.
  dq_int8_options int8;
  dq_int8_files files;      // `format` is not read
  const char *method;       // a name of observers.def; NULL: "percentile" where a percentile was given, else "auto"
  const char *rounding;     // a name of rounding.def; NULL: each weight to the nearest
  const char *table_format; // of files.table, a name of table_formats.def; NULL: by the end of the path
  const char *precision;    // path of a file with the precision of layers; NULL: none
  dq_int8_activations activations;
  dq_int8_form form;
  const char *const *shapes; // [shape_count], as dq_input_shape_parse
  int shape_count;
  const char *task;         // as in dq_accuracy_options
  double max_drop;          // the largest loss of accuracy in percentage points, 0 to 100; below 0: no bound
  dq_verdict_bounds bounds; // agreement below 0: no bound
  double max_float;         // percent, 0 to 100; below 0: it was not given, 10
  bool all_int8;
} dq_int8_request;

// DQ_USAGE: an option is out of its range, is no name of its table, or contradicts another one, or there are neither
// data (`has_data`) nor a table.
dq_status dq_int8_task_check(const dq_int8_request *asked, bool has_data, dq_error *error);

typedef struct dq_int8_task {
  dq_int8_request asked;
  const dq_graph *graph;    // the network in float32, which outlives the task
  dq_data *data;            // pictures for the calibration; NULL: there is a table
  dq_data *eval;            // pictures for the verdict; NULL: none
  dq_accuracy_change check; // `data` and `asked` are the caller's; the options are set by dq_int8_task_read
  dq_arena *arena;
  const dq_context *context;
  // Set by dq_int8_task_read. The conversion points to the other ones: the task stays where it is.
  dq_int8_options settings;
  dq_int8_files files;
  dq_precision_map precision;
  dq_max_drop_options drop;
  dq_convert_options conversion;
  dq_max_drop_report found; // set by dq_int8_task_convert
} dq_int8_task;

// Makes settings of a request that dq_int8_task_check accepts: completes shapes from the data, settles the batch
// (dq_settle_batch), reads the table and the precisions. All processes of a job have the same status: as
// dq_input_shapes_read, dq_complete_shapes, dq_int8_files_read, dq_settle_batch and dq_precision_load.
dq_status dq_int8_task_read(dq_int8_task *task, dq_error *error);

// Measures the accuracy of the network where task->check has labelled pictures, and quantizes a copy, *answer, as
// dq_convert_int8 does: the caller frees it, and *report holds as long as it; *answer is NULL after a failure. With
// max_drop check.after receives the figures of the answer; without labels those of `check` are agreements
// (quant/search/agreement.h). Statuses as dq_accuracy_before and dq_convert_int8.
dq_status dq_int8_task_convert(dq_graph **answer, dq_int8_report *report, dq_int8_task *task, dq_error *error);

// Whether a layer is in 8 bits or float16.
bool dq_int8_is_changed(const dq_int8_report *report);

// dq_convert_int8_check of the answer; one that did not change and was not compared holds its bounds. max_drop is
// not looked at.
dq_status dq_int8_task_conclude(const dq_int8_task *task, const dq_int8_report *report, const char *path,
                                dq_error *error);

#endif
