// The decomposition of a network as it is asked for: what dq-tucker and the public interface have in common. Each of
// them fills a request; dq_tucker_task_check, dq_tucker_task_read, dq_tucker_task_decompose and dq_tucker_task_judge
// follow each other. The caller opens and widens the model (lib/document/widen_half.h) and writes the answer.
#ifndef DQ_DECOMP_TUCKER_TASK_H
#define DQ_DECOMP_TUCKER_TASK_H

#include "decomp/search/tucker_search.h"
#include "decomp/tucker/tucker_split.h"
#include "lib/eval/accuracy_change.h"
#include "lib/verdict/verdict.h"

// Options as they were given. Texts and lists belong to the caller and outlive the task.
typedef struct dq_tucker_request {
  // Rules of ranks, of which one is given; 0 or NULL: not given.
  double ratio, energy; // as parameters of DQ_RANK_RATIO and DQ_RANK_ENERGY
  double macs;          // as dq_tucker_options.macs_share
  const char *ranks;    // path of a settings file (decomp/tucker/ranks_file.h)
  bool vbmf;
  double weaken;     // of vbmf: parameter of DQ_RANK_VBMF
  double max_drop;   // the largest loss of accuracy in percentage points, 0 to 100; below 0: not given
  double time_limit; // seconds for the search of max_drop; 0: none
  // These are fields of dq_tucker_options; `fit_limit` is its `pictures`.
  int64_t multiple, fit_limit, batch;
  bool plain, force, refine, matrices, never_slower;
  const char *const *shapes; // [shape_count], as dq_input_shape_parse
  int shape_count;
  const char *task, *decode; // as in dq_accuracy_options
  const char *unmeasured;    // the message where there is nothing that the loss of max_drop can be measured on
} dq_tucker_request;

// DQ_USAGE: an option is out of its range or is no name of its table, there are several rules or none, or options
// contradict each other. Messages name the fields of lib/dq_tucker.h, as a command line checks the same when it is
// parsed.
dq_status dq_tucker_task_check(const dq_tucker_request *asked, bool has_data, dq_error *error);

// What happened to a decomposed network before it is judged.
typedef enum dq_tucker_training {
  DQ_TUCKER_UNTRAINED,
  DQ_TUCKER_TRAINED,       // on pictures of `data`, as far as is known
  DQ_TUCKER_TRAINED_CHOSEN // and its best form was chosen on pictures of `eval`
} dq_tucker_training;

typedef struct dq_tucker_task {
  dq_tucker_request asked;
  const dq_graph *graph; // the network in float32, which outlives the task
  dq_data *data;         // pictures that factors are fitted to and that are kept apart for the verdict; NULL: none
  dq_data *eval;         // pictures for accuracy and the verdict; NULL: none
  // `data` and `asked` are the caller's; the options are set by dq_tucker_task_read. Without data nothing is measured.
  dq_accuracy_change check;
  // The caller sets state, pictures, resume, ranks, found and user of a search that can be resumed.
  dq_tucker_search_options search;
  dq_arena *arena;
  const dq_context *context;
  // Set by dq_tucker_task_read. The settings point to the task, which stays where it is.
  dq_tucker_options settings;
  dq_shape_request shapes;
  dq_tucker_split split; // of `data`, unless nothing is fitted or `eval` has the pictures for the verdict
} dq_tucker_task;

// Keeps pictures of `data` apart for the verdict, unless `eval` has such pictures or nothing is fitted: those of `eval`
// are none where max_drop chooses ranks on them. dq_tucker_task_close must follow, also after a failure. Statuses as
// dq_tucker_split_open.
dq_status dq_tucker_task_split(dq_tucker_task *task, dq_error *error);
void dq_tucker_task_close(dq_tucker_task *task);

// The pictures on which max_drop chooses ranks, and accuracy is measured: those of `eval`, else of `data` what
// dq_tucker_task_split left for the fit; NULL: none.
dq_data *dq_tucker_task_measured(const dq_tucker_task *task);

// Makes settings of a request that dq_tucker_task_check accepts, behind dq_tucker_task_split: completes shapes from the
// data, settles the batch (dq_settle_batch), reads the ranks. Statuses as dq_input_shapes_read, dq_complete_shapes,
// dq_settle_batch and dq_ranks_load.
dq_status dq_tucker_task_read(dq_tucker_task *task, dq_error *error);

// Measures the accuracy of the network where task->check has labelled pictures, and decomposes a copy, *answer, which
// the caller frees before task->graph; NULL after a failure. With max_drop it is the best that dq_tucker_search finds,
// *found is its report, and check.after has the figures of the answer; otherwise *found does not change. DQ_USAGE:
// there is nothing that the loss of max_drop can be measured on. Other statuses as dq_accuracy_before, dq_tucker_apply
// and dq_tucker_search.
dq_status dq_tucker_task_decompose(dq_graph **answer, dq_tucker_report *report, dq_tucker_search_report *found,
                                   dq_tucker_task *task, dq_error *error);

// Compares the outputs of a decomposed network with those of the network as it was: on pictures that were kept apart,
// unless it was trained on them, else on those of `eval`, else of `data`, else on noise. The verdict says whether
// something was fitted to the pictures or chosen on them. The task's arena owns *verdict. Statuses as
// dq_verdict_conclude.
dq_status dq_tucker_task_judge(dq_verdict *verdict, const dq_graph *decomposed, dq_tucker_training training,
                               const dq_tucker_task *task, dq_error *error);

#endif
