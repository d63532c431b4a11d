#include "lib/multi/dispatcher.h"

#include <stdlib.h>

// ---- The heap ----

static bool runs_before(const dq_task *a, const dq_task *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->number < b->number;
}

static void put(dq_task_heap *heap, int place, dq_task *task) { (heap->tasks[place] = task)->place = place; }

static void rise(dq_task_heap *heap, int place, dq_task *task) {
  for (; place > 0 && runs_before(task, heap->tasks[(place - 1) / 2]); place = (place - 1) / 2)
    put(heap, place, heap->tasks[(place - 1) / 2]);
  put(heap, place, task);
}

static void sink(dq_task_heap *heap, int place, dq_task *task) {
  for (int child; (child = 2 * place + 1) < heap->count; place = child) {
    if (child + 1 < heap->count && runs_before(heap->tasks[child + 1], heap->tasks[child])) child++;
    if (!runs_before(heap->tasks[child], task)) break;
    put(heap, place, heap->tasks[child]);
  }
  put(heap, place, task);
}

static dq_status reserve(dq_task_heap *heap, int count, dq_error *error) {
  if (count <= heap->capacity) return DQ_OK;
  int capacity = count + heap->capacity;
  dq_task **tasks = realloc(heap->tasks, (size_t)capacity * sizeof *tasks);
  if (!tasks) return dq_fail_memory(error, (size_t)capacity * sizeof *tasks);
  heap->tasks = tasks;
  heap->capacity = capacity;
  return DQ_OK;
}

static void push(dq_task_heap *heap, dq_task *task) { rise(heap, heap->count++, task); }

static void take_out(dq_task_heap *heap, dq_task *task) {
  int place = task->place;
  dq_task *last = heap->tasks[--heap->count];
  task->place = -1;
  if (last == task) return;
  if (place > 0 && runs_before(last, heap->tasks[(place - 1) / 2])) rise(heap, place, last);
  else sink(heap, place, last);
}

// ---- The dispatcher ----

dq_status dq_dispatcher_open(dq_dispatcher *dispatcher, const dq_job_policy *policy, int frames, dq_error *error) {
  *dispatcher = (dq_dispatcher){.policy = policy, .frames = frames};
  return reserve(&dispatcher->begun, frames, error); // no more can have begun: returning a task cannot fail
}

void dq_dispatcher_close(dq_dispatcher *dispatcher) {
  free(dispatcher->waiting.tasks);
  free(dispatcher->begun.tasks);
  free(dispatcher->turns);
  *dispatcher = (dq_dispatcher){0};
}

dq_status dq_dispatcher_add_network(dq_dispatcher *dispatcher, dq_error *error) {
  size_t bytes = ((size_t)dispatcher->networks + 1) * sizeof *dispatcher->turns;
  int64_t *turns = realloc(dispatcher->turns, bytes);
  if (!turns) return dq_fail_memory(error, bytes);
  dispatcher->turns = turns;
  turns[dispatcher->networks++] = 0;
  return DQ_OK;
}

// A network that had no request for a while joins in the present round: it does not get the turns that it did not ask
// for. Fair queueing by self-clocked turns: S. J. Golestani, A Self-Clocked Fair Queueing Scheme for Broadband
// Applications, INFOCOM 1994, with every job counted as one.
static void set_rank(dq_dispatcher *dispatcher, dq_task *task) {
  int64_t *turn = &dispatcher->turns[task->network];
  *turn = (*turn > dispatcher->turn ? *turn : dispatcher->turn) + 1;
  task->rank = dispatcher->policy->rank(&(dq_rank_facts){task->priority, task->deadline, *turn});
  task->turn = *turn;
}

dq_status dq_dispatcher_add(dq_dispatcher *dispatcher, dq_task *task, dq_error *error) {
  DQ_TRY(reserve(&dispatcher->waiting, dispatcher->waiting.count + 1, error));
  task->number = dispatcher->number++;
  task->begun = false;
  set_rank(dispatcher, task);
  push(&dispatcher->waiting, task);
  return DQ_OK;
}

static dq_task *first_of(const dq_task_heap *heap) { return heap->count ? heap->tasks[0] : NULL; }

dq_task *dq_dispatcher_next(dq_dispatcher *dispatcher) {
  dq_task *task = first_of(&dispatcher->begun), *other = first_of(&dispatcher->waiting);
  if (other && dispatcher->frames && (!task || runs_before(other, task))) task = other;
  if (!task) return NULL;
  take_out(task->begun ? &dispatcher->begun : &dispatcher->waiting, task);
  if (!task->begun) dispatcher->frames--;
  task->begun = true;
  dispatcher->turn = task->turn > dispatcher->turn ? task->turn : dispatcher->turn;
  return task;
}

void dq_dispatcher_return(dq_dispatcher *dispatcher, dq_task *task) {
  set_rank(dispatcher, task);
  push(&dispatcher->begun, task);
}

void dq_dispatcher_end(dq_dispatcher *dispatcher, dq_task *task) {
  task->begun = false;
  dispatcher->frames++;
}

void dq_dispatcher_remove(dq_dispatcher *dispatcher, dq_task *task) {
  take_out(task->begun ? &dispatcher->begun : &dispatcher->waiting, task);
  if (task->begun) dq_dispatcher_end(dispatcher, task);
}
