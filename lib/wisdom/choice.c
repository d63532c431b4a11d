// Choices as texts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kernels/conv/conv.h"
#include "lib/text/find_row.h"
#include "lib/wisdom/wisdom.h"

typedef struct knob {
  const char *name;
  int low, high;
} knob;

static const knob knobs[DQ_KNOBS] = {
#define DQ_KNOB(symbol, name, low, high, help) {name, low, high},
#include "lib/wisdom/knobs.def"
};

bool dq_choice_is_usual(const dq_step_choice *choice) {
  const dq_step_choice usual = {{0}};
  return dq_choice_same(choice, &usual);
}

bool dq_choice_same(const dq_step_choice *a, const dq_step_choice *b) {
  return !memcmp(a->values, b->values, sizeof a->values);
}

static int print_value(char *text, size_t size, int k, int value) {
  if (k == DQ_KNOB_OF_ALGORITHM)
    return snprintf(text, size, "%s=%s", knobs[k].name, dq_conv_choice_name((dq_conv_choice)value));
  return snprintf(text, size, "%s=%d", knobs[k].name, value);
}

const char *dq_choice_text(const dq_step_choice *choice, char *text) {
  int at = 0;
  for (int k = 0; k < DQ_KNOBS; k++) {
    if (!choice->values[k]) continue;
    if (at) text[at++] = ',';
    at += print_value(text + at, (size_t)(DQ_CHOICE_TEXT - at), k, choice->values[k]);
  }
  return at ? text : strcpy(text, "usual");
}

static bool read_algorithm(const char *text, int *value) {
  for (int i = DQ_CONV_AUTO + 1; i < DQ_CONV_CHOICES; i++) {
    if (strcmp(text, dq_conv_choice_name((dq_conv_choice)i))) continue;
    *value = i;
    return true;
  }
  return false;
}

static bool read_value(int k, const char *text, int *value) {
  if (k == DQ_KNOB_OF_ALGORITHM) return read_algorithm(text, value);
  char *end;
  long number = strtol(text, &end, 10);
  *value = (int)number;
  return *text && !*end && number >= knobs[k].low && number <= knobs[k].high;
}

// "name=value"
static bool read_knob(char *text, dq_step_choice *choice) {
  char *value = strchr(text, '=');
  if (!value) return false;
  *value++ = 0;
  const int k = dq_find_row(text, knobs, sizeof *knobs, DQ_KNOBS);
  return k >= 0 && read_value(k, value, &choice->values[k]);
}

bool dq_choice_parse(const char *text, dq_step_choice *choice) {
  char copy[DQ_CHOICE_TEXT], *rest = copy, *item;
  *choice = (dq_step_choice){{0}};
  if (!strcmp(text, "usual")) return true;
  if (!*text || strlen(text) >= sizeof copy) return false;
  strcpy(copy, text);
  while ((item = strsep(&rest, ",")))
    if (!read_knob(item, choice)) return false;
  return true;
}
