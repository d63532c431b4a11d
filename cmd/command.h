// The frame every command runs in.
#ifndef DQ_CMD_COMMAND_H
#define DQ_CMD_COMMAND_H

#include "cmd/console.h"
#include "cmd/options.h"
#include "lib/render/report.h"

// Parses, answers --help and its kin, catches SIGINT and SIGTERM, makes the context and runs the
// command; returns the exit status. Errors of `run` are printed here: run must not print them.
// Standard output is for results; failing to write it is DQ_SYSTEM, a closed pipe ends quietly.
int dq_command_main(int argc, char **argv, const dq_command *command);

// Shows a report as the command line wants it: the files of --json, --csv and --html, and text on
// standard output; on standard error when the model goes to standard output, and nowhere when one of
// the files is "-".
dq_status dq_command_report(const dq_common_options *common, const dq_report *report, dq_error *error);

#endif
