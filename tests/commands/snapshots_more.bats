# Recorded outputs: what takes longer than the ones of snapshots.bats.
load common

needs_terminal() { script -qec true /dev/null >/dev/null || skip "script gives no terminal here"; }

@test "dq-tucker" { shows tucker; }
@test "dq-run: answers, with every algorithm of the convolutions" { shows run; }
@test "operators that the other networks do not have" { shows operators; }
@test "operators with all their attributes" { shows attributes; }
@test "pictures, presets, and what answers are measured as" { shows data; }
@test "help, completions, searches, dq-bench" { shows commands; }
@test "dq-int8: methods of calibration" { shows int8_methods; }
@test "dq-int8: options that change what is written" { shows int8_options; }
@test "dq-int8: operators on integers" { shows int8_operators; }
@test "dq-int8: tables, precisions, searches" { shows int8_tables; }
@test "dq-cc: C whole and by functions" { shows cc; }
@test "dq-train: losses, figures and weights" { shows train; }
@test "pages, with all their elements" { shows pages; }
@test "options: help, the ends of their ranges, and command lines that are wrong" { shows options; }
@test "dq-int8: every option on every network" { shows int8_matrix; }
@test "dq-amp: every option on every network" { shows amp_matrix; }
@test "settings files of which a line is missing or says something else" { shows settings; }
@test "commands that measure, on a clock that counts its readings" { shows counted; }
@test "tables on terminals of some widths" { needs_terminal; shows widths; }
@test "dq-tucker with its measurements, on the same clock" { shows counted_tucker; }
