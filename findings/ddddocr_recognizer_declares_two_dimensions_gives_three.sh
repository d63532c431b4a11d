#!/usr/bin/env bash
# The recognizer of ddddocr declares two dimensions and gives three, and every check of the file passes
#
# Guessed: an output that is declared as [1, seqlen] has two dimensions, a row of class numbers for each picture; a wrong
#   number of dimensions is an error of onnx's checker, of its shape inference or of ONNX Runtime.
# Happens: common.onnx gives width / 8 x 1 x 8210 logits, time first. onnx.checker.check_model with full_check=True accepts
#   the file, strict shape inference leaves [1, seqlen] as it is, and ONNX Runtime loads it, tells [1, seqlen] when it is
#   asked for the shape, writes a warning at each run and returns the three dimensions.
# Versions: ddddocr 1.6.1, onnx 1.23.2, onnxruntime 1.32.0, opencv-python-headless 5.0.0.93, Pillow 13.0.0, numpy 2.4.6,
#   x86-64.
# Matters: a tool that plans memory, chooses a decoder or names axes by the declaration is wrong for a file that its users
#   run every day; what a network gives is known for certain only from a run.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check ddddocr==1.6.1 onnx==1.23.2 onnxruntime==1.32.0 \
  opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import importlib.metadata, io, pathlib, sys, sysconfig
import ddddocr, numpy as np, onnx, onnxruntime
from PIL import Image, ImageDraw, ImageFont

print("ddddocr", importlib.metadata.version("ddddocr"), "onnx", onnx.__version__, "onnxruntime", onnxruntime.__version__)
onnxruntime.set_default_logger_severity(4)


def declared(model):
    return [d.dim_param or d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]


path = next((pathlib.Path(sysconfig.get_path("purelib")) / "ddddocr").rglob("common.onnx"))
model = onnx.load(path)
onnx.checker.check_model(model, full_check=True)
inferred = declared(onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True))
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
told = session.get_outputs()[0].shape
print("checker: accepted; declared", declared(model), "strict inference", inferred, "session", told)

given = []
for width in (192, 320):
    given.append(session.run(None, {session.get_inputs()[0].name: np.ones((1, 1, 64, width), np.float32)})[0].shape)
    print("width", width, "gives", given[-1])

picture = Image.new("RGB", (110, 48), "white")
ImageDraw.Draw(picture).text((12, 4), "b174", font=ImageFont.load_default(34), fill="black")
file = io.BytesIO()
picture.save(file, "PNG")
text = ddddocr.DdddOcr(show_ad=False).classification(file.getvalue())
print("the package itself reads", text)

as_stated = (declared(model) == inferred == told == [1, "seqlen"] and given == [(24, 1, 8210), (40, 1, 8210)] and
             text == "b174")
print("as stated" if as_stated else "CHANGED")
sys.exit(not as_stated)
PY
