#include "lib/report/chart/report_timeline.h"

#include "lib/report/chart/trace_events.h"

static void put_track(dq_trace_file *file, const dq_bench_model *model, int track, const char *category,
                      const dq_timeline_track *events) {
  const int64_t count = events->count < DQ_TIMELINE_MOST ? events->count : DQ_TIMELINE_MOST;
  for (int64_t i = 0; i < count; i++) {
    const dq_timeline_event *event = &events->events[i];
    const dq_bench_layer *layer = &model->layers[event->step];
    dq_trace_begin(file, track, category, layer->name, event->begin, event->end);
    dq_trace_text(file, "operator", layer->op_type);
    dq_trace_text(file, "algorithm", layer->algorithm);
    dq_trace_number(file, "run", event->run);
    dq_trace_number(file, "step", event->step);
    dq_trace_end(file);
  }
}

static void put_model(dq_trace_file *file, const dq_bench_model *model, const char *path) {
  const dq_timeline *timeline = &model->timeline;
  dq_trace_name(file, -1, path);
  dq_trace_name(file, 0, "steps");
  put_track(file, model, 0, "step", &timeline->steps);
  for (int t = 0; t < timeline->threads; t++) {
    char name[48];
    snprintf(name, sizeof name, t ? "thread %d" : "thread %d, which runs the steps", t);
    dq_trace_name(file, 1 + t, name);
    put_track(file, model, 1 + t, "share", &timeline->workers[t]);
  }
}

dq_status dq_timeline_write(const char *path, const dq_bench_subject *subjects, const dq_bench_model *models, int count,
                            dq_error *error) {
  const dq_timeline_track *first = &models[0].timeline.steps;
  dq_trace_file file;
  DQ_TRY(dq_trace_open(&file, path, first->count ? first->events[0].begin : 0, error));
  for (int m = 0; m < count; m++, file.process++) put_model(&file, &models[m], subjects[m].path);
  return dq_trace_close(&file, error);
}
