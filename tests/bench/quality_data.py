"""Pictures for quality.py, and the arrays that networks take.

A kind of pictures has a list for calibration and another for evaluation, both in an order of their own that is drawn
with a fixed seed: the first N are N pictures drawn at random. Pages and lines of text are rendered, half of them on
plain paper and half on parts of photographs, drawn at random for each one.

Networks that are kept out of choices have a list of their own, `kept out`: pictures that judged no other network here
(docs/experiments/kept-out.md).
"""
import csv
import fractions
import glob
import os
import random

import numpy

TORCHVISION = {"scale": 1 / 255, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
HALVES = {"mean": (127.5,) * 3, "std": (127.5,) * 3}
CROP = {"fit": "crop", "short": 256}
PRESETS = {  # those of docs/FORMATS.md
    "imagenet": {**CROP, **TORCHVISION}, "imagenet-caffe": {**CROP, "color": "bgr", "mean": (104, 117, 123)},
    "imagenet-stretch": TORCHVISION, "lite": {**CROP, "filter": "bicubic", "mean": (127,) * 3, "std": (128,) * 3},
    "tf": {**CROP, **HALVES}, "raw01": {**CROP, "scale": 1 / 255}, "vww": {"scale": 1 / 255},
    "darknet": {"scale": 1 / 255}, "yolox": {"fit": "letterbox-corner", "pad": 114, "color": "bgr"},
    "yolov8": {"fit": "letterbox", "pad": 114, "scale": 1 / 255}, "picodet": {"filter": "bicubic", **TORCHVISION},
    "ppocr-det": {"color": "bgr", **TORCHVISION},
    "ppocr-rec": {"fit": "line", "pad": 127.5, "color": "bgr", **HALVES}, "cifar": TORCHVISION, "cifar-raw": {},
    "mnist": {"color": "grey"}, "lgg": {}}
WORDS = ("quantize model layer scale network 2026 price total invoice street exit open 42 speed limit coffee menu table "
         "north gate 17:45 platform water danger number of the page and a report on what was measured").split()

FOLDERS = {"calibration": "coco_calib", "evaluation": "coco/images"}  # of photographs
JUDGES = 64  # pictures that choices are made with; those behind them in the list judge networks that are kept out


class Missing(Exception):
    """Pictures or a network that are not on this machine."""


# ---- Pictures of the folder with assets ----

def need(path):
    if not os.path.exists(path):
        raise Missing(f"{path} is not there")
    return path


def photographs(folder):
    return sorted(glob.glob(os.path.join(need(folder), "*.jp*g")))


def opened(path):
    from PIL import Image
    return numpy.asarray(Image.open(path).convert("RGB"))


def listed(path):
    with open(need(path)) as lines:
        return [os.path.join(os.path.dirname(path), line.split()[0]) for line in lines if line.strip()]


def cifar_pictures(path):
    records = numpy.fromfile(need(path), numpy.uint8).reshape(-1, 1 + 3 * 32 * 32)[:, 1:]
    return list(records.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def mnist_pictures(path):
    return list(numpy.fromfile(need(path), numpy.uint8)[16:].reshape(-1, 28, 28, 1))


def slices(folder):
    """MRI slices, normalized with the constants of their patient: float arrays that no preset changes any more."""
    with open(need(os.path.join(folder, "norm.csv"))) as table:
        rows = {row["patient"]: {k: float(v) for k, v in row.items() if k != "patient"} for row in csv.DictReader(table)}

    def normalized(path):
        row = rows[os.path.basename(path).rpartition("_")[0]]
        x = numpy.clip((opened(path).astype(numpy.float64) - row["p10"]) / (row["p99"] - row["p10"]), 0, 1)
        return (x - [row["mean_" + c] for c in "rgb"]) / [row["std_" + c] for c in "rgb"]
    return normalized, sorted(glob.glob(os.path.join(folder, "images", "*")))


# ---- Rendered text ----

def background(draw, size, photos):
    """Plain light paper, or a part of a photograph; and whether it is a photograph."""
    from PIL import Image
    width, height = size
    if draw.random() < 0.5:
        return Image.new("RGB", size, tuple(draw.randint(190, 255) for _ in range(3))), False
    photo = Image.open(draw.choice(photos)).convert("RGB")
    zoom = max(width / photo.width, height / photo.height, draw.uniform(0.8, 1.6))
    photo = photo.resize((max(width, round(photo.width * zoom)), max(height, round(photo.height * zoom))))
    left, top = draw.randint(0, photo.width - width), draw.randint(0, photo.height - height)
    return photo.crop((left, top, left + width, top + height)), True


def text_of(draw, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, most)))


def rendered_page(draw, photos):
    """A page of 608 x 800: headings, lines and paragraphs in one size each."""
    from PIL import ImageDraw, ImageFont
    page, on_photo = background(draw, (608, 800), photos)
    pen, top = ImageDraw.Draw(page), draw.randint(10, 60)
    while top < 750:
        size, left, rows = draw.choice([14, 18, 18, 24, 32, 46]), draw.randint(8, 160), draw.choice([1, 1, 2, 5])
        font, ink = ImageFont.load_default(size), tuple(draw.randint(0, 90) for _ in range(3))
        for _ in range(rows):
            text = text_of(draw, 4 if rows == 1 else 9)
            if on_photo:
                box = pen.textbbox((left, top), text, font=font)
                pen.rectangle([box[0] - 4, box[1] - 3, box[2] + 4, box[3] + 3], fill=(245, 245, 240))
            pen.text((left, top), text, font=font, fill=ink)
            top += round(size * 1.35)
        top += round(size * draw.uniform(0.3, 2))
    return page


def rendered_line(draw, photos):
    """A line of text of 320 x 48, on photographs that are made light, some of them out of focus."""
    from PIL import ImageDraw, ImageFilter, ImageFont
    line, on_photo = background(draw, (320, 48), photos)
    if on_photo:
        line = line.point(lambda v: 150 + v * 105 // 255)
    ImageDraw.Draw(line).text((6, draw.randint(0, 8)), text_of(draw, 3), fill=tuple(draw.randint(0, 80) for _ in range(3)),
                              font=ImageFont.load_default(draw.randint(24, 36)))
    return line.filter(ImageFilter.GaussianBlur(draw.uniform(0.3, 1))) if draw.random() < 0.4 else line


def module(draw, row, column, size):
    """Whether a square of a matrix code is dark: three finder patterns in the corners, the others at random."""
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        if -1 <= row - top <= 7 and -1 <= column - left <= 7:
            return max(abs(row - top - 3), abs(column - left - 3)) in (0, 1, 3)
    return draw.random() < 0.5


def rendered_code(draw):
    """A code on a white margin: a matrix of 21 to 33 squares, or bars of one to four units. Neither can be decoded."""
    from PIL import Image, ImageDraw
    unit, margin = draw.randint(2, 6), 4
    if draw.random() < 0.5:
        size = draw.choice([21, 25, 29, 33])
        dark = [(c, r, c, r) for r in range(size) for c in range(size) if module(draw, r, c, size)]
        width, height = size, size
    else:
        widths = [draw.randint(1, 4) for _ in range(2 * draw.randint(12, 24) + 1)]
        width, height = sum(widths), draw.randint(20, 50)
        starts = [sum(widths[:k]) for k in range(len(widths))]
        dark = [(starts[k], 0, starts[k] + widths[k] - 1, height - 1) for k in range(0, len(widths), 2)]
    code = Image.new("RGB", ((width + 2 * margin) * unit, (height + 2 * margin) * unit), (255, 255, 255))
    pen = ImageDraw.Draw(code)
    for left, top, right, bottom in dark:
        pen.rectangle([(margin + left) * unit, (margin + top) * unit,
                       (margin + right + 1) * unit - 1, (margin + bottom + 1) * unit - 1], fill=(10, 10, 10))
    return code.rotate(draw.uniform(-15, 15), expand=True, fillcolor=(255, 255, 255))


def rendered_codes(draw, photos):
    """A picture of 640 x 640 with one to three codes, on paper or a photograph."""
    picture, _ = background(draw, (640, 640), photos)
    for _ in range(draw.randint(1, 3)):
        code = rendered_code(draw)
        code.thumbnail((400, 400))
        picture.paste(code, (draw.randint(0, 640 - code.width), draw.randint(0, 640 - code.height)))
    return picture


RENDERED = {"pages": rendered_page, "lines": rendered_line, "codes": rendered_codes}


def renderer(kind, part, photos):
    """A function from a number to the picture with this number, the same on every run."""
    what, _, turn = kind.partition(" turned by ")

    def picture(number):
        draw = random.Random(f"{kind}, {part}, {number}")
        page = RENDERED[what](draw, photos)
        if turn:
            page = page.rotate(draw.randrange(360 // int(turn)) * int(turn), expand=True)
        return numpy.asarray(page)
    return picture


# ---- Kinds ----

def pictures(kind, part, assets):
    """Opener and items of a part, 'calibration', 'evaluation' or 'kept out', of a kind of pictures; opener(item) is an
    array of height, width, channels. Raises Missing."""
    list_of = {"calibration": shuffled, "evaluation": lambda items: shuffled(items)[:JUDGES], "kept out": unseen}[part]
    data, source = os.path.join(assets, "data"), "calibration" if part == "calibration" else "evaluation"
    if kind.split()[0] in RENDERED:
        photos = photographs(os.path.join(data, FOLDERS[source]))
        return renderer(kind, part, unseen(photos) if part == "kept out" else photos), range(1000)
    if kind == "imagenet" and part == "kept out":
        raise Missing("choices were made on all of these pictures")
    opener, items = loaded(kind, source, data)
    return opener, list_of(items)


def same(array):
    return array


def shuffled(items):
    items = list(items)
    random.Random(0).shuffle(items)
    return items


def unseen(items):
    """What is left of a list behind the pictures that judge the other networks."""
    rest = shuffled(items)[JUDGES:]
    if not rest:
        raise Missing("all pictures of this kind have judged networks that choices are made on")
    return rest


def loaded(kind, source, data):
    """Opener and all items of the files of a kind: those of `source`, calibration or evaluation."""
    calibration = source == "calibration"
    if kind == "imagenet":
        return opened, listed(os.path.join(data, "imagenet", "calib100.txt" if calibration else "val1to100.txt"))
    if kind == "coco":
        return opened, photographs(os.path.join(data, FOLDERS[source]))
    if kind == "cifar10":
        return same, cifar_pictures(os.path.join(data, "cifar10", "calib_200.bin" if calibration else "test_1000.bin"))
    if kind == "mnist":  # one file: its first part calibrates
        items = mnist_pictures(os.path.join(data, "mnist", "t10k-1000-images-idx3-ubyte"))
        return same, items[:500] if calibration else items[500:]
    if kind == "lgg":
        return slices(os.path.join(data, "lgg_calib" if calibration else "lgg"))
    raise ValueError(f"no pictures of the kind {kind}")


# ---- Pictures as inputs ----

def fields_of(text):
    """The settings of 'PRESET,field=value,...'."""
    name, *fields = text.split(",")
    settings = {"fit": "stretch", "filter": "bilinear", "pad": 0, "color": "rgb", "scale": 1, "mean": (0,) * 3,
                "std": (1,) * 3, **PRESETS[name]}
    for key, value in (field.split("=") for field in fields):
        number = None if key in ("fit", "filter", "color") else float(fractions.Fraction(value))
        settings[key] = value if number is None else (number,) * 3 if key in ("mean", "std") else number
    return settings


def resized(picture, width, height, settings):
    if picture.shape[:2] == (height, width):
        return picture
    from PIL import Image
    how = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}[settings["filter"]]
    channels = picture.shape[2]
    image = Image.fromarray(picture[..., 0] if channels == 1 else picture)
    return numpy.asarray(image.resize((width, height), how)).reshape(height, width, channels)


def fitted(picture, width, height, settings):
    """The picture in the size of the input, as the field `fit` says."""
    rows, columns = picture.shape[:2]
    fit = settings["fit"]
    if fit == "stretch" or (fit != "crop" and (rows, columns) == (height, width)):
        return resized(picture, width, height, settings)
    if fit == "crop":
        short = settings["short"] / min(rows, columns)
        picture = resized(picture, max(width, round(columns * short)), max(height, round(rows * short)), settings)
        top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
        return picture[top:top + height, left:left + width]
    if fit == "line":
        inner = min(width, -(-columns * height // rows)), height
    else:
        ratio = min(width / columns, height / rows)
        inner = int(columns * ratio), int(rows * ratio)
    top, left = ((height - inner[1]) // 2, (width - inner[0]) // 2) if fit == "letterbox" else (0, 0)
    whole = numpy.full((height, width, picture.shape[2]), settings["pad"], numpy.float64)
    whole[top:top + inner[1], left:left + inner[0]] = resized(picture, *inner, settings)
    return whole


def input_of(picture, shape, settings):
    """The array of one picture for an input of `shape`, N x C x H x W or N x H x W x C, without N."""
    last = shape[3] in (1, 3) and shape[1] not in (1, 3)
    height, width, channels = shape[1:] if last else (shape[2], shape[3], shape[1])
    if channels == 1 and picture.shape[2] == 3:  # grey as Pillow makes it
        picture = ((picture @ [19595, 38470, 7471] + 0x8000) >> 16).astype(numpy.uint8)[..., None]
    x = fitted(picture, width, height, settings).astype(numpy.float64)
    if settings["color"] == "bgr":
        x = x[..., ::-1]
    x = (x * settings["scale"] - settings["mean"][:channels]) / settings["std"][:channels]
    return numpy.ascontiguousarray(x if last else x.transpose(2, 0, 1), numpy.float32)


def save_inputs(path, row, shape, part, count, assets):
    """The first `count` pictures of a part as one .npy, fewer where there are fewer; their number."""
    opener, items = pictures(row["pictures"], part, assets)
    count = min(count, len(items))
    if os.path.exists(path) and len(numpy.load(path, mmap_mode="r")) >= count:
        return count
    settings = fields_of(row["preset"])
    stored = numpy.lib.format.open_memmap(path + ".new", "w+", numpy.float32, (count, *shape[1:]))
    for k in range(count):
        stored[k] = input_of(opener(items[k]), shape, settings)
    stored.flush()
    os.replace(path + ".new", path)
    return count
