// Tables of a training.
#ifndef DQ_REPORT_REPORT_TRAIN_H
#define DQ_REPORT_REPORT_TRAIN_H

#include "lib/render/report.h"
#include "lib/train/loop/trainer.h"

// Adds the table `epochs` with a row for each epoch, the table `training` with the figures before and after and the
// epoch that was kept, and charts of loss and figure.
void dq_report_train(dq_report *report, const dq_train_report *training);

#endif
