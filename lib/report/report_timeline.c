#include "lib/report/report_timeline.h"

#include <inttypes.h>

#include "lib/base/file.h"
#include "lib/render/json_text.h"

typedef struct writer {
  FILE *stream;
  const dq_bench_model *model;
  int process;   // of the model, from 1
  int64_t lines; // of the array so far
  int64_t start; // nanoseconds of dq_nanoseconds at which the file's time is 0
  bool failed;
} writer;

static void put_text(writer *to, const char *text) {
  if (!dq_json_text(to->stream, text)) to->failed = true;
}

static void begin_line(writer *to, const char *phase) {
  fprintf(to->stream, "%s{\"ph\":\"%s\",\"pid\":%d,", to->lines++ ? ",\n" : "", phase, to->process);
}

// Names a process, or with `track` >= 0 one of its tracks.
static void put_name(writer *to, int track, const char *name) {
  begin_line(to, "M");
  if (track >= 0) fprintf(to->stream, "\"tid\":%d,", track);
  fprintf(to->stream, "\"name\":\"%s\",\"args\":{\"name\":", track >= 0 ? "thread_name" : "process_name");
  put_text(to, name);
  fputs("}}", to->stream);
}

static void put_microseconds(writer *to, const char *key, int64_t nanoseconds) {
  fprintf(to->stream, "\"%s\":%" PRId64 ".%03d,", key, nanoseconds / 1000, (int)(nanoseconds % 1000));
}

static void put_event(writer *to, int track, const char *category, const dq_timeline_event *event) {
  const dq_bench_layer *layer = &to->model->layers[event->step];
  begin_line(to, "X");
  fprintf(to->stream, "\"tid\":%d,\"cat\":\"%s\",", track, category);
  put_microseconds(to, "ts", event->begin - to->start);
  put_microseconds(to, "dur", event->end - event->begin);
  fputs("\"name\":", to->stream);
  put_text(to, layer->name);
  fputs(",\"args\":{\"operator\":", to->stream);
  put_text(to, layer->op_type);
  if (layer->algorithm) {
    fputs(",\"algorithm\":", to->stream);
    put_text(to, layer->algorithm);
  }
  fprintf(to->stream, ",\"run\":%d,\"step\":%d}}", event->run, event->step);
}

static void put_track(writer *to, int track, const char *category, const dq_timeline_track *events) {
  const int64_t count = events->count < DQ_TIMELINE_MOST ? events->count : DQ_TIMELINE_MOST;
  for (int64_t i = 0; i < count; i++) put_event(to, track, category, &events->events[i]);
}

static void put_model(writer *to, const char *path) {
  const dq_timeline *timeline = &to->model->timeline;
  put_name(to, -1, path);
  put_name(to, 0, "steps");
  put_track(to, 0, "step", &timeline->steps);
  for (int t = 0; t < timeline->threads; t++) {
    char name[48];
    snprintf(name, sizeof name, t ? "thread %d" : "thread %d, which runs the steps", t);
    put_name(to, 1 + t, name);
    put_track(to, 1 + t, "share", &timeline->workers[t]);
  }
}

dq_status dq_timeline_write(const char *path, const dq_bench_subject *subjects, const dq_bench_model *models, int count,
                            dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  const dq_timeline_track *first = &models[0].timeline.steps;
  writer to = {.stream = output.stream, .start = first->count ? first->events[0].begin : 0};
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", to.stream);
  for (int m = 0; m < count; m++) {
    to.model = &models[m], to.process = 1 + m;
    put_model(&to, subjects[m].path);
  }
  fputs("\n]}\n", to.stream);
  if (!to.failed || ferror(to.stream)) return dq_output_commit(&output, error);
  dq_output_discard(&output);
  return dq_fail_memory(error, 0);
}
