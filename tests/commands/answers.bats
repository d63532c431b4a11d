# What dq-run says of pictures: boxes, classes of points and maps as text, as JSON and drawn, beside a reference.
load common
load pictures

# rows NAME NUMBERS FIELDS [LINE...]: a network on 16x16 that gives rows of these numbers, whatever the picture holds
rows() {
  {
    printf 'input x -1 3 16 16\nm = ReduceMean x axes=1,2,3 keepdims=1\nz = Mul m f(0)\nq = Reshape z i(-1,1,1)\n'
    printf 'r = Reshape f(%s) i(1,-1,%s)\ny = Add q r\noutput y -1 %s %s\n' "$2" "$3" rows "$3"
    printf '%s\n' "${@:4}"
  } >"$1.model"
  make_models --describe "$1.model" "$1.onnx"
}

# picture MAGIC WIDTH HEIGHT MAXIMUM BYTES: a picture of one value
picture() {
  printf '%s\n%s %s\n%s\n' "$1" "$2" "$3" "$4"
  head -c "$5" /dev/zero | tr '\0' 'd'
}

# Pictures of 32x16, of which the input shows rows 4 to 12: a pixel of the input is 2 of the picture.
wide() {
  local i
  for ((i = 0; i < $1; i++)); do
    picture P6 32 16 255 1536 >"w$i.ppm"
    echo "w$i.ppm"
  done >list.txt
}

boxes=2,4,8,10,0.9,0,8,4,14,12,0.5,1,1,5,5,9,0.2,1
answers=(--data list.txt --preset yolo --decode end2end)

# size FILE: width and height of a PNG
size() { printf '%d %d' "0x$(od -An -tx1 -j16 -N4 "$1" | tr -d ' ')" "0x$(od -An -tx1 -j20 -N4 "$1" | tr -d ' ')"; }

@test "boxes as text, as JSON and drawn" {
  wide 2
  rows net $boxes 6
  gives 0 dq-run net.onnx "${answers[@]}" --json a.json --draw drawn/here
  [ "$(sed -n 1,5p <<<"$output")" = "w0.ppm
y: float32 1x3x6
  2 objects (end2end)
   0.900      4.0     0.0    16.0    12.0  class 0
   0.500     16.0     0.0    28.0    16.0  class 1" ]
  python3 - <<'END'
import json
a = json.load(open("a.json"))
assert (a["schema"], a["version"], len(a["pictures"])) == ("dq-run", 1, 2), a
for i, p in enumerate(a["pictures"]):
    m = p["model"]
    assert (m["picture"], m["width"], m["height"], m["kind"], m["form"]) == (f"w{i}.ppm", 32, 16, "objects", "end2end"), m
    assert [o["class"] for o in m["objects"]] == [0, 1] and "change" not in m["objects"][0]
    assert max(abs(x - y) for x, y in zip(m["objects"][0]["box"], [4, 0, 16, 12])) < 1e-6, m
END
  (cd drawn/here && only 000000_w0.ppm.png 000001_w1.ppm.png)
  [ "$(size drawn/here/000001_w1.ppm.png)" = "480 240" ] # a small picture is enlarged
  gives 0 dq-run net.onnx "${answers[@]}" --json -
  printf '%s\n' "$output" >printed.json
  cmp a.json printed.json
  gives 0 dq-run net.onnx "${answers[@]}" --score 0.6
  has "1 object (end2end)"
  gives 0 dq-run net.onnx "${answers[@]}" --score 1
  has "0 objects (end2end)"
}

@test "beside a reference" {
  wide 3
  rows net $boxes 6
  rows other 3,4,9,10,0.9,0,1,5,14,12,0.5,1,13,5,15,7,0.9,1 6
  gives 0 dq-run net.onnx "${answers[@]}" --ref net.onnx
  has "3 pictures: 12 of 12 objects are in both, 100.00 %"
  has "of the reference 0 vanished and 0 moved; of the model 0 appeared and 0 moved"
  gives 0 dq-run other.onnx "${answers[@]}" --ref net.onnx --draw drawn --json a.json
  [ "$(sed -n 1,7p <<<"$output")" = "w0.ppm
y: float32 1x3x6
  3 objects (end2end)
   0.900      6.0     0.0    18.0    12.0  class 0
   0.900     26.0     2.0    30.0     6.0  class 1  appeared
   0.500      2.0     2.0    28.0    16.0  class 1  moved
   0.500     16.0     0.0    28.0    16.0  class 1  was here" ]
  has "3 pictures: 6 of 15 objects are in both, 40.00 %"
  has "of the reference 0 vanished and 3 moved; of the model 3 appeared and 3 moved"
  python3 - <<'END'
import json
p = json.load(open("a.json"))["pictures"][2]
assert [o["change"] for o in p["model"]["objects"]] == ["kept", "alone", "moved"], p
assert [o["change"] for o in p["reference"]["objects"]] == ["kept", "moved"], p
END
  gives 0 dq-run net.onnx "${answers[@]}" --ref other.onnx
  has "of the reference 3 vanished and 3 moved; of the model 0 appeared and 3 moved"
  [[ $(size drawn/000002_w2.ppm.png) == 9[0-9][0-9]" "* ]] # both beside each other
  # Sides in the other order, and a box in the padding, which has no area: both are the same in the same model.
  rows odd 8,8,2,4,0.9,0,1,0,14,3,0.8,0,5,5,5,9,0.7,0 6
  gives 0 dq-run odd.onnx "${answers[@]}" --ref odd.onnx
  has "3 pictures: 18 of 18 objects are in both, 100.00 %"
}

@test "a reference that does not fit" {
  wide 2
  rows net $boxes 6
  printf 'input x -1 3 8 8\ny = Relu x\noutput y -1 3 8 8\n' >small.model
  make_models --describe small.model small.onnx
  gives 3 dq-run net.onnx "${answers[@]}" --ref small.onnx
  has "--ref small.onnx:"
  printf 'input x -1 3 16 16\ny = Relu x\noutput y -1 3 16 16\n' >points.model
  make_models --describe points.model points.onnx
  printf 'input x 2 3 16 16\ny = Reshape x i(2,3,16,16)\noutput y 2 3 16 16\n' >two.model
  make_models --describe two.model two.onnx
  gives 3 dq-run points.onnx --data list.txt --preset yolo --ref two.onnx
  has "--ref two.onnx: the two networks have inputs of different sizes"
  rows kind $boxes 6 "property task detect" "property names {0: 'cat', 1: 'dog'}"
  gives 0 dq-run kind.onnx --data list.txt --preset yolo --ref points.onnx
  has "2 pictures: no answers that can be compared"
  gives 5 dq-run net.onnx "${answers[@]}" --ref missing.onnx
  has "missing.onnx: No such file or directory"
}

@test "boxes in an output whose shape depends on elements, by the shape that the model declares" {
  wide 1
  for rows in 128 open; do
    printf '%s\n' 'input x -1 3 8 8' 'n = NonZero x' 'c = Cast n to=1' 'y = Reshape c i(1,-1,6)' "output y 1 ${rows/open/-1} 6" \
      "property names {0: 'cat', 1: 'dog'}" >$rows.model
    make_models --describe $rows.model $rows.onnx
    gives 0 dq-run $rows.onnx --data list.txt --preset yolo --preprocess pad=1,mean=-1 --json a.json
    [[ $(<a.json) == *"\"form\":\"$([ $rows = 128 ] && echo end2end || echo none)\""* ]]
  done
}

@test "ways to read outputs that do not fit" {
  wide 1
  rows net $boxes 6
  gives 3 dq-run net.onnx --data list.txt --preset yolo --decode yolov8
  has "yolov8: the outputs are 1x3x6, expected"
  has "hint: these decoders fit: end2end"
  gives 3 dq-run net.onnx --data list.txt --preset yolo --decode segment
  has "segment: the outputs are 1x3x6, expected one of N x classes x height x width"
  has "hint: these fit: text, map, none"
  gives 2 dq-run net.onnx --data list.txt --preset yolo --decode segments
  has "unknown decoder 'segments'"
  gives 0 dq-run net.onnx --data list.txt --preset yolo --decode none
  [ "$output" = "w0.ppm
y: float32 1x3x6" ]
  gives 0 dq-run net.onnx --data list.txt --preset yolo # rows of numbers are no map
  [ "$output" = "w0.ppm
y: float32 1x3x6" ]
  gives 2 dq-run net.onnx --data list.txt --score 0
  gives 2 dq-run net.onnx --data list.txt --overlap 1.5
  gives 2 dq-run net.onnx --input x=x.npy --json a.json
}

@test "files that cannot be written" {
  wide 1
  rows net $boxes 6
  gives 5 dq-run net.onnx "${answers[@]}" --json missing/a.json
  has "missing/a.json: No such file or directory"
  gives 5 dq-run net.onnx "${answers[@]}" --json /dev/full
  has "No space left on device"
  echo old >taken
  gives 5 dq-run net.onnx "${answers[@]}" --draw taken
  has "taken: Not a directory"
  [ -z "$output" ]
  [ "$(cat taken)" = old ]
  mkdir -p folder/000000_w0.ppm.png
  gives 5 dq-run net.onnx "${answers[@]}" --draw folder --json a.json
  has "folder/000000_w0.ppm.png: is a folder"
  [ ! -e a.json ] # not half of it
  gives 2 dq-run "$models/small.onnx" --data "npy:$x" --draw drawn
  has "--draw: the data are arrays, expected pictures"
  [ ! -e drawn ]
  ln -s /proc/self readonly # where nobody makes files
  gives 5 dq-run net.onnx "${answers[@]}" --draw readonly
}

@test "names of pictures and classes" {
  local long
  mkdir -p data/a data/$'b\033[31m'
  wide 1
  cp w0.ppm data/a/same.ppm
  cp w0.ppm data/$'b\033[31m'/same.ppm
  cp w0.ppm "data/a/"$'odd \033[2J\t"name.ppm'
  long=$(printf '%0200d' 1)
  cp w0.ppm "data/a/$long.ppm"
  rows net $boxes 6
  gives 0 dq-run net.onnx --data data --preset yolo --decode end2end --draw drawn --json a.json
  [[ $output$stderr != *$'\033'* ]]
  has "b?[31m"
  [ "$(ls drawn | wc -l)" -eq 4 ]
  [ "$(ls drawn | grep -c '_same\.ppm\.png')" -eq 2 ]
  [[ $(ls drawn) != *[^a-zA-Z0-9_.$'\n'-]* ]]
  python3 -c 'import json
a = json.load(open("a.json"))
assert len(a["pictures"]) == 4 and a["pictures"][0]["model"]["objects"][1]["name"] == "b\x1b[31m", a'
}

@test "batches, a limit on the time, and memory" {
  wide 7
  rows net $boxes 6
  gives 0 dq-run net.onnx "${answers[@]}" --json one.json
  one=$output
  gives 0 dq-run net.onnx "${answers[@]}" --json four.json --batch 4 --ref net.onnx
  has "7 pictures: 28 of 28 objects are in both"
  gives 0 dq-run net.onnx "${answers[@]}" --json four.json --batch 4
  [ "$output" = "$one" ]
  cmp one.json four.json
  gives 1 dq-run net.onnx "${answers[@]}" --json part.json --time-limit 0.000001 --ref net.onnx
  has "--time-limit: the first 1 of 7 pictures were run"
  has "1 picture: 4 of 4 objects are in both"
  python3 -c 'import json; assert len(json.load(open("part.json"))["pictures"]) == 1'
  gives 5 dq-run net.onnx "${answers[@]}" --memory 10K --json none.json
  [ ! -e none.json ]
  # 14 masks of 16 million pixels do not fit.
  printf 'P5\n4000 4000\n255\n' >large.pgm
  head -c 16000000 /dev/zero >>large.pgm
  echo large.pgm >list.txt
  rows mask "$(printf '0,0,16,16,0.9,0,1,%.0s' {1..14} | sed 's/,$//')" 7 'p = Reshape f(1,1,1,1) i(1,1,2,2)' 'zz = Reshape z i(-1,1,1,1)' 'planes = Add zz p' \
    'output planes -1 1 2 2'
  gives 5 dq-run mask.onnx "${answers[@]}" --memory 210M
  has "out of memory"
  gives 0 dq-run mask.onnx "${answers[@]}" --memory 400M --score 0.5
  has "mask of 16000000 pixels"
}

@test "grey pictures, pictures of 16 bits, two inputs, NaN" {
  rows net $boxes 6
  picture P5 32 16 65535 1024 >deep.pgm
  picture P5 32 16 255 512 >grey.pgm
  printf 'deep.pgm\ngrey.pgm\n' >list.txt
  gives 0 dq-run net.onnx "${answers[@]}" --draw drawn
  has "2 objects (end2end)"
  [ "$(size drawn/000000_deep.pgm.png)" = "480 240" ]
  cmp drawn/000000_deep.pgm.png drawn/000001_grey.pgm.png
  printf 'input a -1 3 16 16\ninput b -1 3 16 16\ny = Add a b\noutput y -1 3 16 16\n' >pair.model
  make_models --describe pair.model pair.onnx
  gives 0 dq-run pair.onnx --data "a=list.txt;b=list.txt" --preset yolo --draw both --decode segment
  has "100.00 % of the points  class 0"
  [ "$(ls both | wc -l)" -eq 2 ]
  rows nan $boxes 6 'l = Log z' 'i = Reshape l i(-1,1,1)' 'n = Mul i f(0)' 'w = Add y n' 'output w -1 rows 6'
  sed -i '/^output y/d' nan.model
  make_models --describe nan.model nan.onnx
  gives 0 dq-run nan.onnx "${answers[@]}" --ref net.onnx --draw odd --json a.json
  has "0 objects (end2end)"
  has "of the reference 4 vanished and 0 moved"
}

# 5,376 candidates of 2 classes, all of them above the bound and without an area, so that none hides another: 1,000 of a class are kept.
@test "many boxes" {
  cat >many.model <<'END'
input x 1 3 512 512
a = Conv x w(6,3,8,8) b(6) strides=8,8
b = Conv x w(6,3,16,16) b(6) strides=16,16
c = Conv x w(6,3,32,32) b(6) strides=32,32
a1 = Reshape a i(1,6,-1)
b1 = Reshape b i(1,6,-1)
c1 = Reshape c i(1,6,-1)
all = Concat a1 b1 c1 axis=2
centre,size,scores = Split all i(2,2,2) axis=1
far = Mul centre f(9000)
none = Mul size f(0)
s = Sigmoid scores
y = Concat far none s axis=1
output y 1 6 5376
END
  make_models --describe many.model many.onnx
  python3 - <<'END'
import random
random.seed(1)
open("noise.ppm", "wb").write(b"P6\n512 512\n255\n" + random.randbytes(3 * 512 * 512))
END
  echo noise.ppm >list.txt
  gives 0 dq-run many.onnx --data list.txt --preset yolo --json a.json --ref many.onnx
  python3 - <<'END'
import json
found = json.load(open("a.json"))["pictures"][0]["model"]["objects"]
assert len(found) == 2000 and all(o["change"] == "kept" for o in found), len(found)
END
}
