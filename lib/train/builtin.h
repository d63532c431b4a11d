// Retraining by dq itself, in place of a command of the user (dq_retrain_options.train).
#ifndef DQ_TRAIN_BUILTIN_H
#define DQ_TRAIN_BUILTIN_H

#include "lib/retrain/retrain.h"
#include "lib/train/trainer.h"

typedef struct dq_builtin {
  dq_trainer_options options;
  const dq_context *context;
} dq_builtin;

// Whether the text is "builtin", or begins with "builtin,".
bool dq_is_builtin(const char *text);

// A training towards the answers of `teacher` on `data`, whose epochs are judged on `validation`; NULL: on the same
// data. The model is one of 8 bits where `quantized` is set. Sizes and the time limit are those of the hook, whose
// command is not read yet.
dq_builtin dq_builtin_of(const dq_graph *teacher, dq_data *data, dq_data *validation, bool quantized,
                         const dq_retrain_options *hook, const dq_context *context);

// Sets those options of *builtin that a text gives: "builtin[,epochs=N][,batch=N][,lr=R][,temperature=T]" with changes
// of pictures as in dq_augmentation_parse behind. The caller sets the others: data, validation, teacher, shapes, time
// limit. Defaults: 10 epochs, batches of 32, Adam with a rate of 0.0003 along half a cosine, temperature 1. DQ_USAGE:
// the text has another form, or a number is out of its range.
dq_status dq_builtin_parse(dq_builtin *builtin, const char *text, dq_error *error);

// Trains `graph`, the model to be retrained, in place by dq_train; fits dq_retrain_options.train. `builtin` points to a
// dq_builtin whose options are complete, and is not changed; a batch above the number of pictures becomes that number.
// The time is that of all epochs; nothing of the report of the training is returned. After a failure weights may have
// been written in part. Statuses as dq_train.
dq_status dq_builtin_train(void *builtin, dq_graph *graph, dq_error *error);

#endif
