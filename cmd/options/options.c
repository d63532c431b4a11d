// Parsing a command line by the option tables of a command.
#include "cmd/options/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/options/options_internal.h"
#include "lib/text/nearest.h"

enum { NAME_SIZE = 64, LONG_OPTIONS = 512, LETTERS = 256 }; // what is not a letter is above any char

int dq_option_groups(const dq_command *command, dq_option_group groups[DQ_OPTION_GROUPS]) {
  int count = 0;
  if (command->row_count) groups[count++] = (dq_option_group){command->rows, command->row_count, 0};
  if (command->shared & DQ_WITH_DATA)
    groups[count++] = (dq_option_group){dq_data_rows, dq_data_row_count, command->data_offset};
  if ((command->shared & DQ_WITH_DATA) && !(command->shared & DQ_OWN_BATCH))
    groups[count++] = (dq_option_group){dq_batch_rows, dq_batch_row_count, command->data_offset};
  if (command->shared & DQ_WITH_TASK)
    groups[count++] = (dq_option_group){dq_task_rows, dq_task_row_count, command->data_offset};
  if (command->shared & DQ_WITH_OUTPUT)
    groups[count++] = (dq_option_group){dq_output_rows, dq_output_row_count, command->output_offset};
  if (command->shared & DQ_WITH_REPORT)
    groups[count++] = (dq_option_group){dq_report_rows, dq_report_row_count, command->report_offset};
  if (command->shared & DQ_WITH_SUMS) groups[count++] = (dq_option_group){dq_sums_rows, dq_sums_row_count, 0};
  if (command->shared & DQ_WITH_WISDOM) groups[count++] = (dq_option_group){dq_wisdom_rows, dq_wisdom_row_count, 0};
  if (!(command->shared & DQ_ONLY_INFO)) groups[count++] = (dq_option_group){dq_common_rows, dq_common_row_count, 0};
  groups[count++] = (dq_option_group){dq_info_rows, dq_info_row_count, 0};
  return count;
}

int dq_option_places(const dq_command *command, dq_option_place places[DQ_OPTION_ROWS]) {
  dq_option_group groups[DQ_OPTION_GROUPS];
  int group_count = dq_option_groups(command, groups), count = 0;
  for (int g = 0; g < group_count; g++)
    for (int i = 0; i < groups[g].count && count < DQ_OPTION_ROWS; i++) {
      const dq_option *row = &groups[g].rows[i];
      places[count++] = (dq_option_place){row, groups[g].offset + row->offset};
    }
  return count;
}

// Copies the next space-separated word of *list into `word`; false at the end.
static bool next_word(const char **list, char word[NAME_SIZE]) {
  const char *start = *list ? *list + strspn(*list, " ") : "";
  if (!*start) return false;
  size_t length = strcspn(start, " ");
  snprintf(word, NAME_SIZE, "%.*s", (int)length, start);
  *list = start + length;
  return true;
}

// What getopt_long is given, with the memory for its names.
typedef struct parser {
  const dq_command *command;
  dq_option_place places[DQ_OPTION_ROWS];
  int place_count;
  struct option longs[LONG_OPTIONS + 1];
  char names[LONG_OPTIONS][NAME_SIZE];
  int long_count;
  char letters[2 + 2 * LETTERS + 1];
  int lettered[LETTERS]; // places of the options that have these letters
} parser;

static void add_long(parser *p, const char *name, int place) {
  if (p->long_count >= LONG_OPTIONS) return;
  char *copy = p->names[p->long_count];
  snprintf(copy, NAME_SIZE, "%s", name);
  bool plain = p->places[place].row->type == DQ_OPTION_FLAG;
  p->longs[p->long_count++] = (struct option){copy, plain ? no_argument : required_argument, NULL, LETTERS + place};
}

// A name as it is and with '_' for '-'. Both have the same value, so that getopt_long does not take
// a prefix of both for ambiguous.
static void add_spellings(parser *p, const char *name, int place) {
  add_long(p, name, place);
  if (!strchr(name, '-')) return;
  char other[NAME_SIZE];
  snprintf(other, sizeof other, "%s", name);
  for (char *letter = other; *letter; letter++)
    if (*letter == '-') *letter = '_';
  add_long(p, other, place);
}

static void prepare(parser *p, const dq_command *command) {
  memset(p, 0, sizeof *p);
  p->command = command;
  p->place_count = dq_option_places(command, p->places);
  char *letter = p->letters;
  *letter++ = ':'; // tell a missing value from an unknown option
  for (int i = 0; i < p->place_count; i++) {
    const dq_option *row = p->places[i].row;
    add_spellings(p, row->name, i);
    char alias[NAME_SIZE];
    for (const char *list = row->aliases; next_word(&list, alias);) add_spellings(p, alias, i);
    if (!row->letter) continue;
    p->lettered[(unsigned char)row->letter] = i;
    *letter++ = row->letter;
    if (row->type != DQ_OPTION_FLAG) *letter++ = ':';
  }
}

// The place of an option that getopt_long knows, by its value or letter.
static int place_of(const parser *p, int option) { return option >= LETTERS ? option - LETTERS : p->lettered[option]; }

static int place_of_name(const dq_option_place *places, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(places[i].row->name, name)) return i;
  return -1;
}

// A long option getopt_long did not take: the beginning of several names, or of none.
static dq_status fail_long(const parser *p, const char *argument, dq_error *error) {
  char name[NAME_SIZE], candidates[200] = "";
  const char *text = argument + strspn(argument, "-");
  size_t length = strcspn(text, "=");
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  dq_nearest nearest = dq_nearest_begin(name);
  size_t used = 0;
  for (int i = 0; i < p->place_count; i++) {
    const dq_option *row = p->places[i].row;
    if (row->hidden) continue;
    dq_nearest_offer(&nearest, row->name);
    if (!strncmp(row->name, name, strlen(name)) && used < sizeof candidates)
      used += (size_t)snprintf(candidates + used, sizeof candidates - used, "%s'--%s'", used ? ", " : "", row->name);
  }
  if (used && *name) return dq_fail(error, DQ_USAGE, "option '--%s' is short for several: %s", name, candidates);
  dq_fail(error, DQ_USAGE, "unknown option '--%.*s'", (int)(length < 200 ? length : 200), text);
  if (nearest.name) dq_error_hint(error, "did you mean '--%s'?", nearest.name);
  else dq_error_hint(error, "see '%s --help'", p->command->name);
  return DQ_USAGE;
}

// The failure of a '?' of getopt_long.
static dq_status fail_unknown(const parser *p, const char *argument, dq_error *error) {
  if (optopt >= LETTERS)
    return dq_fail(error, DQ_USAGE, "option '--%s' takes no value", p->places[optopt - LETTERS].row->name);
  if (optopt == 0) return fail_long(p, argument, error);
  dq_fail(error, DQ_USAGE, "unknown option '-%c'", optopt);
  dq_error_hint(error, "see '%s --help'", p->command->name);
  return DQ_USAGE;
}

static dq_status fail_missing(const parser *p, dq_error *error) {
  const dq_option *row = p->places[place_of(p, optopt)].row;
  return dq_fail(error, DQ_USAGE, "option '--%s' needs a value: %s", row->name, dq_option_metavar(row));
}

// One value more for an option of several: 'a=1' and 'b=2' become 'a=1;b=2'.
static dq_status join(const dq_option *row, const char *text, const char **value, dq_common_options *common,
                      dq_error *error) {
  if (!strchr(*value, '=') || !strchr(text, '=')) {
    dq_fail(error, DQ_USAGE, "option '--%s' is given twice", row->name);
    dq_error_hint(error, "a model with several inputs takes --%s INPUT=SPEC for each of them", row->name);
    return DQ_USAGE;
  }
  size_t size = strlen(*value) + strlen(text) + 2;
  const char **items = realloc(common->joined.items, ((size_t)common->joined.count + 1) * sizeof *items);
  if (items) common->joined.items = items;
  char *joined = items ? malloc(size) : NULL;
  if (!joined) return dq_fail_memory(error, size);
  snprintf(joined, size, "%s;%s", *value, text);
  items[common->joined.count++] = joined;
  *value = joined;
  return DQ_OK;
}

static dq_status apply(const parser *p, int place, const char *text, dq_common_options *common, dq_error *error) {
  const dq_option *row = p->places[place].row;
  char *target = (char *)common + p->places[place].offset;
  if (common->given[place] && row->joined) return join(row, text, (const char **)(void *)target, common, error);
  if (common->given[place] && row->type != DQ_OPTION_LIST)
    return dq_fail(error, DQ_USAGE, "option '--%s' is given twice", row->name);
  common->given[place] = 1;
  dq_status status = dq_option_value(row, text ? text : "", target, error);
  return status ? dq_error_prefix(error, status, "option '--%s'", row->name) : DQ_OK;
}

static dq_status set_presets(const parser *p, dq_common_options *common, dq_error *error) {
  for (int i = 0; i < p->place_count; i++) {
    const dq_option *row = p->places[i].row;
    if (!row->preset) continue;
    dq_status status = dq_option_value(row, row->preset, (char *)common + p->places[i].offset, error);
    if (status) return dq_error_prefix(error, status, "preset of '--%s'", row->name);
  }
  return DQ_OK;
}

// Sets *stopped when an option such as --help ends parsing.
static dq_status parse_arguments(parser *p, int argc, char **argv, dq_common_options *common, bool *stopped,
                                 dq_error *error) {
  optind = 0; // glibc: begin anew
  opterr = 0;
  for (;;) {
    optopt = 0;
    int got = getopt_long(argc, argv, p->letters, p->longs, NULL);
    if (got == -1) break;
    if (got == '?') return fail_unknown(p, argv[optind > 0 ? optind - 1 : 0], error);
    if (got == ':') return fail_missing(p, error);
    int place = place_of(p, got);
    DQ_TRY(apply(p, place, optarg, common, error));
    if (p->places[place].row->stop) {
      *stopped = true;
      return DQ_OK;
    }
  }
  common->operand_count = argc > optind ? argc - optind : 0;
  common->operands = calloc((size_t)common->operand_count + 1, sizeof *common->operands);
  if (!common->operands) return dq_fail_memory(error, (size_t)argc * sizeof *common->operands);
  for (int i = 0; i < common->operand_count; i++) common->operands[i] = argv[optind + i];
  return DQ_OK;
}

// "'--ratio', '--energy' or '--vbmf'" of the names of a rule.
static const char *name_list(const char *names, const char *last, char *text, size_t size) {
  char word[NAME_SIZE], next[NAME_SIZE];
  size_t used = 0;
  *text = 0;
  bool more = next_word(&names, word);
  for (int i = 0; more && used < size; i++) {
    more = next_word(&names, next);
    const char *between = !i ? "" : more ? ", " : last;
    used += (size_t)snprintf(text + used, size - used, "%s'--%s'", between, word);
    memcpy(word, next, sizeof word);
  }
  return text;
}

static dq_status check_required(const parser *p, const char *names, const dq_common_options *common, dq_error *error) {
  char name[NAME_SIZE];
  while (next_word(&names, name)) {
    int place = place_of_name(p->places, p->place_count, name);
    if (place < 0 || common->given[place]) continue;
    const dq_option *row = p->places[place].row;
    const char *metavar = dq_option_metavar(row);
    dq_fail(error, DQ_USAGE, "option '--%s%s%s' is needed: %s", row->name, metavar ? " " : "", metavar ? metavar : "",
            row->help);
    dq_error_hint(error, "see '%s --help'", p->command->name);
    return DQ_USAGE;
  }
  return DQ_OK;
}

// Counts the given ones among `names`, keeping the first two.
static int count_given(const parser *p, const char *names, const dq_common_options *common, char first[NAME_SIZE],
                       char second[NAME_SIZE]) {
  char name[NAME_SIZE];
  int count = 0;
  while (next_word(&names, name)) {
    int place = place_of_name(p->places, p->place_count, name);
    if (place < 0 || !common->given[place]) continue;
    if (count < 2) memcpy(count ? second : first, name, NAME_SIZE);
    count++;
  }
  return count;
}

static dq_status check_rule(const parser *p, const dq_option_rule *rule, const dq_common_options *common,
                            dq_error *error);

// DQ_RULE_EXCLUDES: a pair of the first name with each of the others.
static dq_status check_excluded(const parser *p, const char *names, const dq_common_options *common, dq_error *error) {
  char first[NAME_SIZE], other[NAME_SIZE], pair[2 * NAME_SIZE];
  for (next_word(&names, first); next_word(&names, other);) {
    snprintf(pair, sizeof pair, "%s %s", first, other);
    DQ_TRY(check_rule(p, &(dq_option_rule){DQ_RULE_AT_MOST_ONE, pair}, common, error));
  }
  return DQ_OK;
}

static dq_status check_rule(const parser *p, const dq_option_rule *rule, const dq_common_options *common,
                            dq_error *error) {
  if (rule->kind == DQ_RULE_EXCLUDES) return check_excluded(p, rule->names, common, error);
  if (rule->kind == DQ_RULE_REQUIRED) return check_required(p, rule->names, common, error);
  char first[NAME_SIZE], second[NAME_SIZE], all[512];
  const char *names = rule->names;
  int count = count_given(p, names, common, first, second);
  if (count > 1) {
    dq_fail(error, DQ_USAGE, "options '--%s' and '--%s' exclude each other", first, second);
    dq_error_hint(error, "give one of %s", name_list(names, " or ", all, sizeof all));
    return DQ_USAGE;
  }
  if (count || rule->kind == DQ_RULE_AT_MOST_ONE) return DQ_OK;
  dq_fail(error, DQ_USAGE, "give one of %s", name_list(names, " or ", all, sizeof all));
  dq_error_hint(error, "see '%s --help'", p->command->name);
  return DQ_USAGE;
}

// One word of a row's `needs`: of its alternatives, those that the command has.
static dq_status check_need(const parser *p, const dq_option *row, const char *need, const dq_common_options *common,
                            dq_error *error) {
  char alternatives[2 * NAME_SIZE], name[NAME_SIZE], known[2 * NAME_SIZE] = "", all[256];
  snprintf(alternatives, sizeof alternatives, "%s", need);
  for (char *letter = alternatives; *letter; letter++)
    if (*letter == '|') *letter = ' ';
  for (const char *list = alternatives; next_word(&list, name);) {
    int place = place_of_name(p->places, p->place_count, name);
    if (place < 0) continue;
    if (common->given[place]) return DQ_OK;
    size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", used ? " " : "", name);
  }
  return dq_fail(error, DQ_USAGE, "option '--%s' needs %s", row->name, name_list(known, " or ", all, sizeof all));
}

static dq_status check_needs(const parser *p, const dq_common_options *common, dq_error *error) {
  char need[NAME_SIZE];
  for (int i = 0; i < p->place_count; i++) {
    const dq_option *row = p->places[i].row;
    const char *list = common->given[i] ? row->needs : NULL;
    while (next_word(&list, need)) DQ_TRY(check_need(p, row, need, common, error));
  }
  return DQ_OK;
}

static dq_status check_operands(const dq_command *command, const dq_common_options *common, dq_error *error) {
  if (common->operand_count < command->operands_minimum) {
    dq_fail(error, DQ_USAGE, "%s %s given", common->operand_count ? "too few: another" : "no",
            command->operand ? command->operand : "argument");
    if (common->operand_count)
      dq_fail(error, DQ_USAGE, "%d %s given, expected %d", common->operand_count,
              command->operand ? command->operand : "argument", command->operands_minimum);
    dq_error_hint(error, "usage: %s %s", command->name, command->usage ? command->usage : "");
    return DQ_USAGE;
  }
  if (command->operands_maximum >= 0 && common->operand_count > command->operands_maximum) {
    dq_fail(error, DQ_USAGE, "unexpected argument '%s'", common->operands[command->operands_maximum]);
    dq_error_hint(error, "usage: %s %s", command->name, command->usage ? command->usage : "");
    return DQ_USAGE;
  }
  return DQ_OK;
}

// A command without these options never breaks them.
static const dq_option_rule shared_rules[] = {
    {DQ_RULE_AT_MOST_ONE, "quiet verbose"}, {DQ_RULE_AT_MOST_ONE, "limit sample"}, {0, NULL}};

static dq_status check_rules(const parser *p, const dq_option_rule *rules, const dq_common_options *common,
                             dq_error *error) {
  for (int i = 0; i < DQ_OPTION_RULES && rules[i].names; i++) DQ_TRY(check_rule(p, &rules[i], common, error));
  return DQ_OK;
}

static dq_status parse(parser *p, int argc, char **argv, void *options, dq_error *error) {
  dq_common_options *common = options;
  bool stopped = false;
  DQ_TRY(set_presets(p, common, error));
  DQ_TRY(parse_arguments(p, argc, argv, common, &stopped, error));
  if (stopped) return DQ_OK;
  DQ_TRY(check_operands(p->command, common, error));
  DQ_TRY(check_rules(p, p->command->rules, common, error));
  DQ_TRY(check_rules(p, shared_rules, common, error));
  DQ_TRY(check_needs(p, common, error));
  const char *mask = common->cpu_mask_text ? common->cpu_mask_text : "native";
  dq_status status = dq_cpu_mask_parse(mask, &common->cpu_mask, error);
  if (status) return dq_error_prefix(error, status, "option '--cpu-mask'");
  return p->command->check ? p->command->check(options, error) : DQ_OK;
}

dq_status dq_options_parse(const dq_command *command, int argc, char **argv, void *options, dq_error *error) {
  memset(options, 0, command->options_size);
  ((dq_common_options *)options)->command = command;
  parser *p = malloc(sizeof *p);
  if (!p) return dq_fail_memory(error, sizeof *p);
  prepare(p, command);
  dq_status status = parse(p, argc, argv, options, error);
  free(p);
  return status;
}

void dq_options_free(const dq_command *command, void *options) {
  dq_option_place places[DQ_OPTION_ROWS];
  int count = dq_option_places(command, places);
  dq_common_options *common = options;
  for (int i = 0; i < count; i++)
    if (places[i].row->type == DQ_OPTION_LIST) {
      dq_option_list *list = (dq_option_list *)(void *)((char *)options + places[i].offset);
      free(list->items);
      *list = (dq_option_list){0};
    }
  for (int i = 0; i < common->joined.count; i++) free((void *)common->joined.items[i]);
  free(common->joined.items);
  common->joined = (dq_option_list){0};
  free(common->operands);
  common->operands = NULL;
  common->operand_count = 0;
}

const void *dq_option_target(const void *options, const char *name) {
  dq_option_place places[DQ_OPTION_ROWS];
  const dq_common_options *common = options;
  const int place = place_of_name(places, dq_option_places(common->command, places), name);
  return place >= 0 ? (const char *)options + places[place].offset : NULL;
}

bool dq_option_given(const void *options, const char *name) {
  const dq_common_options *common = options;
  dq_option_place places[DQ_OPTION_ROWS];
  int place = place_of_name(places, dq_option_places(common->command, places), name);
  return place >= 0 && common->given[place];
}
