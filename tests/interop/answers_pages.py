#!/usr/bin/env python3
"""Draws the pages, lines and captchas that tests/interop/answers/*.json tell of.

usage: answers_pages.py FOLDER [--shared DIR] [--fonts DIR] [--any]

Needs Pillow 13, DejaVu 2.37 (fonts-dejavu) and WenQuanYi Micro Hei (fonts-wqy-microhei) for Chinese; --fonts names the
folder in which fonts are looked for. Photographs are those of ../shared/data (--shared: another folder). The answers of the
packages hold for equal pixels: a page whose pixels differ, of other versions of fonts or Pillow, is not written (--any: it
is), and a message says so.
"""
import argparse
import os
import random
import sys
import zlib

from PIL import Image, ImageDraw, ImageFont

WORDS = ("The network reads a picture of fixed size and answers with a list of boxes. Each box has a class, a score and four "
         "edges. Boxes of one object overlap, so that all but the best of them are removed. The threshold of the overlap is a "
         "choice of the user and not of the network.").split()
FACES = [  # photograph, number, left, top, right, bottom: squares around faces
    ("000000004395", 0, (76, -27, 258, 153)),
    ("000000001296", 0, (69, 54, 221, 206)),
    ("000000001296", 1, (196, 145, 245, 194)),
    ("000000008532", 0, (197, 38, 362, 203)),
    ("000000011051", 0, (95, 32, 187, 124)),
    ("000000011051", 1, (295, 65, 405, 175)),
    ("000000013177", 0, (237, 74, 289, 126)),
    ("000000009590", 0, (249, 115, 272, 138)),
    ("000000009590", 1, (43, 48, 107, 113)),
]
PIXELS = {
    "captcha1.png": 381627522,
    "captcha2.png": 831156146,
    "captcha3.png": 3365674447,
    "captcha4.png": 2562572497,
    "captcha5.png": 807983512,
    "click1.png": 1627436495,
    "click2.png": 784056988,
    "click3.png": 3446201168,
    "doc1.png": 270801754,
    "doc1_cw0.png": 2216343724,
    "doc1_cw180.png": 2897955138,
    "doc1_cw270.png": 1745259680,
    "doc1_cw90.png": 678326269,
    "doc2.png": 3462846371,
    "face_000000001296_0.png": 2279540202,
    "face_000000001296_1.png": 695405189,
    "face_000000004395_0.png": 4240018576,
    "face_000000008532_0.png": 2471428405,
    "face_000000009590_0.png": 25490939,
    "face_000000009590_1.png": 4175987461,
    "face_000000011051_0.png": 2831726692,
    "face_000000011051_1.png": 3024255782,
    "face_000000013177_0.png": 287971704,
    "line1.png": 374655940,
    "line2.png": 2830507505,
    "line3.png": 272406492,
    "line4.png": 2098556807,
    "line5.png": 2182890685,
    "line6_cn.png": 1874932445,
    "receipt.png": 4185900246,
    "sideways.png": 2084834892,
    "text1.png": 2882396032,
    "text1_rot-35.png": 4092126646,
    "text1_rot8.png": 1456894377,
    "text2_photo.png": 2492683989,
    "text3_cn.png": 3274996379,
}  # name: CRC-32 of the RGB bytes


class Artist:
    def __init__(self, options):
        self.options, self.random, self.bad, self.written = options, random.Random(51), 0, 0
        self.paths = {name: os.path.join(root, name) for place in options.fonts for root, _, names in os.walk(place)
                      for name in names if name.endswith((".ttf", ".ttc"))}

    def font(self, name, size):
        return ImageFont.truetype(self.paths.get(name + ".ttf") or self.paths[name + ".ttc"], size)

    def photograph(self, name, size=None):
        picture = Image.open(os.path.join(self.options.shared, "data/coco/images", name + ".jpg")).convert("RGB")
        return picture.resize(size) if size else picture

    def grey(self, low, high):
        return (self.random.randint(low, high),) * 3

    def colour(self, low, high):
        return tuple(self.random.randint(low, high) for _ in range(3))

    def save(self, picture, name):
        sum_of_pixels = zlib.crc32(picture.convert("RGB").tobytes())
        if sum_of_pixels != PIXELS.get(name) and not self.options.any:
            print(f"{name}: the pixels are {sum_of_pixels}, expected {PIXELS.get(name)}: not written", file=sys.stderr)
            self.bad += 1
            return
        picture.save(os.path.join(self.options.FOLDER, name))
        self.written += 1


def paragraph(draw, place, width, font, words):
    """Lines of words that fit into the width; returns where the next line would begin."""
    x, y = place
    line = ""
    for word in [*words, None]:
        longer = (line + " " + word).strip() if word else None
        if word is None or draw.textlength(longer, font=font) > width:
            draw.text((x, y), line, font=font, fill=(20, 20, 20))
            y += font.size * 1.35
            line = word or ""
        else:
            line = longer
    return y


def draw_paper(artist):
    page = Image.new("RGB", (850, 1100), "white")
    draw = ImageDraw.Draw(page)
    serif = artist.font("DejaVuSerif", 15)
    draw.text((60, 30), "Proceedings of the Society of Small Networks", font=artist.font("DejaVuSerif", 13), fill=(80,) * 3)
    draw.text((120, 80), "On Boxes and Where They End", font=artist.font("DejaVuSerif-Bold", 36), fill="black")
    draw.text((60, 150), "1  Introduction", font=artist.font("DejaVuSans-Bold", 20), fill="black")
    y = paragraph(draw, (60, 185), 730, serif, WORDS * 2)
    page.paste(artist.photograph("000000000139", (420, 280)), (215, int(y) + 15))
    y += 305
    draw.text((230, y), "Figure 1: A room with a table and chairs.", font=artist.font("DejaVuSerif-Italic", 14), fill="black")
    y += 40
    draw.text((60, y), "2  Results", font=artist.font("DejaVuSans-Bold", 20), fill="black")
    y += 35
    for row in range(6):
        for column in range(4):
            left, top = 120 + column * 150, y + row * 28
            draw.rectangle([left, top, left + 150, top + 28], outline="black")
            if row == 0:
                text = ["Network", "Bytes", "Time", "Score"][column]
            else:  # all four are drawn from the random numbers in each cell
                text = [f"net-{row}", str(artist.random.randint(1000, 99999)), f"{artist.random.uniform(.1, 9):.2f} ms",
                        f"{artist.random.random():.3f}"][column]
            font = artist.font("DejaVuSans" if row else "DejaVuSans-Bold", 14)
            draw.text((left + 8, top + 5), text, font=font, fill="black")
    y += 6 * 28 + 8
    draw.text((120, y), "Table 1: Sizes and times of five networks.", font=artist.font("DejaVuSerif-Italic", 14), fill="black")
    y = paragraph(draw, (60, y + 35), 730, serif, WORDS)
    for text in ("the first item of a list", "the second item of a list", "the third item"):
        draw.text((90, y), "\u2022  " + text, font=serif, fill="black")
        y += 22
    draw.text((415, 1065), "17", font=artist.font("DejaVuSerif", 13), fill="black")
    artist.save(page, "doc1.png")
    return page


def draw_report(artist):
    page = Image.new("RGB", (1400, 900), (250, 248, 240))
    draw = ImageDraw.Draw(page)
    draw.text((80, 50), "Quarterly Report 2026", font=artist.font("DejaVuSans-Bold", 52), fill=(10, 30, 90))
    y = paragraph(draw, (80, 140), 600, artist.font("DejaVuSans", 22), WORDS)
    paragraph(draw, (740, 140), 580, artist.font("DejaVuSerif", 22), WORDS + WORDS[:30])
    page.paste(artist.photograph("000000000285", (380, 400)), (120, int(y) + 20))
    for row in range(7):
        for column in range(3):
            left, top = 780 + column * 170, 540 + row * 36
            draw.rectangle([left, top, left + 170, top + 36], outline="black")
            text = str(artist.random.randint(100, 99999)) if row else ["Year", "Sold", "Left"][column]
            draw.text((left + 10, top + 6), text, font=artist.font("DejaVuSans", 20), fill="black")
    draw.text((80, 860), "Page 3 of 12", font=artist.font("DejaVuSans", 16), fill="gray")
    artist.save(page, "doc2.png")


def draw_texts(artist):
    paper = (235, 240, 245)
    page = Image.new("RGB", (640, 480), paper)
    draw = ImageDraw.Draw(page)
    for x, y, size, font, text in [
            (30, 20, 40, "DejaVuSans-Bold", "North Gate 42"), (30, 90, 26, "DejaVuSerif", "speed limit 30 km/h"),
            (320, 150, 20, "DejaVuSansMono", "Invoice No. 2026-0117"),
            (40, 200, 16, "DejaVuSans", "Total: 1,234.56 EUR (incl. VAT)"),
            (40, 235, 12, "DejaVuSans", "small print that nobody reads, 0123456789"),
            (60, 290, 60, "DejaVuSansCondensed-Bold", "COFFEE"), (360, 300, 34, "DejaVuSerif-Italic", "menu & table"),
            (60, 390, 24, "DejaVuSansMono-Bold", "a@b.org http://x.y/z?q=1"), (400, 440, 18, "DejaVuSans", "17:45")]:
        draw.text((x, y), text, font=artist.font(font, size), fill=artist.colour(0, 80))
    artist.save(page, "text1.png")
    for angle in (8, -35):
        artist.save(page.rotate(angle, resample=Image.BICUBIC, expand=True, fillcolor=paper), f"text1_rot{angle}.png")
    photograph = artist.photograph("000000000632")
    draw = ImageDraw.Draw(photograph)
    for x, y, size, text in [(30, 30, 44, "Platform 9"), (200, 160, 30, "danger water"), (60, 320, 24, "STREET EXIT OPEN"),
                             (380, 400, 36, "17:45")]:
        font = artist.font("DejaVuSans-Bold", size)
        left, top, right, bottom = draw.textbbox((x, y), text, font=font)
        draw.rectangle([left - 6, top - 5, right + 6, bottom + 5], fill=(245, 245, 235))
        draw.text((x, y), text, font=font, fill=(120, 10, 10))
    artist.save(photograph, "text2_photo.png")


def draw_chinese(artist):
    page = Image.new("RGB", (720, 400), "white")
    draw = ImageDraw.Draw(page)
    for x, y, size, text in [(30, 30, 44, "深度学习模型压缩"), (30, 110, 30, "价格：128.50 元"), (30, 170, 26, "Hello 世界 2026"),
                             (400, 170, 24, "请勿吸烟"), (30, 240, 20, "神经网络把图片变成一组方框和分数。"),
                             (30, 300, 36, "出口 Exit 3")]:
        draw.text((x, y), text, font=artist.font("wqy-microhei", size), fill=(15, 15, 40))
    artist.save(page, "text3_cn.png")


def draw_tall(artist):
    page = Image.new("RGB", (200, 900), "white")
    draw = ImageDraw.Draw(page)
    for row, text in enumerate(["milk 1.20", "bread 2.75", "tea 4.10", "rice 3.33", "total 11.38"]):
        draw.text((20, 40 + row * 120), text, font=artist.font("DejaVuSansMono", 22), fill="black")
    artist.save(page, "receipt.png")
    strip = Image.new("RGB", (500, 70), "white")
    ImageDraw.Draw(strip).text((30, 10), "SIDEWAYS TEXT", font=artist.font("DejaVuSans-Bold", 40), fill="black")
    page = Image.new("RGB", (400, 600), "white")
    page.paste(strip.rotate(90, expand=True), (60, 50))
    ImageDraw.Draw(page).text((180, 80), "upright 123", font=artist.font("DejaVuSans", 30), fill="black")
    artist.save(page, "sideways.png")


def draw_lines(artist):
    for number, (text, name, size) in enumerate([
            ("quantize 2026", "DejaVuSans", 30), ("Total: 1,234.56 EUR", "DejaVuSerif", 32),
            ("a line that is so long that its picture is wider than 320 pixels", "DejaVuSans", 30),
            ("ab  c d", "DejaVuSansMono", 34), ("bookkeeper 1100", "DejaVuSans-Bold", 36)]):
        font = artist.font(name, size)
        width = int(ImageDraw.Draw(Image.new("L", (1, 1))).textlength(text, font=font)) + 14
        line = Image.new("RGB", (width, 48), artist.grey(200, 255))
        ImageDraw.Draw(line).text((7, 3), text, font=font, fill=(20, 20, 60))
        artist.save(line, f"line{number + 1}.png")
    line = Image.new("RGB", (330, 52), "white")
    ImageDraw.Draw(line).text((8, 6), "出口 Exit 人工智能", font=artist.font("wqy-microhei", 32), fill="black")
    artist.save(line, "line6_cn.png")


def draw_captchas(artist):
    some = artist.random
    for number, text in enumerate(["3kf8", "Wq7Z", "05127", "hello", "7a+2=?"]):
        picture = Image.new("RGB", (30 + 30 * len(text), 50 + 10 * (number % 3)), artist.colour(200, 255))
        for place, letter in enumerate(text):
            tile = Image.new("RGBA", (44, 44), (0, 0, 0, 0))
            font = artist.font(some.choice(["DejaVuSans-Bold", "DejaVuSerif", "DejaVuSans"]), 30)
            ImageDraw.Draw(tile).text((8, 2), letter, font=font, fill=(*artist.colour(0, 120), 255))
            tile = tile.rotate(some.uniform(-20, 20), resample=Image.BICUBIC)
            picture.paste(tile, (10 + 28 * place, 3 + some.randint(0, 6)), tile)
        draw = ImageDraw.Draw(picture)
        for _ in range(3):
            ends = [some.randint(0, side) for side in (picture.width, picture.height) * 2]
            draw.line(ends, fill=artist.grey(80, 180))
        artist.save(picture, f"captcha{number + 1}.png")
    colours = [(255, 240, 0), (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 80, 255)]
    for number, (photograph, texts) in enumerate([("000000000724", "天地玄黄"), ("000000000776", "大小A7"),
                                                  ("000000000139", "人工智能网")]):
        picture = artist.photograph(photograph, (500, 300) if number == 2 else (344, 384))
        for place, letter in enumerate(texts):
            tile = Image.new("RGBA", (90, 90), (0, 0, 0, 0))
            font = artist.font("wqy-microhei", some.randint(40, 60))
            ImageDraw.Draw(tile).text((15, 10), letter, font=font, fill=colours[place] + (255,))
            tile = tile.rotate(some.uniform(-30, 30), resample=Image.BICUBIC)
            picture.paste(tile, (10 + place * (picture.width - 100) // max(1, len(texts) - 1),
                                 some.randint(5, picture.height - 95)), tile)
        artist.save(picture, f"click{number + 1}.png")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("FOLDER")
    parser.add_argument("--shared", default="../shared")
    parser.add_argument("--fonts", nargs="*", default=["/usr/share/fonts"])
    parser.add_argument("--any", action="store_true")
    artist = Artist(parser.parse_args())
    os.makedirs(artist.options.FOLDER, exist_ok=True)
    missing = [name for name in ("DejaVuSans.ttf", "wqy-microhei.ttc") if name not in artist.paths]
    if missing:
        print(f"answers_pages.py: there is no {' and no '.join(missing)} in {' '.join(artist.options.fonts)}; no page is drawn",
              file=sys.stderr)
        return
    # All draw from one row of random numbers, in this order.
    page = draw_paper(artist)
    for draw in (draw_report, draw_texts, draw_chinese, draw_tall, draw_lines, draw_captchas):
        draw(artist)
    for angle in (0, 90, 180, 270):
        turned = page.rotate(-angle, expand=True)
        artist.save(turned.resize((turned.width // 2, turned.height // 2)), f"doc1_cw{angle}.png")
    for photograph, number, box in FACES:
        face = artist.photograph(photograph).crop(box).resize((64, 64), Image.BILINEAR)
        artist.save(face, f"face_{photograph}_{number}.png")
    print(f"{artist.written} pages are written, {artist.bad} have other pixels")


if __name__ == "__main__":
    main()
