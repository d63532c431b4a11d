// Processes of a job as threads, which exchange bytes through their memory.
#ifndef DQ_TESTS_THREAD_TEAM_H
#define DQ_TESTS_THREAD_TEAM_H

#include <pthread.h>
#include <string.h>

#include "lib/base/processes.h"
#include "lib/eval/eval.h"

enum { MOST = 7 };

typedef struct team {
  pthread_barrier_t barrier;
  int count;
  const void *from[MOST];
  const size_t *sizes[MOST];
} team;

// Bytes that were sent and are exchanged as late as can be.
typedef struct sending {
  const void *from;
  void *to;
  size_t from_sizes[MOST], to_sizes[MOST];
} sending;

typedef struct member {
  team *team;
  sending sendings[DQ_MOST_EXCHANGES];
  int oldest, next; // sendings under way
  int waits;        // for others
  dq_processes processes;
  void (*work)(struct member *member);
  void *argument;
  dq_status status;
  dq_error error;
  dq_result result;
  double loss;
  float *state;
} member;

static void offer(member *m, const void *from, const size_t *sizes) {
  m->waits++;
  m->team->from[m->processes.index] = from;
  m->team->sizes[m->processes.index] = sizes;
  pthread_barrier_wait(&m->team->barrier);
}

static void gather(void *user, const void *mine, void *all, const size_t *sizes) {
  member *m = user;
  char *to = all;
  offer(m, mine, NULL);
  for (int r = 0; r < m->team->count; to += sizes[r++]) memmove(to, m->team->from[r], sizes[r]);
  pthread_barrier_wait(&m->team->barrier);
}

static void exchange(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes) {
  member *m = user;
  char *at = to;
  offer(m, from, from_sizes);
  for (int r = 0; r < m->team->count; at += to_sizes[r++]) {
    const char *sent = m->team->from[r];
    for (int before = 0; before < m->processes.index; before++) sent += m->team->sizes[r][before];
    memcpy(at, sent, to_sizes[r]);
  }
  pthread_barrier_wait(&m->team->barrier);
}

static void start(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes) {
  member *m = user;
  sending *s = &m->sendings[m->next++ % DQ_MOST_EXCHANGES];
  s->from = from, s->to = to;
  memcpy(s->from_sizes, from_sizes, (size_t)m->team->count * sizeof *from_sizes);
  memcpy(s->to_sizes, to_sizes, (size_t)m->team->count * sizeof *to_sizes);
}

static void finish(void *user) {
  member *m = user;
  const sending *s = &m->sendings[m->oldest++ % DQ_MOST_EXCHANGES];
  exchange(m, s->from, s->from_sizes, s->to, s->to_sizes);
}

static void broadcast(void *user, void *data, size_t bytes, int root) {
  member *m = user;
  offer(m, data, NULL);
  if (m->processes.index != root) memcpy(data, m->team->from[root], bytes);
  pthread_barrier_wait(&m->team->barrier);
}

static void *run_member(void *argument) {
  member *m = argument;
  m->work(m);
  return NULL;
}

static void run_team(int count, void (*work)(member *), void *argument, member *members) {
  team all = {.count = count};
  pthread_t threads[MOST];
  pthread_barrier_init(&all.barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; i++) {
    members[i] = (member){.team = &all, .work = work, .argument = argument};
    members[i].processes = (dq_processes){.index = i,
                                          .count = count,
                                          .user = &members[i],
                                          .gather = gather,
                                          .exchange = exchange,
                                          .start = start,
                                          .finish = finish,
                                          .broadcast = broadcast};
    assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&all.barrier);
}

#endif
