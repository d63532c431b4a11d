# dq-run on text: regions, lines, and a recognizer behind a detector.
load common

# A detector whose map is the brightness of the picture, and a recognizer that reads "a", "a" again, a blank, "b".
networks() {
  cat >find.model <<'END'
input x -1 3 16 32
m = ReduceMean x axes=1, keepdims=1
s = Mul m f(20)
t = Add s f(-10)
y = Sigmoid t
output y -1 1 16 32
END
  cat >read.model <<'END'
input line -1 3 8 16
m = ReduceMean line axes=1,2,3 keepdims=1
z = Mul m f(0)
q = Reshape z i(-1,1,1)
r = Reshape f(0.05,0.9,0.03,0.02,0.1,0.8,0.05,0.05,0.7,0.1,0.1,0.1,0.1,0.2,0.6,0.1) i(1,-1,4)
y = Add q r
output y -1 4 4
END
  for name in find read; do make_models --describe $name.model $name.onnx; done
  printf 'a\nb\nc\n' >letters.txt
}

# A picture of 32x16, black but for columns 8 to 19 of rows 6 to 9.
page() {
  local x y
  printf 'P5\n32 16\n255\n'
  for y in {0..15}; do
    for x in {0..31}; do
      if ((x >= 8 && x < 20 && y >= 6 && y < 10)); then printf '\377'; else printf '\0'; fi
    done
  done
}

# The white cells grow by one to the right and downwards: a rectangle from (8, 6) to (20, 10), in which 48 of 65 cells
# are white. It grows by its area times 1.6 over its perimeter, 48 * 1.6 / 32 = 2.4, on all sides.
@test "regions of text, and the text that a recognizer reads in them" {
  networks
  page >page.pgm
  echo page.pgm >list.txt
  gives 0 dq-run find.onnx --data list.txt --preset vww
  has "the outputs are read as boxes (text-regions)"
  [ "$(sed -n 3,4p <<<"$output")" = "  1 object (text-regions)
   0.738      5.6     3.6    22.4    12.4    corners 5.6,3.6 22.4,3.6 22.4,12.4 5.6,12.4" ]
  gives 0 dq-run find.onnx --recognize read.onnx --dictionary letters.txt --data list.txt --preset vww --json a.json \
    --draw drawn
  has "   0.750      5.6     3.6    22.4    12.4  ab  corners"
  python3 - <<'END'
import json
region, = json.load(open("a.json"))["pictures"][0]["model"]["objects"]
assert region["text"] == "ab" and region["class"] == -1 and len(region["corners"]) == 4, region
END
  (cd drawn && only 000000_page.pgm.png)
  gives 0 dq-run find.onnx --ref find.onnx --recognize read.onnx --dictionary letters.txt --data list.txt --preset vww
  has "1 picture: 2 of 2 objects are in both, 100.00 %"
  has "texts of 1 pair: 1 equal, 100.00 %"
  # The region has a score of 0.738, which --score bounds, its text one of 0.75.
  gives 0 dq-run find.onnx --ref find.onnx --recognize read.onnx --dictionary letters.txt --data list.txt --preset vww --score 0.74
  has "  0 objects (text-regions)"
  gives 0 dq-run find.onnx --data list.txt
  has "preprocessing: ppocr-det, as networks with such outputs (text-regions) take it; --preset overrides it"
  gives 2 dq-run find.onnx --data list.txt --decode map
  has "the preprocessing of these pictures is not known, expected a preset"
  gives 0 dq-run find.onnx --data list.txt --preset vww --score 0.8 # above that of the region
  has "  0 objects (text-regions)"
}

@test "a line of text, with and without its characters" {
  networks
  page >page.pgm
  echo page.pgm >list.txt
  line=(--data list.txt --preset ppocr-rec --decode text)
  gives 0 dq-run read.onnx "${line[@]}" --dictionary letters.txt
  [ "${lines[2]}" = "   0.750  ab" ]
  gives 0 dq-run read.onnx "${line[@]}"
  [ "${lines[2]}" = "   0.750  1 2" ]
  gives 0 dq-run read.onnx "${line[@]}" --dictionary letters.txt --ref read.onnx
  has "1 picture: 1 of 1 line is in both"
  printf 'a\n' >one.txt
  gives 3 dq-run read.onnx "${line[@]}" --dictionary one.txt
  has "dq-run: read.onnx: one.txt: "
  gives 5 dq-run read.onnx "${line[@]}" --dictionary nothing.txt
}

@test "recognizers that cannot be" {
  networks
  page >page.pgm
  echo page.pgm >list.txt
  gives 2 dq-run read.onnx --recognize read.onnx --data list.txt --preset ppocr-rec --decode text
  has "--recognize: the model finds no regions of text (--decode text-regions)"
  gives 5 dq-run find.onnx --recognize nothing.onnx --data list.txt --preset vww
  has "--recognize nothing.onnx: "
  gives 3 dq-run find.onnx --recognize find.onnx --data list.txt --preset vww --dictionary letters.txt
  has "--recognize find.onnx: "
  gives 3 dq-run find.onnx --data list.txt --preset vww --decode text
}
