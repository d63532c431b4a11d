#include "lib/report/chart/report_jobs.h"

#include <inttypes.h>

#include "lib/render/chart.h"
#include "lib/report/chart/trace_events.h"

dq_status dq_job_record_open(dq_job_record *record, int workers, dq_arena *arena, dq_error *error) {
  const size_t bytes = DQ_JOB_EVENTS * sizeof(dq_job_event);
  *record = (dq_job_record){DQ_NEW_ARRAY(arena, workers, dq_job_track), workers};
  if (!record->tracks) return dq_fail_memory(error, (size_t)workers * sizeof *record->tracks);
  for (int w = 0; w < workers; w++)
    if (!(record->tracks[w].events = dq_arena_alloc(arena, bytes))) return dq_fail_memory(error, bytes);
  return DQ_OK;
}

void dq_job_record_add(void *user, int worker, const dq_multi_request *request, int job, int64_t begin, int64_t end) {
  dq_job_track *track = &((dq_job_record *)user)->tracks[worker];
  if (track->count < DQ_JOB_EVENTS)
    track->events[track->count] = (dq_job_event){begin, end, request->task.number, request->network, job};
  track->count++;
}

void dq_job_record_clear(dq_job_record *record) {
  for (int w = 0; w < record->workers; w++) record->tracks[w].count = 0;
}

int64_t dq_job_record_lost(const dq_job_record *record) {
  int64_t lost = 0;
  for (int w = 0; w < record->workers; w++)
    if (record->tracks[w].count > DQ_JOB_EVENTS) lost += record->tracks[w].count - DQ_JOB_EVENTS;
  return lost;
}

dq_status dq_job_record_write(const dq_job_record *record, const char *path, const char *const *names, int64_t start,
                              dq_error *error) {
  dq_trace_file file;
  DQ_TRY(dq_trace_open(&file, path, start, error));
  dq_trace_name(&file, -1, "dq-multi");
  for (int w = 0; w < record->workers; w++) {
    const dq_job_track *track = &record->tracks[w];
    char name[32];
    snprintf(name, sizeof name, "worker %d", w);
    dq_trace_name(&file, w, name);
    for (int64_t i = 0; i < track->count && i < DQ_JOB_EVENTS; i++) {
      const dq_job_event *event = &track->events[i];
      dq_trace_begin(&file, w, event->job == DQ_JOB_PREPARE ? "decode" : "job", names[event->network], event->begin,
                     event->end);
      dq_trace_number(&file, "request", event->request);
      dq_trace_number(&file, "job", event->job);
      dq_trace_end(&file);
    }
  }
  return dq_trace_close(&file, error);
}

// ---- The picture ----

enum { DRAWN = 200 }; // jobs: each has some 9 of 880 units on two tracks, so that they can be told apart

static const dq_chart_layout picture = {"Timeline",
                                        "The first 200 jobs: which network each worker ran. A gap is a worker without "
                                        "a job, or one that helped another.",
                                        DQ_CHART_TRACKS,
                                        {NULL, NULL},
                                        DQ_COLUMN_REAL,
                                        1,
                                        "ms"};

static int64_t kept(const dq_job_track *track) { return track->count < DQ_JOB_EVENTS ? track->count : DQ_JOB_EVENTS; }

// When the last job of the picture begins: jobs of all tracks in the order in which they begin.
static int64_t last_begin(const dq_job_record *record) {
  int64_t last = INT64_MIN;
  for (int drawn = 0; drawn < DRAWN; drawn++) {
    int64_t next = INT64_MAX;
    for (int w = 0; w < record->workers; w++) {
      const dq_job_track *track = &record->tracks[w];
      int64_t low = 0, high = kept(track);
      while (low < high) { // the first one that begins after `last`
        int64_t middle = (low + high) / 2;
        if (track->events[middle].begin > last) high = middle;
        else low = middle + 1;
      }
      if (low < kept(track) && track->events[low].begin < next) next = track->events[low].begin;
    }
    if (next == INT64_MAX) break;
    last = next;
  }
  return last;
}

void dq_job_record_draw(const dq_job_record *record, dq_report *report, const char *const *names, int count,
                        int64_t start) {
  dq_chart *chart = dq_report_chart(report, &picture);
  const int64_t last = last_begin(record);
  for (int i = 0; i < count; i++) dq_chart_add_series(chart, names[i]);
  for (int w = 0; w < record->workers; w++) {
    const dq_job_track *track = &record->tracks[w];
    char text[128];
    snprintf(text, sizeof text, "worker %d", w);
    dq_chart_add_track(chart, text);
    for (int64_t i = 0; i < kept(track) && track->events[i].begin <= last; i++) {
      const dq_job_event *event = &track->events[i];
      double from = 1e-6 * (double)(event->begin - start), to = 1e-6 * (double)(event->end - start);
      snprintf(text, sizeof text, "%.40s, request %" PRId64 ", job %d: %.3f ms", names[event->network], event->request,
               event->job, to - from);
      dq_chart_add_span(chart, event->network, from > 0 ? from : 0, to, text);
    }
  }
}
