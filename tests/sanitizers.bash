# What tests/run, and bats alone, need to know of sanitizers.

# built_with asan | tsan: the programs of the folder $build hold AddressSanitizer or ThreadSanitizer
built_with() { grep -qs "__$1_init" "$build/dq"; }

# With either one the shadow memory is resident as well and lies at addresses that no limit on them allows.
sanitized() { built_with asan || built_with tsan; }

# sanitizer_options [FOLDER]: a process with a report ends with a status that no command has: by itself with 1 or 66,
# and some tests expect 1. With a folder it leaves the report in a file there, whatever its test looks at.
sanitizer_options() {
  local options=exitcode=99${1:+:log_path=$1/report}
  export ASAN_OPTIONS=$options:${ASAN_OPTIONS-} UBSAN_OPTIONS=$options:${UBSAN_OPTIONS-}
  # What setlocale of glibc reads of LOCPATH is its own.
  export LSAN_OPTIONS=suppressions=$PWD/tests/leaks_of_others:print_suppressions=0:${LSAN_OPTIONS-}
  # Without the second that every process waits at its end for threads; commands have joined theirs.
  export TSAN_OPTIONS=$options:atexit_sleep_ms=0:${TSAN_OPTIONS-}
}
