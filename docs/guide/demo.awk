# The picture of the README, docs/guide/demo.svg, from the table of `make demo` that the README shows: for each step its
# bytes and its time beside those of the original. usage: awk -f docs/guide/demo.awk README.md >docs/guide/demo.svg
/^Step / { inside = 1; next }
inside && !NF { exit }
inside {
  count++
  match($0, /  +/)
  name[count] = substr($0, 1, RSTART - 1)
  fields = split(substr($0, RSTART), field)
  accuracy[count] = field[1] " " field[2]
  bytes[count] = field[fields - 3]
  time[count] = field[fields - 2]
}

function text(x, y, words, more) { printf "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, more, words }
function bar(x, y, share, colour, words) {
  printf "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"16\" fill=\"%s\"/>\n", x, y, 200 * share, colour
  text(x + 200 * share + 6, y + 13, words, "")
}

END {
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n", 60 + 28 * count
  print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
  text(150, 24, "accuracy", " fill=\"#555\""); text(230, 24, "bytes", " fill=\"#555\""); text(530, 24, "time per picture", " fill=\"#555\"")
  for (i = 1; i <= count; i++) {
    y = 36 + 28 * (i - 1)
    text(16, y + 13, name[i], "")
    text(150, y + 13, accuracy[i], "")
    bar(230, y, bytes[i] / bytes[1], "#2b6cb0", sprintf("%.0f KiB", bytes[i] / 1024))
    bar(530, y, time[i] / time[1], "#c05621", time[i] " ms")
  }
  print "</svg>"
}
