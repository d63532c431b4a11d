#!/usr/bin/env bash
# RapidOCR reads "Invoice 2026" of one picture of a line, and "Invoice2026" of the same picture beside a longer line
#
# Guessed: pictures of lines are recognized in batches to save time; what is read of one does not depend on the others, as
#   padding on the right is outside of the text.
# Happens: lines go through the network six at a time, each padded with grey to the width of the widest. The same pixels,
#   alone and with a line of 860 pixels in the batch, give "Invoice 2026" with 0.996 and "Invoice2026" with 0.997: a word
#   space is gone and the confidence is higher. "Total 1,234.56" keeps its text and falls from 0.998 to 0.944. A shorter
#   line beside them changes nothing.
# Versions: rapidocr-onnxruntime 1.4.4 (its PP-OCRv4 networks), opencv-python-headless 5.0.0.93, onnxruntime 1.32.0, Pillow
#   13.0.0 (with its own font), numpy 2.4.6, x86-64.
# Matters: a measure of a recognizer depends on the order and the company of its samples; a small network is compared with
#   the large one only if both get the same batches, and scores near a threshold pass or not by what else is on the page.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check opencv-python-headless==5.0.0.93 onnxruntime==1.32.0 \
  pillow==13.0.0 numpy==2.4.6 pyclipper==1.4.0 shapely==2.2.0 six==1.17.0 PyYAML==6.0.4 tqdm==4.70.1
# It asks for opencv-python, which is the same but for windows on a screen.
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps rapidocr-onnxruntime==1.4.4
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import importlib.metadata, sys
import cv2, numpy as np, onnxruntime
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

print("rapidocr-onnxruntime", importlib.metadata.version("rapidocr-onnxruntime"), "OpenCV", cv2.__version__, "onnxruntime",
      onnxruntime.__version__)
LONG = "a long line of text that makes its whole batch wider than before"
font = ImageFont.load_default(30)
engine = RapidOCR()


def line(text):
    """Black text on white, as a detector cuts it out of a page."""
    made = Image.new("RGB", (int(font.getlength(text)) + 20, 48), "white")
    ImageDraw.Draw(made).text((10, 6), text, font=font, fill="black")
    return np.asarray(made)


changed = False
for text, beside_long in (("Invoice 2026", "Invoice2026"), ("Total 1,234.56", "Total 1,234.56")):
    alone, short, long = (engine.text_rec([line(text), *others])[0][0] for others in ([], [line("b17")], [line(LONG)]))
    print(f"alone {alone[0]!r} {alone[1]:.4f}, beside a short line {short[0]!r} {short[1]:.4f},",
          f"beside a long line {long[0]!r} {long[1]:.4f}")
    changed |= alone[0] != text or short[0] != text or long[0] != beside_long
    changed |= abs(short[1] - alone[1]) > 1e-5 or abs(long[1] - alone[1]) < 5e-4
print("CHANGED" if changed else "as stated")
sys.exit(changed)
PY
