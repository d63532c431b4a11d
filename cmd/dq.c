// The one program. Under the name dq-VERB, a link to it, it is that command; `dq VERB ...` is the same.
#include <string.h>
#include <unistd.h>

#include "cmd/shared/command.h"
#include "lib/base/sizes.h"
#include "lib/text/nearest.h"

// The commands of cmd/dq-*.c, sorted by verb: the Makefile writes verbs.def, one row per file.
#define DQ_VERB(verb) extern const dq_command dq_verb_##verb;
#include "verbs.def"
#undef DQ_VERB
#define DQ_VERB(verb) &dq_verb_##verb,
static const dq_command *const commands[] = {
#include "verbs.def"
};
enum { COMMANDS = DQ_COUNT(commands), PREFIX = sizeof "dq-" - 1 };

static const char *verb_of(const dq_command *command) { return command->name + PREFIX; }

static const dq_command *find_verb(const char *verb) {
  for (int i = 0; i < COMMANDS; i++)
    if (!strcmp(verb_of(commands[i]), verb)) return commands[i];
  return NULL;
}

// The command that the program was started as; NULL: as dq.
static const dq_command *find_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  const char *name = slash ? slash + 1 : path;
  return name && !strncmp(name, "dq-", PREFIX) ? find_verb(name + PREFIX) : NULL;
}

static void list_verbs(void) {
  printf("\nCommands:\n");
  for (int i = 0; i < COMMANDS; i++) printf("  %-10s %s\n", verb_of(commands[i]), commands[i]->summary);
  printf("\n'dq help VERB' tells all about one of them.\n");
}

static dq_status run(const void *options, const dq_context *context, dq_error *error) {
  (void)context;
  const dq_common_options *common = options;
  const char *verb = common->operands[0];
  if (!strcmp(verb, "help") && common->operand_count == 1) {
    dq_options_help(common->command, stdout);
    list_verbs();
    return DQ_OK;
  }
  if (!strcmp(verb, "help")) verb = common->operands[1];
  dq_nearest nearest = dq_nearest_begin(verb);
  dq_nearest_offer(&nearest, "help");
  for (int i = 0; i < COMMANDS; i++) dq_nearest_offer(&nearest, verb_of(commands[i]));
  dq_fail(error, DQ_USAGE, "unknown command '%.200s'", verb);
  if (nearest.name) dq_error_hint(error, "did you mean 'dq %s'?", nearest.name);
  else dq_error_hint(error, "'dq help' lists the commands");
  return DQ_USAGE;
}

static const dq_command front = {
    .name = "dq",
    .summary = "makes convolutional networks smaller and faster, ONNX in and ONNX out",
    .usage = "VERB [arguments] | help [VERB]",
    .description = "'dq VERB ...' is the same as 'dq-VERB ...'. Results go to standard output, "
                   "everything else to standard error. A program dq-VERB in PATH adds a command.",
    .examples = "dq report model.onnx\ndq help int8",
    .operand = "VERB",
    .operands_minimum = 1,
    .operands_maximum = -1,
    .front = true,
    .shared = DQ_ONLY_INFO,
    .options_size = sizeof(dq_common_options),
    .run = run,
};

// Runs the command of this verb; returns -1 when there is none. A verb that is not of this program may be
// that of a program dq-VERB in PATH, which then takes its place.
static int run_verb(int argc, char **argv) {
  const dq_command *command = find_verb(argv[0]);
  if (command) return dq_command_main(argc, argv, command);
  char program[64], *verb = argv[0];
  int length = snprintf(program, sizeof program, "dq-%s", verb);
  if (strchr(verb, '/') || length >= (int)sizeof program) return -1;
  argv[0] = program;
  execvp(program, argv);
  argv[0] = verb;
  return -1;
}

int main(int argc, char **argv) {
  const dq_command *command = argc > 0 ? find_name(argv[0]) : NULL;
  if (command) return dq_command_main(argc, argv, command);
  static char help[] = "help", option[] = "--help";
  if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) argv[1] = help;
  if (argc > 1 && argv[1][0] != '-') {
    bool about = !strcmp(argv[1], "help") && argc > 2 && argv[2][0] != '-';
    char *arguments[] = {about ? argv[2] : NULL, option, NULL};
    bool called = strcmp(argv[1], "help") != 0;
    int status = about ? run_verb(2, arguments) : called ? run_verb(argc - 1, argv + 1) : -1;
    if (status >= 0) return status;
    // The verb is unknown: what follows it must not be taken for options of dq.
    argc = argc > 3 || called ? 2 : argc;
  }
  return dq_command_main(argc, argv, &front);
}
