#!/usr/bin/env bash
# OpenCV 5.0 warps at exact positions, 4.14 at multiples of 1/32 of a pixel: other pixels from the same call
#
# Guessed: pixels of imgproc are the same in both versions, up to one in the last place, or all of them change.
# Happens: warpPerspective, linear, of noise gives other values for 3 of 5 elements, by up to 5 of 255. 4.14 rounds each
#   position to 1/32 of a pixel before it weighs the four neighbours, and equals a computation in double that does the same
#   within half a level; 5.0 equals one without that rounding. Cubic and float32 change as well; Lanczos keeps every bit,
#   nearest all but 1 in 1000. resize, linear, cubic and area, keeps every bit.
# Versions: opencv-python-headless 4.14.0.94 and 5.0.0.93, numpy 2.4.6, x86-64.
# Matters: readers of text cut their lines out by warpPerspective, so the scores of one network depend on the version of
#   OpenCV beside it, while a network whose pictures are only resized sees nothing.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/warp.py" <<'PY'
import sys
import cv2, numpy as np

print("OpenCV", cv2.__version__)
picture = np.random.default_rng(1).integers(0, 256, (64, 256, 3), dtype=np.uint8)
# From positions of the result to positions of the picture; the last row makes it an affine map that numpy can follow.
back = np.array([[0.98, -0.126, 5.1], [0.12, 1.004, 3.7], [0, 0, 1]])
sizes = {"shrunk": (191, 47), "grown": (391, 97)}
made = {}
for kind, flag in (("nearest", cv2.INTER_NEAREST), ("linear", cv2.INTER_LINEAR), ("cubic", cv2.INTER_CUBIC),
                   ("Lanczos", cv2.INTER_LANCZOS4)):
    made["warp " + kind] = cv2.warpPerspective(picture, back, (200, 40), flags=flag | cv2.WARP_INVERSE_MAP,
                                               borderMode=cv2.BORDER_REPLICATE)
made["warp linear float32"] = cv2.warpPerspective(picture.astype(np.float32), back, (200, 40),
                                                  flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                                                  borderMode=cv2.BORDER_REPLICATE)
for kind, flag in (("linear", cv2.INTER_LINEAR), ("cubic", cv2.INTER_CUBIC), ("area", cv2.INTER_AREA)):
    for name, size in sizes.items():
        made[f"resize {kind} {name}"] = cv2.resize(picture, size, interpolation=flag)


def linear(steps):
    """The linear warp in double, at positions that are rounded to 1 / steps, or exact ones."""
    column, row = np.meshgrid(np.arange(200), np.arange(40))
    x, y = (m[0] * column + m[1] * row + m[2] for m in back[:2])
    if steps:
        x, y = np.rint(x * steps) / steps, np.rint(y * steps) / steps
    left, above = np.floor(x).astype(int), np.floor(y).astype(int)
    a, b = (x - left)[..., None], (y - above)[..., None]
    at = lambda i, j: picture[np.clip(i, 0, 63), np.clip(j, 0, 255)].astype(float)
    return ((at(above, left) * (1 - a) + at(above, left + 1) * a) * (1 - b) +
            (at(above + 1, left) * (1 - a) + at(above + 1, left + 1) * a) * b)


far = {steps: float(np.abs(made["warp linear"] - linear(steps)).max()) for steps in (0, 32)}
print(f"warp linear is at most {far[0]:.2f} from exact positions, {far[32]:.2f} from positions in 1/32")
np.savez(sys.argv[1], far=[far[0], far[32]], **made)
PY
for version in 4.14.0.94 5.0.0.93; do
  python3 -m venv "$dir/$version"
  "$dir/$version/bin/pip" install --quiet --disable-pip-version-check "opencv-python-headless==$version" numpy==2.4.6
  "$dir/$version/bin/python" "$dir/warp.py" "$dir/$version.npz"
done
"$dir/5.0.0.93/bin/python" - "$dir/4.14.0.94.npz" "$dir/5.0.0.93.npz" <<'PY'
import sys
import numpy as np

old, new = map(np.load, sys.argv[1:])
as_stated = old["far"][0] > 3 and old["far"][1] < 0.51 and new["far"][0] < 0.51 and new["far"][1] > 3
for name in sorted(set(old.files) - {"far"}):
    apart = np.abs(old[name].astype(float) - new[name])
    print(f"{name:20s} {(apart > 0).mean():6.1%} of the values differ, by up to {apart.max():.2f}")
    if name in ("warp linear", "warp cubic", "warp linear float32"):
        as_stated &= bool(apart.max() > 3)
    else:
        as_stated &= bool((apart > 0).mean() < (0.01 if name == "warp nearest" else 1e-9))
print("as stated" if as_stated else "CHANGED")
sys.exit(not as_stated)
PY
