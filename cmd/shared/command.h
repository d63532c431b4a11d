// The frame every command runs in.
#ifndef DQ_CMD_COMMAND_H
#define DQ_CMD_COMMAND_H

#include "cmd/shared/console.h"
#include "cmd/options/options.h"
#include "lib/render/report.h"

// Runs a command: parses its options, answers --help, --version and similar options, catches SIGINT and SIGTERM, makes
// the context, calls command->run, and returns the exit status. It prints the error of `run`, which must not print it.
// Standard output is for results: a failure to write it is DQ_SYSTEM; a closed pipe ends the command without a message.
int dq_command_main(int argc, char **argv, const dq_command *command);

// Writes a report to the files of --json, --csv and --html, and as text to standard output. The text goes to standard
// error when the model goes to standard output, and nowhere when one of the files is "-". DQ_SYSTEM: a file cannot be
// written.
dq_status dq_command_report(const dq_common_options *common, const dq_report *report, dq_error *error);
// Whether this process writes files and reports: the first one of an MPI job, or the only one.
static inline bool dq_command_writes(const dq_context *context) { return dq_process_index(context->processes) == 0; }
// Whether a report is text alone, as none of these files is wanted.
bool dq_command_reports_text_alone(const dq_common_options *common);

#endif
