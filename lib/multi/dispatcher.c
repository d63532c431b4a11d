#include "lib/multi/dispatcher.h"

#include <stdlib.h>

// ---- The heap ----

static bool runs_before(const dq_task *a, const dq_task *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->order < b->order;
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

// ---- Networks: their tasks that have not begun, by arrival ----

static int has_deadline(const dq_task *task) { return task->deadline != INT64_MAX; }

static void append(dq_dispatcher *dispatcher, dq_task *task) {
  dq_dispatched_network *network = &dispatcher->networks[task->network];
  dispatcher->with_deadline += has_deadline(task);
  task->before = network->last;
  task->after = NULL;
  *(network->last ? &network->last->after : &network->oldest) = task;
  network->last = task;
}

static void unlink_task(dq_dispatcher *dispatcher, dq_task *task) {
  dq_dispatched_network *network = &dispatcher->networks[task->network];
  dispatcher->with_deadline -= has_deadline(task);
  *(task->before ? &task->before->after : &network->oldest) = task->after;
  *(task->after ? &task->after->before : &network->last) = task->before;
}

// ---- The dispatcher ----

int dq_dispatcher_frames(const dq_job_policy *policy, int workers, int priorities) {
  const int begun = policy->by_priority ? workers * priorities : workers; // most requests that are not to wait
  return begun > workers ? begun : workers + 1;
}

dq_status dq_dispatcher_open(dq_dispatcher *dispatcher, const dq_job_policy *policy, int64_t slice, int frames,
                             dq_error *error) {
  *dispatcher = (dq_dispatcher){.policy = policy, .slice = slice, .frames = frames};
  return reserve(&dispatcher->begun, frames, error); // no more can have begun: returning a task cannot fail
}

void dq_dispatcher_close(dq_dispatcher *dispatcher) {
  free(dispatcher->waiting.tasks);
  free(dispatcher->begun.tasks);
  free(dispatcher->networks);
  *dispatcher = (dq_dispatcher){0};
}

dq_status dq_dispatcher_add_network(dq_dispatcher *dispatcher, dq_error *error) {
  const int count = dispatcher->network_count;
  if (!(count & (count - 1))) { // there is room for the next power of 2
    size_t bytes = (count ? 2 * (size_t)count : 1) * sizeof *dispatcher->networks;
    dq_dispatched_network *networks = realloc(dispatcher->networks, bytes);
    if (!networks) return dq_fail_memory(error, bytes);
    dispatcher->networks = networks;
  }
  dispatcher->networks[dispatcher->network_count++] = (dq_dispatched_network){0};
  return DQ_OK;
}

// A network that had no request for a while joins in the present round: it does not get the turns that it did not ask
// for. Fair queueing by self-clocked turns: S. J. Golestani, A Self-Clocked Fair Queueing Scheme for Broadband
// Applications, INFOCOM 1994, with every job counted as one.
static void set_rank(dq_dispatcher *dispatcher, dq_task *task) {
  int64_t *turn = &dispatcher->networks[task->network].turn;
  *turn = (*turn > dispatcher->turn ? *turn : dispatcher->turn) + 1;
  task->rank = dispatcher->policy->rank(&(dq_rank_facts){task->priority, task->deadline, *turn});
  task->turn = *turn;
}

dq_status dq_dispatcher_add(dq_dispatcher *dispatcher, dq_task *task, dq_error *error) {
  DQ_TRY(reserve(&dispatcher->waiting, dispatcher->waiting.count + 1, error));
  task->number = task->order = dispatcher->number++;
  task->begun = false;
  set_rank(dispatcher, task);
  push(&dispatcher->waiting, task);
  append(dispatcher, task);
  return DQ_OK;
}

static dq_task *first_of(const dq_task_heap *heap) { return heap->count ? heap->tasks[0] : NULL; }

enum {
  LOOKED_AT = 64, // tasks of a heap that a search for one that was slowed down looks at
  PATIENCE = 2,   // as many costs after a task others may come that run in place of it
  WEIGHT = 16     // the last slowdown of a network counts 1 / WEIGHT in its mean
};
static const double MORE = 1.05; // times as slowed down are networks that pass by others, so that few do

static double slowdown_of(const dq_dispatcher *dispatcher, const dq_task *task) {
  return dispatcher->networks[task->network].slowdown;
}

// The task that runs in place of `first`, which has not begun: of the worker's network, if that is another one, the
// time slice is not over and nobody waits who has a deadline, else `first`.
static dq_task *choose_in_slice(dq_dispatcher *dispatcher, dq_task *first, dq_worker_slice *slice) {
  dq_task *own = slice->network ? dispatcher->networks[slice->network - 1].oldest : NULL;
  bool other = own && own != first && own->rank == first->rank && !dispatcher->with_deadline;
  bool stays = other && slice->passed + own->cost <= dispatcher->slice;
  slice->passed = stays ? slice->passed + own->cost : 0;
  return stays ? own : first;
}

// Whether `task` may run in place of `first`, which came before it: both are as urgent, it came not long after, and no
// time slice decides on it, such as that which the network `last` has had.
static bool may_pass(const dq_dispatcher *dispatcher, const dq_task *task, const dq_task *first, int last) {
  if (task->rank != first->rank || task->arrival - first->arrival > PATIENCE * first->cost) return false;
  const bool between = first->begun && !task->begun, in_slices = task->cost <= dispatcher->slice;
  if (has_deadline(task)) return !between || dispatcher->policy->alike;
  if (between || dispatcher->with_deadline || has_deadline(first)) return false;
  return !in_slices || task->network != last;
}

// Returns the task whose network was slowed down most, of `best` (NULL: none) and the tasks of the heap that may pass
// by `first`.
static dq_task *find_slowed(const dq_dispatcher *dispatcher, const dq_task_heap *heap, const dq_task *first, int last,
                            dq_task *best) {
  for (int i = 0; i < heap->count && i < LOOKED_AT; i++) {
    dq_task *task = heap->tasks[i];
    if (task == first || !may_pass(dispatcher, task, first, last)) continue;
    double slowdown = slowdown_of(dispatcher, task), most = best ? slowdown_of(dispatcher, best) : 0;
    if (!best || slowdown > most || (slowdown == most && runs_before(task, best))) best = task;
  }
  return best;
}

// The task that runs in place of `first` so that networks are slowed down alike.
static dq_task *choose_fairly(const dq_dispatcher *dispatcher, dq_task *first, int last) {
  double slowdown = slowdown_of(dispatcher, first);
  if (first->order < 0 || !(slowdown > 0)) return first; // it has passed by one itself; nothing is known
  dq_task *best = find_slowed(dispatcher, &dispatcher->begun, first, last, NULL);
  if (dispatcher->frames) best = find_slowed(dispatcher, &dispatcher->waiting, first, last, best);
  return best && slowdown_of(dispatcher, best) > MORE * slowdown ? best : first;
}

// `preferred`: it passes by one that came before, which does not run between its jobs either.
static void begin(dq_dispatcher *dispatcher, dq_task *task, bool preferred) {
  take_out(&dispatcher->waiting, task);
  unlink_task(dispatcher, task);
  if (preferred) task->order = --dispatcher->preferred;
  dispatcher->frames--;
  task->begun = true;
}

dq_task *dq_dispatcher_next(dq_dispatcher *dispatcher, dq_worker_slice *slice) {
  dq_task *first = first_of(&dispatcher->begun), *other = dispatcher->frames ? first_of(&dispatcher->waiting) : NULL;
  if (other && (!first || runs_before(other, first))) first = other;
  if (!first) return NULL;
  dq_task *task = first->begun ? first : choose_in_slice(dispatcher, first, slice);
  if (task == first) task = choose_fairly(dispatcher, first, slice->network - 1);
  if (task->begun) take_out(&dispatcher->begun, task);
  else begin(dispatcher, task, task != first);
  slice->network = task->network + 1;
  dispatcher->turn = task->turn > dispatcher->turn ? task->turn : dispatcher->turn;
  return task;
}

void dq_dispatcher_return(dq_dispatcher *dispatcher, dq_task *task) {
  set_rank(dispatcher, task);
  push(&dispatcher->begun, task);
}

static void free_frame(dq_dispatcher *dispatcher, dq_task *task) {
  task->begun = false;
  dispatcher->frames++;
}

void dq_dispatcher_end(dq_dispatcher *dispatcher, dq_task *task, int64_t now) {
  double *mean = &dispatcher->networks[task->network].slowdown;
  double slowdown = (double)(now - task->arrival) / (double)(task->cost ? task->cost : 1);
  *mean += (slowdown - *mean) / (*mean > 0 ? WEIGHT : 1);
  free_frame(dispatcher, task);
}

void dq_dispatcher_remove(dq_dispatcher *dispatcher, dq_task *task) {
  take_out(task->begun ? &dispatcher->begun : &dispatcher->waiting, task);
  if (task->begun) free_frame(dispatcher, task);
  else unlink_task(dispatcher, task);
}
