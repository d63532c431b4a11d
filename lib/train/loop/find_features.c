#include "lib/train/loop/find_features.h"

#include "lib/eval/layer_pairs.h"
#include "lib/ops/table/operator.h"

static bool is_read_by_product(const dq_value *value) {
  for (int i = 0; i < value->user_count; i++) {
    const dq_operator *row = dq_operator_find(value->users[i]->domain, value->users[i]->op_type);
    if (row && row->product && dq_node_input(value->users[i], 0) == value) return true;
  }
  return false;
}

dq_status dq_find_features(const dq_trainer *trainer, dq_training_options *training, dq_teacher_options *teacher,
                           dq_error *error) {
  dq_layer_comparison matched;
  if (!teacher->graph || !(training->feature_loss > 0)) return DQ_OK;
  DQ_TRY(dq_match_layers(&matched, teacher->graph, trainer->model, true, trainer->context, trainer->arena, error));
  const char **ours = DQ_NEW_ARRAY(trainer->arena, matched.layer_count, const char *);
  const char **theirs = DQ_NEW_ARRAY(trainer->arena, matched.layer_count, const char *);
  if (!ours || !theirs) return dq_fail_memory(error, 0);
  int count = 0;
  for (int i = 0; i < matched.layer_count; i++) {
    const dq_layer_pair *pair = &matched.layers[i];
    if (pair->channels || !is_read_by_product(pair->reference)) continue;
    ours[count] = pair->candidate->name;
    theirs[count++] = pair->reference->name;
  }
  training->features = ours;
  teacher->features = theirs;
  training->feature_count = teacher->feature_count = count;
  if (!count) return dq_fail(error, DQ_BAD_INPUT, "the model has no inner value that stands for one of the teacher");
  dq_message(trainer->context, DQ_NOTE, "%d values are compared with those of the teacher", count);
  return DQ_OK;
}
