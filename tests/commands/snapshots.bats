# Recorded outputs, those that take little time: `make snapshots` records them anew.
load common

copy_runner() { # the runner of transcripts and what it reads, in the folder of the test
  mkdir snapshots tables
  cp "$root"/tests/snapshots/run snapshots
  cp "$root"/tests/tables/shown tables
  cp "$root"/tests/snapshots/{gates.model,counted_clock.c} snapshots
  mkdir ../datasets
  touch ../datasets/shapes.onnx
}

@test "dq-report: models, costs, losses, audits" { shows report; }
@test "dq-amp" { shows amp; }
@test "dq-int8: networks with many kinds of operators" { shows int8_networks; }
@test "models with open sizes" { shows open_sizes; }

@test "every transcript is compared" {
  for transcript in "$root"/tests/snapshots/*.txt; do
    name=${transcript##*/}
    grep -qE "shows ${name%.txt}; \}" "$root"/tests/commands/snapshots*.bats || { echo "$name is not" && return 1; }
  done
}

@test "a transcript that is not there, has no commands, or shows something else, fails" {
  copy_runner
  gives 1 snapshots/run "$build" nowhere
  says "$PWD/snapshots/nowhere.txt has no commands"
  echo "# nothing" >snapshots/empty.txt
  gives 1 snapshots/run "$build" empty
  printf '$ echo one\none\n$ (exit 3)\n[status 3]\n' >snapshots/same.txt
  gives 0 snapshots/run "$build" same
  sed 's/^one/two/' snapshots/same.txt >snapshots/other.txt
  gives 1 snapshots/run "$build" other
  has "-two"
  has "+one"
  snapshots/run "$build" --write other
  cmp snapshots/same.txt snapshots/other.txt
  printf '$ echo one\n...\n' >snapshots/open.txt
  gives 1 snapshots/run "$build" open
  has "has a line '...'"
}

@test "numbers of factors: whole ones exactly, others within a unit of the last digit or 0.03 %" {
  copy_runner
  printf '# factors\n$ echo a 0.1234 12 1.50e-03 x\na 0.1235 12 1.51e-03 x\n' >snapshots/near.txt
  gives 0 snapshots/run "$build" near
  printf '# factors\n$ echo 0.1234\n0.1236\n' >snapshots/far.txt
  gives 1 snapshots/run "$build" far
  printf '# factors\n$ echo 12\n13\n' >snapshots/whole.txt
  gives 1 snapshots/run "$build" whole
  printf '# factors\n$ echo 0.999999999999\n1\n' >snapshots/one.txt
  gives 0 snapshots/run "$build" one
  printf '# factors\n$ echo "0.123456789012,2"\n0.12346,2\n' >snapshots/long.txt
  gives 0 snapshots/run "$build" long
  printf '# factors\n$ echo "0.123456789012,2"\n0.12349,2\n' >snapshots/long.txt
  gives 0 snapshots/run "$build" long
  printf '# factors\n$ echo "1..0.123456789012"\n1..0.12349\n' >snapshots/long.txt
  gives 0 snapshots/run "$build" long
  printf '# factors\n$ echo "0.123456789012,2"\n0.12351,2\n' >snapshots/long.txt
  gives 1 snapshots/run "$build" long
  printf '# factors\n$ echo one\ntwo\n' >snapshots/word.txt
  gives 1 snapshots/run "$build" word
}
