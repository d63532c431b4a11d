#include "cmd/shared/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/text/print_name.h"

const char *dq_duration_text(double seconds, char *text, size_t size) {
  long whole = seconds < 1e8 ? (long)(seconds + 0.5) : 99999999;
  if (whole >= 3600) snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else if (whole >= 60) snprintf(text, size, "%ld:%02ld", whole / 60, whole % 60);
  else snprintf(text, size, "%ld s", whole);
  return text;
}

static void print(const dq_heartbeat *h) {
  char time[32], steps[64] = "";
  dq_duration_text((double)h->beats * h->interval, time, sizeof time);
  if (h->total > 0) snprintf(steps, sizeof steps, " %lld of %lld", (long long)h->done, (long long)h->total);
  flockfile(stderr);
  fprintf(stderr, "%s: %s: ", h->command, time);
  dq_print_name(stderr, h->work);
  if (*h->work && *h->part) fputs(": ", stderr);
  dq_print_name(stderr, h->part);
  fprintf(stderr, "%s\n", *h->part ? steps : *h->work ? "" : "working");
  funlockfile(stderr);
}

static void *beat(void *argument) {
  dq_heartbeat *h = argument;
  struct pollfd end = {.fd = h->end[0], .events = POLLIN};
  int found;
  while ((found = poll(&end, 1, (int)(1000 * h->interval))) <= 0) {
    if (found < 0 && errno != EINTR) break;
    pthread_mutex_lock(&h->mutex);
    if (!found) h->beats++, print(h);
    pthread_mutex_unlock(&h->mutex);
  }
  return NULL;
}

// Signals are for the other threads.
static bool start_thread(dq_heartbeat *h) {
  enum { STACK = 256 * 1024 };
  sigset_t all, before;
  pthread_attr_t attributes;
  sigfillset(&all);
  if (pthread_attr_init(&attributes)) return false;
  (void)pthread_attr_setstacksize(&attributes, STACK);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = !pthread_create(&h->thread, &attributes, beat, h);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

void dq_heartbeat_start(dq_heartbeat *h, const char *command, double interval) {
  *h = (dq_heartbeat){.command = command, .interval = interval};
  if (pipe2(h->end, O_CLOEXEC)) return;
  pthread_mutex_init(&h->mutex, NULL);
  h->runs = start_thread(h);
  if (h->runs) return;
  close(h->end[0]), close(h->end[1]);
}

void dq_heartbeat_set(dq_heartbeat *h, const char *part, int64_t done, int64_t total) {
  if (!h->runs) return;
  bool work = total == 1 && !done;
  pthread_mutex_lock(&h->mutex);
  snprintf(work ? h->work : h->part, DQ_HEARTBEAT_TEXT, "%s", part);
  if (work) h->part[0] = 0;
  h->done = done, h->total = work ? 0 : total;
  pthread_mutex_unlock(&h->mutex);
}

void dq_heartbeat_stop(dq_heartbeat *h) {
  if (!h->runs) return;
  close(h->end[1]); // which poll tells the thread
  pthread_join(h->thread, NULL);
  close(h->end[0]);
  pthread_mutex_destroy(&h->mutex);
  h->runs = false;
}
