// What measured times hold for: the build of the kernels and the processor.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels_hash.h" // generated: DQ_KERNELS_HASH
#include "lib/wisdom/wisdom.h"

const char *dq_wisdom_build(void) { return DQ_KERNELS_HASH; }

// The text behind the colon of the first line that begins so; false: there is none.
static bool find_line(const char *beginning, char *text, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[256];
  bool found = false;
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    found = colon && !strncmp(line, beginning, strlen(beginning));
    if (found) snprintf(text, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
  }
  if (file) fclose(file);
  return found;
}

const char *dq_wisdom_machine(unsigned cpu, char *text) {
  char model[96] = "", family[48] = "", number[48] = "", stepping[48] = "", sets[256];
  if (!find_line("model name", model, sizeof model)) find_line("CPU part", model, sizeof model);
  find_line("cpu family", family, sizeof family);
  find_line("model\t", number, sizeof number);
  find_line("stepping", stepping, sizeof stepping);
  snprintf(text, DQ_MACHINE_TEXT, "%s.%s.%s.%s/%s/%ld.%ld.%ld", model, family, number, stepping,
           dq_cpu_mask_text(cpu, sets, sizeof sets), sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE),
           sysconf(_SC_LEVEL3_CACHE_SIZE));
  char *to = text;
  for (const char *from = text; *from; from++) {
    bool gap = *from == ' ' || *from == '\t';
    if (!gap) *to++ = *from;
    else if (to > text && to[-1] != '_' && to[-1] != '.') *to++ = '_';
  }
  *to = 0;
  return text;
}
