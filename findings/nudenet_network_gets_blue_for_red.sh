#!/usr/bin/env bash
# nudenet swaps red and blue twice, so its network gets them the wrong way round, and answers all the same
#
# Guessed: OpenCV reads blue first, the package calls for a swap where it makes the tensor, so the network gets red first,
#   as networks of this family are trained. A box that reaches over the left edge loses what is outside.
# Happens: the picture goes through a conversion named RGBA to BGR before, which swaps the channels of a picture without
#   alpha, too; the second swap takes the first back. A picture that is all red fills the last channel. A face is still
#   found, with 0.72; with the channels in the other order the same network says 0.81. And a box that reaches over the left
#   edge is moved to 0 with its whole width, so that its right edge moves right; one that reaches over the right is cut.
# Versions: nudenet 3.4.2, opencv-python-headless 5.0.0.93, onnxruntime 1.32.0, numpy 2.4.6; the picture is astronaut.png
#   of scikit-image 0.25.2; x86-64.
# Matters: who takes the network from the package and its preparation from what the code seems to say, or from the family,
#   gets other scores than the package, here higher ones; a threshold that was chosen with one does not fit the other.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check nudenet==3.4.2 opencv-python-headless==5.0.0.93 \
  onnxruntime==1.32.0 numpy==2.4.6
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps scikit-image==0.25.2
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import importlib.metadata, pathlib, sys, sysconfig
import cv2, numpy as np, onnxruntime
from nudenet import NudeDetector

print("nudenet", importlib.metadata.version("nudenet"), "OpenCV", cv2.__version__, "onnxruntime", onnxruntime.__version__)


class Session:
    """The session of the detector; keeps its last input, may swap the channels of it, or give an answer of its own."""

    def __init__(self, session):
        self.session, self.swap, self.answer, self.input = session, False, None, None

    def run(self, names, feeds):
        (name, self.input), = feeds.items()
        if self.answer is not None:
            return [self.answer]
        return self.session.run(names, {name: np.ascontiguousarray(self.input[:, ::-1])} if self.swap else feeds)


detector = NudeDetector()
session = detector.onnx_session = Session(detector.onnx_session)

red = np.zeros((64, 64, 3), np.uint8)
red[:, :, 2] = 255
cv2.imwrite("red.png", red)
detector.detect("red.png")
means = session.input[0].mean(axis=(1, 2)).tolist()
print("a red picture, means of the three channels of the tensor:", means)

picture = str(pathlib.Path(sysconfig.get_path("purelib")) / "skimage/data/astronaut.png")
scores = []
for session.swap in (False, True):
    found = detector.detect(picture)
    scores.append(max((f["score"] for f in found if f["class"].startswith("FACE")), default=0))
print("score of the face as the package runs it %.3f, with the channels swapped back %.3f" % tuple(scores))

# Two boxes of 100 x 100 with their centres 10 pixels from the left and from the right edge of 320.
session.answer = np.zeros((1, 22, 2), np.float32)
session.answer[0, :4] = [[10, 310], [160, 160], [100, 100], [100, 100]]
session.answer[0, 5] = 0.9
cv2.imwrite("square.png", np.zeros((320, 320, 3), np.uint8))
boxes = sorted(f["box"] for f in detector.detect("square.png"))
print("boxes of 100 x 100 over the left and the right edge, as x, y, width, height:", boxes)

as_stated = (means == [0, 0, 1] and abs(scores[0] - 0.720) < 0.02 and abs(scores[1] - 0.811) < 0.02 and
             boxes == [[0, 110, 100, 100], [260, 110, 60, 100]])
print("as stated" if as_stated else "CHANGED")
sys.exit(not as_stated)
PY
