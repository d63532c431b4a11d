# The HTML page: one file that needs nothing else, escapes every name, and fits a phone.
load common
load pictures

# page OPTION...: page.html of a quantized model with all there is to show
page() {
  dq-int8 "$models/small.onnx" --data "npy:$x" --table table.json -o q.onnx -q >/dev/null
  gives 0 dq-report q.onnx --ref "$models/small.onnx" --overflow --data "npy:$x" --html page.html "$@"
}

@test "what is on it" {
  page
  for title in Model "Multiply-accumulates by precision" "Weights by precision" "Signal-to-noise ratio along the network" \
    Overflow "Bits of the accumulator" "Values and the ranges chosen" "Compared layer by layer" Layers Operators; do
    grep -qF "<h2>$title</h2>" page.html
  done
  [ "$(grep -c '<figure>' page.html)" -eq 6 ]             # values that are quantized
  [ "$(grep -o '<div class="bar">' page.html | wc -l)" -ge 11 ] # precisions, and twice the four products
  # The line of 16 bits, and the bars, as shares of the most bits that a layer can need.
  sed -n '/<h2>Bits of the accumulator/,/<h2>Values/p' page.html | grep '<div class="bar">' |
    sed -E 's|.*class="s1"[^>]* width="([^"]*)".*class="s0"[^>]* width="([^"]*)".*"M([^ ]*) 0v10".*>([0-9.]+) / ([0-9.]+)<.*|\1 \2 \3 \4 \5|' >bars
  [ "$(wc -l <bars)" -eq 4 ]
  awk '{ line[NR] = $0; if ($5 > most) most = $5 }
    function near(a, b) { return a - b < 0.01 && b - a < 0.01 }
    END { for (i in line) { split(line[i], n); if (!near(n[1], 100 * n[5] / most) || !near(n[2], 100 * n[4] / most) ||
      !near(n[3], 1600 / most)) { print "bars:", line[i]; exit 1 } } }' bars
  [[ $output != *$'\nLayers\n'* ]] # that table is for the page alone
  run -1 grep -qiE '<script|<link|<img|https?://|url\(|@import' page.html
  grep -q 'prefers-color-scheme: dark' page.html
  cp page.html again.html
  page --threads 3 --cpu-mask avx2
  cmp page.html again.html
}

@test "a table's ranges on a float model; models without ranges" {
  page
  gives 0 dq-report "$models/small.onnx" --data "npy:$x" --table table.json --html page.html
  [ "$(grep -c '<figure>' page.html)" -ge 1 ]
  gives 0 dq-report "$models/small.onnx" --data "npy:$x" --html page.html
  run -1 grep -q '<figure>' page.html
  gives 0 dq-report "$models/small.onnx" --html page.html
  grep -qF '<h2>Weights by precision</h2>' page.html
  gives 2 dq-report "$models/small.onnx" --data "npy:$x" --table table.json
  says "dq-report: option '--table' needs '--html'"
  echo '{"z": {"lowest": 0, "highest": 1}}' >other.json
  gives 3 dq-report "$models/small.onnx" --data "npy:$x" --table other.json --html page.html
  has "dq-report: other.json: the model has none of its values"
}

@test "names are escaped" {
  gives 0 dq-report "$models/strange_names.onnx" --html page.html
  run -1 grep -q '<[^>]*<' page.html
  cp "$models/small.onnx" '<b onclick=x>&"quoted".onnx'
  gives 0 dq-report '<b onclick=x>&"quoted".onnx' --html page.html
  grep -qF '<h1>&lt;b onclick=x&gt;&amp;&quot;quoted&quot;.onnx</h1>' page.html
}

# measured WIDTH [OPTION...]: in a window part of that width: the width of the page, how many elements stick out,
# its background
measured() {
  cat >frame.html <<EOF
<!doctype html><body><iframe src="page.html" style="width:$1px;height:900px;border:0"></iframe><p id="answer"></p><script>
onload = () => {
  const inner = document.querySelector("iframe").contentDocument;
  const out = [...inner.querySelectorAll("body *")].filter(e => !e.closest(".wide, svg") && e.getBoundingClientRect().right > $1 + 0.5);
  document.getElementById("answer").textContent = [inner.documentElement.scrollWidth, out.length,
    inner.querySelectorAll("svg").length > 10, inner.defaultView.getComputedStyle(inner.body).backgroundColor].join(" ");
};
</script>
EOF
  timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files "${@:2}" --dump-dom \
    "file://$PWD/frame.html" 2>/dev/null | sed -n 's/.*<p id="answer">\([^<]*\)<.*/\1/p'
}

@test "it fits a phone and a desk, by day and by night" {
  command -v chromium >/dev/null || skip "chromium is not installed: nothing rendered the page"
  page
  [ "$(measured 390)" = "390 0 true rgb(255, 255, 255)" ]
  [ "$(measured 1200)" = "1200 0 true rgb(255, 255, 255)" ]
  [ "$(measured 390 --blink-settings=preferredColorScheme=0)" = "390 0 true rgb(20, 24, 29)" ]
  timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,800 \
    --screenshot="$PWD/page.png" "file://$PWD/page.html" 2>/dev/null
  [ "$(od -An -tu1 -j16 -N8 page.png | tr -s ' ')" = " 0 0 4 176 0 0 3 32" ] # 1200 by 800
}

# broken WIDTH FILE: whether the page has cells, how many with numbers, shapes, types or operators are broken into lines
# in a window of that width, and the right edge of the last verdict while nothing is scrolled (0: none)
broken() {
  cat >frame.html <<EOF
<!doctype html><body><iframe src="$2" style="width:$1px;height:900px;border:0"></iframe><p id="answer"></p><script>
onload = () => {
  const inner = document.querySelector("iframe").contentDocument, range = inner.createRange();
  const cells = [...inner.querySelectorAll(".wide td, .wide th")].filter(e => e.textContent && !/^[mrp]/.test(e.className));
  const lines = e => { range.selectNodeContents(e); return new Set([...range.getClientRects()].map(r => r.top)).size; };
  const verdict = [...inner.querySelectorAll(".wide td")].filter(e => /^(faster|slower|cannot tell)/.test(e.textContent)).pop();
  document.getElementById("answer").textContent =
    [cells.length > 10, cells.filter(e => lines(e) > 1).length, verdict ? Math.round(verdict.getBoundingClientRect().right) : 0].join(" ");
};
</script>
EOF
  timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files --dump-dom \
    "file://$PWD/frame.html" 2>/dev/null | sed -n 's/.*<p id="answer">\([^<]*\)<.*/\1/p'
}

@test "numbers, shapes and operators stay in one line, on a desk and on a phone" {
  command -v chromium >/dev/null || skip "chromium is not installed: nothing rendered the page"
  gives 0 dq-report "$root/datasets/shapes.onnx" --html page.html
  for width in 390 800 1200; do [ "$(broken $width page.html)" = "true 0 0" ]; done
  gives 0 dq-int8 "$root/datasets/shapes.onnx" --data synth:shapes --limit 8 -o out.onnx --html page.html
  for width in 390 800 1200; do [ "$(broken $width page.html)" = "true 0 0" ]; done
}

@test "times on a page: the verdict is in sight, a model's path stands once above its steps" {
  cp "$root/datasets/shapes.onnx" a.onnx
  cp a.onnx b.onnx
  gives 0 dq-bench a.onnx b.onnx --per-layer --runs 6 --html page.html
  [ "$(sed -n '/<h2>Steps/,$p' page.html | sed 's/<wbr>//g' | grep -o '[ab]\.onnx' | tr '\n' ' ')" = "a.onnx b.onnx " ]
  run -1 grep -qiE '<script|<link|<img|https?://|url\(|@import' page.html
  command -v chromium >/dev/null || skip "chromium is not installed: nothing rendered the page"
  read -r many lines right <<<"$(broken 1200 page.html)"
  [ "$many $lines" = "true 0" ]
  [ "$right" -gt 100 ]
  [ "$right" -lt 1200 ]
}

@test "a page shows the layers once, whatever else it shows" {
  local options
  gives 0 dq-int8 "$models/small.onnx" --data "npy:$x" -o q.onnx
  for options in "" "--data npy:$x" "--ref $models/small.onnx --data npy:$x" "--overflow" "--overflow --data npy:$x"; do
    gives 0 dq-report q.onnx $options --html page.html
    [ "$(grep -o '<h2>Layers</h2>' page.html | wc -l)" -eq 1 ]
  done
}
