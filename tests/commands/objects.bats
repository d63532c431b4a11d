# True objects of pictures in the files that people have, and the figures on them.
load common

# Three pictures of 40x30 in b/images with boxes in b/labels, and a network that finds boxes in them.
setup() {
  own_folder
  mkdir -p b/images b/labels
  for i in 1 2 3; do
    { printf 'P6\n40 30\n255\n'; head -c 3600 < <(yes "$i$i picture $((i * 7919))"); } >b/images/$i.ppm
    for x in 1 3 5 7; do for y in 1 3 5; do echo "$((x % i % 2)) 0.${x}5 0.${y}5 0.25 0.4"; done; done >b/labels/$i.txt
  done
  printf '%s\n' 'input x -1 3 32 32' 'a = Conv x w(7,3,8,8) strides=8,8' 'b = Conv x w(7,3,16,16) strides=16,16' \
    'c = Conv x w(7,3,32,32)' 'd = Reshape a i(-1,7,16)' 'e = Reshape b i(-1,7,4)' 'f = Reshape c i(-1,7,1)' \
    'g = Concat d e f axis=2' 'h,j = Split g i(4,3) axis=1' 'k = Sigmoid j' 'm = Concat h k axis=1' \
    'y = Transpose m perm=0,2,1' 'output y -1 21 7' >yolox.model
  make_models --describe yolox.model yolox.onnx
  how=(--preset yolox --preprocess scale=1/255 --decode yolox)
}

# coco: b/labels in the form of COCO, in b.json, with gaps between the ids of the categories
coco() {
  local i
  {
    echo '{"images": ['
    for i in 3 1 2; do echo "{\"id\": $((i * 10)), \"file_name\": \"$i.ppm\", \"width\": 40, \"height\": 30}$([ $i = 2 ] || echo ,)"; done
    echo '], "categories": [{"id": 90, "name": "late"}, {"id": 2, "name": "early"}], "annotations": ['
    for i in 1 2 3; do
      awk -v picture=$i '{ printf "{\"id\": %d, \"image_id\": %d, \"category_id\": %d, \"bbox\": [%.9g, %.9g, %.9g, %.9g]},\n", 100 * picture + NR,
        picture * 10, $1 ? 90 : 2, ($2 - $4 / 2) * 40, ($3 - $5 / 2) * 30, $4 * 40, $5 * 30 }' b/labels/$i.txt
    done | sed '$s/,$//'
    echo ']}'
  } >b.json
}

accuracy() { sed -n '/^Accuracy/,/^$/p' <<<"$output"; }

@test "boxes as text and in the form of COCO have the same figures" {
  coco
  gives 0 dq-report yolox.onnx --data b "${how[@]}"
  text=$(accuracy)
  [[ $text == *"mAP50-95"* ]]
  [[ $text == *"AR100"* ]]
  [[ $text == *"AP small"* ]]
  [[ $text != *"AP medium"* ]] # no box is as large
  gives 0 dq-report yolox.onnx --data b/images --labels b.json "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  gives 0 dq-report yolox.onnx --data coco:b.json,images=b/images "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  cp b.json b/images
  gives 0 dq-report yolox.onnx --data coco:b/images/b.json "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  printf 'early\nlate\n' >names.txt
  gives 0 dq-report yolox.onnx --data coco:b.json,images=b/images --labels names.txt "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  printf 'late\nearly\n' >names.txt # other classes, so that other boxes are found
  gives 0 dq-report yolox.onnx --data coco:b.json,images=b/images --labels names.txt "${how[@]}"
  [ "$(accuracy)" != "$text" ]
}

@test "figures of boxes stand in JSON and CSV by their keys" {
  gives 0 dq-report yolox.onnx --data b "${how[@]}" --json out.json
  for key in map50 ap50_boxes boxes detections map50_95 coco_ap50 coco_ap75 ap_small ar1 ar10 ar100 ar_small; do
    [[ $(<out.json) == *"\"$key\""* ]]
  done
}

@test "files of COCO that are broken or do not fit end with 3 and name the entry" {
  coco
  cp b.json good.json
  gives 3 dq-report yolox.onnx --data b/labels --labels b.json "${how[@]}"
  [[ $stderr == *"b.json: none of its 3 pictures is in b/labels, such as '1.ppm'"*"hint: "*"--labels b.json"* ]]
  sed 's/"category_id": 90/"category_id": 3/' good.json >b.json
  gives 3 dq-report yolox.onnx --data b/images --labels b.json "${how[@]}"
  [[ $stderr == *"b.json: annotations["*"]: category_id is 3, which no entry of 'categories' has"* ]]
  sed 's/"id": 90, "name"/"id": 2, "name"/' good.json >b.json
  gives 3 dq-report yolox.onnx --data b/images --labels b.json "${how[@]}"
  [[ $stderr == *"b.json: categories[1]: id 2 is that of categories[0], expected ids that differ"* ]]
  head -c 400 good.json >b.json
  gives 3 dq-report yolox.onnx --data b/images --labels b.json "${how[@]}"
  [[ $stderr == *"b.json: a '[' has no end; the file is cut off or broken"* ]]
  sed 's/"categories": \[/&{"id": 1, "name": "first"}, /' good.json >b.json # three classes
  gives 3 dq-report yolox.onnx --data b/images --labels b.json "${how[@]}"
  [[ $stderr == *"b.json: annotations["*"]: class 2, the model has 2 classes"* ]]
  rm b/images/2.ppm
  gives 0 dq-report yolox.onnx --data b/images --labels good.json "${how[@]}"
  [[ $stderr == *"good.json: 2 of 3 pictures are in b/images"* ]]
  gives 3 dq-report yolox.onnx --data b/images --labels good.json "${how[@]}" --strict
  [[ $stderr == *"good.json: images[2]: no picture 'b/images/2.ppm'"* ]]
  gives 5 dq-report yolox.onnx --data coco:none.json "${how[@]}"
  gives 2 dq-report yolox.onnx --data coco:good.json,images=none "${how[@]}"
}

@test "boxes of Pascal VOC have the figures of text files, and difficult ones are left out" {
  gives 0 dq-report yolox.onnx --data b "${how[@]}"
  text=$(accuracy)
  mkdir -p voc/JPEGImages voc/Annotations
  cp b/images/* voc/JPEGImages
  for i in 1 2 3; do
    { echo '<annotation>'
      awk '{ x = ($2 - $4 / 2) * 40; y = ($3 - $5 / 2) * 30
        printf "<object><name>%s</name><bndbox><xmin>%.9g</xmin><ymin>%.9g</ymin><xmax>%.9g</xmax><ymax>%.9g</ymax></bndbox></object>\n",
          $1 ? "late" : "early", x + 1, y + 1, x + $4 * 40, y + $5 * 30 }' b/labels/$i.txt
      echo '</annotation>'; } >voc/Annotations/$i.xml
  done
  gives 0 dq-report yolox.onnx --data voc "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  gives 0 dq-report yolox.onnx --data b/images --labels voc/Annotations "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  printf 'late\nearly\n' >names.txt
  gives 0 dq-report yolox.onnx --data voc --labels names.txt "${how[@]}"
  [ "$(accuracy)" != "$text" ]
  sed -i '0,/<bndbox>/s//<difficult>1<\/difficult>&/' voc/Annotations/1.xml
  gives 0 dq-report yolox.onnx --data voc "${how[@]}"
  [[ $(accuracy) == *"boxes"*" 35.0000"* ]]
  sed -i '0,/<name>/s//<nom>/' voc/Annotations/2.xml
  gives 3 dq-report yolox.onnx --data voc "${how[@]}"
  [[ $stderr == *"voc/Annotations/2.xml: line 2: mismatched tag"* ]]
}

@test "a data.yaml of YOLO has the figures of its folders" {
  gives 0 dq-report yolox.onnx --data b "${how[@]}"
  text=$(accuracy)
  printf 'path: .\ntrain: images\nval: images\nnames: [early, late]\n' >b/data.yaml
  gives 0 dq-report yolox.onnx --data yolo:b/data.yaml "${how[@]}"
  [ "$(accuracy)" = "$text" ]
  gives 3 dq-report yolox.onnx --data yolo:b/data.yaml,split=test "${how[@]}"
  [[ $stderr == *"b/data.yaml: no 'test'"*"hint: split=train"* ]]
}
