#include "lib/report/chart/trace_events.h"

#include <inttypes.h>

#include "lib/render/json_text.h"

dq_status dq_trace_open(dq_trace_file *file, const char *path, int64_t start, dq_error *error) {
  *file = (dq_trace_file){.start = start, .process = 1};
  DQ_TRY(dq_output_open(&file->output, path, error));
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file->output.stream);
  return DQ_OK;
}

dq_status dq_trace_close(dq_trace_file *file, dq_error *error) {
  fputs("\n]}\n", file->output.stream);
  if (!file->failed || ferror(file->output.stream)) return dq_output_commit(&file->output, error);
  dq_output_discard(&file->output);
  return dq_fail_memory(error, 0);
}

static void put_text(dq_trace_file *file, const char *text) {
  if (!dq_json_text(file->output.stream, text)) file->failed = true;
}

static void begin_line(dq_trace_file *file, const char *phase) {
  const char *between = file->lines++ ? ",\n" : "";
  fprintf(file->output.stream, "%s{\"ph\":\"%s\",\"pid\":%d,", between, phase, file->process);
}

void dq_trace_name(dq_trace_file *file, int track, const char *name) {
  begin_line(file, "M");
  if (track >= 0) fprintf(file->output.stream, "\"tid\":%d,", track);
  const char *what = track >= 0 ? "thread_name" : "process_name";
  fprintf(file->output.stream, "\"name\":\"%s\",\"args\":{\"name\":", what);
  put_text(file, name);
  fputs("}}", file->output.stream);
}

static void put_microseconds(dq_trace_file *file, const char *key, int64_t nanoseconds) {
  fprintf(file->output.stream, "\"%s\":%" PRId64 ".%03d,", key, nanoseconds / 1000, (int)(nanoseconds % 1000));
}

void dq_trace_begin(dq_trace_file *file, int track, const char *category, const char *name, int64_t begin,
                    int64_t end) {
  begin_line(file, "X");
  fprintf(file->output.stream, "\"tid\":%d,\"cat\":\"%s\",", track, category);
  put_microseconds(file, "ts", begin - file->start);
  put_microseconds(file, "dur", end - begin);
  fputs("\"name\":", file->output.stream);
  put_text(file, name);
  fputs(",\"args\":{", file->output.stream);
  file->arguments = 0;
}

static void put_key(dq_trace_file *file, const char *key) {
  fprintf(file->output.stream, "%s\"%s\":", file->arguments++ ? "," : "", key);
}

void dq_trace_text(dq_trace_file *file, const char *key, const char *text) {
  if (!text) return;
  put_key(file, key);
  put_text(file, text);
}

void dq_trace_number(dq_trace_file *file, const char *key, int64_t number) {
  put_key(file, key);
  fprintf(file->output.stream, "%" PRId64, number);
}

void dq_trace_end(dq_trace_file *file) { fputs("}}", file->output.stream); }
