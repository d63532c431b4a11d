#!/bin/sh
# The demonstration: datasets/shapes.onnx through dq-amp, dq-int8, dq-tucker and both together, on
# pictures made on the spot; ends with one table of what each step costs. All figures are measured.
# usage: cmd/demo.sh [BUILD_FOLDER]     models and reports go to BUILD_FOLDER/demo
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
out=$build/demo model=datasets/shapes.onnx
calibration=synth:shapes,split=calib,count=256 test=synth:shapes,split=test,count=2000
mkdir -p "$out"

step() { # step LOG COMMAND...: says what is run, keeps what it prints
  log=$1
  shift
  echo "\$ $*"
  "$build/$@" >"$out/$log"
}
step amp.txt dq-amp $model -o "$out/amp.onnx"
step int8.txt dq-int8 $model --data $calibration -o "$out/int8.onnx"
step tucker.txt dq-tucker $model --macs -25% --untimed --data $calibration -o "$out/tucker.onnx"
step tucker-int8.txt dq-int8 "$out/tucker.onnx" --data $calibration -o "$out/tucker-int8.onnx"

# What each layer of the last model lost against the first one.
step loss.txt dq-report -q "$out/tucker-int8.onnx" --ref $model --data $test --limit 200 \
  --html "$out/loss.html"
set -- $model "$out/amp.onnx" "$out/int8.onnx" "$out/tucker.onnx" "$out/tucker-int8.onnx"
step report.txt dq-report -q "$@" --data $test --csv "$out/report.csv" --html "$out/report.html"
step bench.txt dq-bench "$@" --threads 1 --runs 200 --csv "$out/bench.csv"

# One table of both: accuracy and size of report.csv, times of bench.csv. Columns go by their names.
echo
awk -F, -v model=$model '
  function column(name) { return $(where[name]) }
  FNR == 1 { split("", where); for (i = 1; i <= NF; i++) where[$i] = i; next }
  FILENAME ~ /bench.csv$/ { time[column("model")] = column("median_ms"); next }
  {
    file = column("file"); files[++count] = file
    name = file; sub(/.*\//, "", name); sub(/\.onnx$/, "", name)
    names[file] = file == model ? "original, fp32" : name
    quality[file] = column("quality"); macs[file] = column("macs")
    int8[file] = column("int8_macs"); bytes[file] = column("file_bytes")
  }
  END {
    printf "%-16s %10s %12s %12s %10s %14s %8s\n", "Step", "Accuracy", "MACs", "in int8", "Bytes",
      "Time/picture", "Speed"
    for (i = 1; i <= count; i++) {
      f = files[i]
      printf "%-16s %8.2f %% %12d %12d %10d %11.3f ms %7.2fx\n", names[f], quality[f], macs[f],
        int8[f], bytes[f], time[f], time[model] / time[f]
    }
  }' "$out/bench.csv" "$out/report.csv" | tee "$out/table.txt"
echo
echo "models and reports: $out/ (report.html, loss.html)"
