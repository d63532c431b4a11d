// Retraining by dq itself, in place of a command of the user (dq_retrain_options.train).
#ifndef DQ_TRAIN_LOOP_BUILTIN_H
#define DQ_TRAIN_LOOP_BUILTIN_H

#include "lib/retrain/retrain.h"
#include "lib/train/loop/trainer.h"

// The kind of weights that are trained. As a conversion to float16 loses little, the loss is then the squared error of
// output 0, epochs are judged by its SQNR, and the usual learning rate is 1e-6 in place of 0.0003
// (docs/experiments/training.md).
typedef enum dq_builtin_kind { DQ_BUILTIN_FLOAT, DQ_BUILTIN_HALF, DQ_BUILTIN_QUANTIZED } dq_builtin_kind;

typedef struct dq_builtin {
  dq_trainer_options options;
  double usual_rate; // learning rate where the text gives none
  const dq_context *context;
} dq_builtin;

// Whether the text is "builtin", or begins with "builtin,".
bool dq_is_builtin(const char *text);

// The options of a training whose targets are the outputs of `teacher` on `data`, and whose epochs are judged on
// `validation`; NULL: on `data`. Shapes and the time limit are those of *hook. dq_builtin_parse sets the options that
// hook->command gives. The result points to all arguments.
dq_builtin dq_builtin_of(const dq_graph *teacher, dq_data *data, dq_data *validation, dq_builtin_kind kind,
                         const dq_retrain_options *hook, const dq_context *context);

// Sets those options of *builtin that a text gives: "builtin[,epochs=N][,batch=N][,lr=R][,temperature=T]" followed by
// changes of pictures as in dq_augmentation_parse. The caller sets the others: data, validation, teacher, shapes, time
// limit. Defaults: 10 epochs, batches of 32, Adam with the usual rate along half a cosine, temperature 1. DQ_USAGE:
// the text has another form, or a number is out of its range.
dq_status dq_builtin_parse(dq_builtin *builtin, const char *text, dq_error *error);

// Trains `graph`, the model to be retrained, in place by dq_train; fits dq_retrain_options.train. `builtin` points to a
// dq_builtin whose options are complete, and is not changed; a batch above the number of pictures becomes that number.
// The time is that of all epochs; nothing of the report of the training is returned. After a failure weights may have
// been written in part. Statuses as dq_train.
dq_status dq_builtin_train(void *builtin, dq_graph *graph, dq_error *error);

#endif
