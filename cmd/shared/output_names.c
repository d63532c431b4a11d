#include "cmd/shared/output_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST = 180 }; // bytes of a name; with an index, a number and ".npy" it stays below 255

static bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '_';
}

static char *plain_name(const char *name, dq_arena *arena) {
  char *text = dq_arena_strndup(arena, name, strnlen(name, LONGEST));
  for (char *c = text; c && *c; c++)
    if (!is_plain(*c)) *c = '_';
  return text;
}

typedef struct plain {
  const char *text;
  bool changed;
  int index;
} plain;

static int compare_texts(const void *a, const void *b) {
  return strcmp(((const plain *)a)->text, ((const plain *)b)->text);
}

// Orders names by text; of equal ones those that are unchanged come first, then those of earlier outputs.
static int compare_plain(const void *a, const void *b) {
  const plain *p = a, *q = b;
  int order = compare_texts(p, q);
  if (!order) order = p->changed - q->changed;
  return order ? order : p->index - q->index;
}

// The next "TEXT-NUMBER" that is no plain name itself.
static const char *numbered(const plain *sorted, int count, const char *text, int *number, dq_arena *arena) {
  plain made = {0};
  do made.text = dq_arena_printf(arena, "%s-%d", text, ++*number);
  while (made.text && bsearch(&made, sorted, (size_t)count, sizeof made, compare_texts));
  return made.text;
}

dq_status dq_output_names(const char *const *names, int count, dq_arena *arena, const char ***files, dq_error *error) {
  plain *sorted = DQ_NEW_ARRAY(arena, count, plain);
  *files = DQ_NEW_ARRAY(arena, count, const char *);
  if (!sorted || !*files) return dq_fail_memory(error, (size_t)count * sizeof *sorted);
  for (int i = 0; i < count; i++) {
    const char *text = plain_name(names[i], arena);
    if (!text) return dq_fail_memory(error, LONGEST);
    sorted[i] = (plain){text, strcmp(text, names[i]) != 0, i};
  }
  qsort(sorted, (size_t)count, sizeof *sorted, compare_plain);
  for (int i = 0, number = 1; i < count; i++) {
    bool again = i && !compare_texts(&sorted[i - 1], &sorted[i]);
    if (!again) number = 1;
    const char *text = again ? numbered(sorted, count, sorted[i].text, &number, arena) : sorted[i].text;
    if (!text) return dq_fail_memory(error, LONGEST);
    (*files)[sorted[i].index] = text;
  }
  return DQ_OK;
}

dq_status dq_make_folder(const char *path, dq_error *error) {
  char *above = strdup(path);
  if (!above) return dq_fail_memory(error, strlen(path) + 1);
  for (char *slash = above + 1; *above && (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(above, 0777); // what cannot be made shows below
    *slash = '/';
  }
  free(above);
  if (mkdir(path, 0777) == 0) return DQ_OK;
  struct stat facts;
  const bool there = errno == EEXIST && stat(path, &facts) == 0;
  if (there && S_ISDIR(facts.st_mode)) return DQ_OK;
  if (there) errno = ENOTDIR;
  return dq_fail_errno(error, path);
}
