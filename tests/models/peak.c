// The most memory a command holds, for tests of --memory.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/models/peak.h"

int measure_peak(const char *file, char **command) {
  int status;
  struct rusage used;
  pid_t child = fork();
  if (child == 0) {
    execvp(command[0], command);
    _exit(127);
  }
  FILE *to = fopen(file, "w");
  if (child < 0 || !to || wait4(child, &status, 0, &used) != child) return 127;
  fprintf(to, "%ld\n", used.ru_maxrss / 1024);
  if (fclose(to)) return 127;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
