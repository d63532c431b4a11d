"""The judges of judges.py on answers that were worked by hand."""
import numpy
import judges


def one_hot(symbols):
    return numpy.eye(5)[symbols]


def texts():
    """Repetitions and blanks (0) go, a blank between two equal symbols keeps both."""
    if judges.text_of(one_hot([1, 1, 0, 1, 2, 2, 0])) != [1, 1, 2]:
        return "a text has other symbols"
    judge = judges.Texts()
    for found in ([1, 0, 2, 2], [1, 2, 2, 0], [1, 2, 0, 2], [3, 0, 0, 2]):  # 1 2, 1 2, 1 2 2, 3 2
        judge.add([one_hot([1, 1, 2, 2])[None]], [one_hot(found)[None]], None)
    return None if judge.figure() == (50, "4 lines") else f"texts: {judge.figure()}, expected 50 of 4"


def precision():
    """Three boxes; right, wrong, right again on a box that is taken, right: precision 1, 1/2, 1/3, 2/4 at recall 1/3, 2/3."""
    box, far = numpy.array([0.0, 0, 10, 10]), numpy.array([50.0, 50, 60, 60])
    truth = {0: numpy.array([box, box + 20]), 1: numpy.array([box])}
    found = [(0.9, 0, box), (0.8, 0, far), (0.7, 0, box), (0.6, 1, box + [0, 0, 0, 10])]  # the last overlaps by a half
    got = judges.average_precision(truth, found)
    return None if abs(got - 50) < 1e-9 else f"AP50 {got}, expected (1 + 1/2) / 3 = 50 %"


def suppression():
    """A box that overlaps a better one of its class goes, of another class it stays, below the least score it goes."""
    boxes = numpy.array([[0.0, 0, 10, 10], [0, 0, 10, 9], [30, 30, 40, 40]])
    scores = numpy.array([[0.9, 0.0], [0.8, 0.7], [0.1, 0.0]])
    found = [(c, s) for c, s, _ in judges.detections(boxes, scores, 0.25)]
    return None if found == [(0, 0.9), (1, 0.7)] else f"boxes kept: {found}"


def decoders():
    """A box from 8, 16 to 24, 48 in each form, and text of 4 x 3 places."""
    row = numpy.zeros((1, 6, 1))
    row[0, :, 0] = 16, 32, 16, 32, 0.5, 0.25
    box, scores = judges.yolov8([row], (8, 8))
    if box.tolist() != [[8, 16, 24, 48]] or scores.tolist() != [[0.5, 0.25]]:
        return "yolov8"
    rows = numpy.zeros((1, 84, 6))  # 64 x 64: 8 x 8, 4 x 4, 2 x 2 places; place 9 is column 1, row 1 of stride 8
    rows[0, 9] = 1, 3, numpy.log(2), numpy.log(4), 0.5, 0.5
    box, scores = judges.yolox([rows], (64, 64))
    if not numpy.allclose(box[9], [8, 16, 24, 48]) or scores[9, 0] != 0.25:
        return f"yolox: {box[9]}"
    planes = [(1, 64, 32), (1, 16, 32), (1, 4, 32), (1, 1, 32)]
    bins = [numpy.zeros(p) for p in planes]
    bins[0][0, 9].reshape(4, 8)[range(4), [1, 1, 2, 3]] = 100  # from 12, 12: 8 and 8 before, 16 and 24 behind
    box, _ = judges.picodet([numpy.zeros(p[:2] + (3,)) for p in planes] + bins, (64, 64))
    if not numpy.allclose(box[9], [4, 4, 28, 36]):
        return f"picodet: {box[9]}"
    plane = numpy.zeros((1, 1, 20, 20))
    plane[0, 0, 5:8, 2:6], plane[0, 0, 15, 15] = 0.6, 0.9  # the second is too small
    box, scores = judges.regions([plane], (20, 20))
    return None if box.tolist() == [[2, 5, 6, 8]] and numpy.allclose(scores, 0.6) else f"regions: {box}"


def problem():
    """What is wrong with a judge; None: nothing."""
    return texts() or precision() or suppression() or decoders() or itself()


def itself():
    """A network has all of its own boxes."""
    judge, row = judges.Boxes(judges.yolov8, 0.25), numpy.zeros((1, 6, 2))
    row[0, :, 0], row[0, :, 1] = (16, 32, 16, 32, 0.5, 0.25), (60, 60, 8, 8, 0.1, 0.6)
    judge.add([row], [row], (64, 64))
    return None if judge.figure() == (100, "3 boxes") else f"a network against itself: {judge.figure()}"
