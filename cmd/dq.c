// dq VERB ...: runs dq-VERB, found beside this program or in PATH.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/nearest.h"

enum { VERBS = 64, VERB_SIZE = 64 };
extern char **environ;

typedef struct verb_list {
  char names[VERBS][VERB_SIZE]; // without "dq-", sorted
  int count;
} verb_list;

// The folder this program lies in, "." when the system does not tell.
static void own_folder(char folder[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  folder[length > 0 ? length : 0] = 0;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
  else snprintf(folder, PATH_MAX, ".");
}

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

static void find_verbs(const char *folder, verb_list *verbs) {
  verbs->count = 0;
  DIR *directory = opendir(folder);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory)) && verbs->count < VERBS;) {
    const char *verb = entry->d_name + 3;
    if (strncmp(entry->d_name, "dq-", 3) || strlen(entry->d_name) >= VERB_SIZE) continue;
    if (strspn(verb, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(verb)) continue;
    if (faccessat(dirfd(directory), entry->d_name, X_OK, 0)) continue;
    snprintf(verbs->names[verbs->count++], VERB_SIZE, "%s", verb);
  }
  closedir(directory);
  qsort(verbs->names, (size_t)verbs->count, VERB_SIZE, compare_names);
}

// Becomes dq-VERB with argv[0] replaced; returns only when there is no such program.
static void become(const char *folder, const char *verb, char **argv) {
  char path[PATH_MAX + VERB_SIZE], program[VERB_SIZE + 8];
  if (strlen(verb) >= VERB_SIZE || strchr(verb, '/')) return;
  snprintf(program, sizeof program, "dq-%s", verb);
  snprintf(path, sizeof path, "%s/%s", folder, program);
  char *before = argv[0];
  argv[0] = program;
  execv(path, argv);
  execvp(program, argv);
  argv[0] = before;
}

// The summary of a command: what stands behind " - " in the first line of its help.
static void read_summary(const char *folder, const char *verb, char *summary, size_t size) {
  char path[PATH_MAX + VERB_SIZE], line[256] = "", help[] = "--help";
  int ends[2];
  *summary = 0;
  snprintf(path, sizeof path, "%s/dq-%s", folder, verb);
  if (pipe(ends)) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char *arguments[] = {path, help, NULL};
  pid_t child;
  bool started = !posix_spawn(&child, path, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  FILE *stream = fdopen(ends[0], "r");
  if (stream && started && fgets(line, sizeof line, stream)) {
    line[strcspn(line, "\n")] = 0;
    const char *dash = strstr(line, " - ");
    if (dash) snprintf(summary, size, "%s", dash + 3);
  }
  if (stream) fclose(stream);
  else close(ends[0]);
  if (started) waitpid(child, NULL, 0);
}

static void list_verbs(const char *folder) {
  verb_list verbs;
  find_verbs(folder, &verbs);
  printf("\nCommands:\n");
  for (int i = 0; i < verbs.count; i++) {
    char summary[256];
    read_summary(folder, verbs.names[i], summary, sizeof summary);
    printf("  %-10s %s\n", verbs.names[i], summary);
  }
  printf("\n'dq help VERB' tells all about one of them.\n");
}

static dq_status run(const void *options, const dq_context *context, dq_error *error) {
  (void)context;
  const dq_common_options *common = options;
  char folder[PATH_MAX];
  own_folder(folder);
  const char *verb = common->operands[0];
  if (!strcmp(verb, "help") && common->operand_count == 1) {
    dq_options_help(common->command, stdout);
    list_verbs(folder);
    return DQ_OK;
  }
  if (!strcmp(verb, "help")) verb = common->operands[1];
  verb_list verbs;
  find_verbs(folder, &verbs);
  dq_nearest nearest = dq_nearest_begin(verb);
  dq_nearest_offer(&nearest, "help");
  for (int i = 0; i < verbs.count; i++) dq_nearest_offer(&nearest, verbs.names[i]);
  dq_fail(error, DQ_USAGE, "unknown command '%.200s'", verb);
  if (nearest.name) dq_error_hint(error, "did you mean 'dq %s'?", nearest.name);
  else dq_error_hint(error, "'dq help' lists the commands");
  return DQ_USAGE;
}

static const dq_command command = {
    .name = "dq",
    .summary = "makes convolutional networks smaller and faster, ONNX in and ONNX out",
    .usage = "VERB [arguments] | help [VERB]",
    .description = "'dq VERB ...' is the same as 'dq-VERB ...'. Results go to standard output, "
                   "everything else to standard error.",
    .examples = "dq report model.onnx\ndq help int8",
    .operand = "VERB",
    .operands_minimum = 1,
    .operands_maximum = -1,
    .front = true,
    .shared = DQ_ONLY_INFO,
    .options_size = sizeof(dq_common_options),
    .run = run,
};

int main(int argc, char **argv) {
  char folder[PATH_MAX], help[] = "help";
  own_folder(folder);
  if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) argv[1] = help;
  if (argc > 2 && !strcmp(argv[1], "help") && argv[2][0] != '-') {
    char option[] = "--help", *arguments[] = {argv[0], option, NULL};
    become(folder, argv[2], arguments);
  } else if (argc > 1 && argv[1][0] != '-' && strcmp(argv[1], "help")) become(folder, argv[1], argv + 1);
  // The verb is unknown: what follows it must not be taken for options of dq.
  if (argc > 1 && argv[1][0] != '-') argc = argc > 3 || strcmp(argv[1], "help") ? 2 : argc;
  return dq_command_main(argc, argv, &command);
}
