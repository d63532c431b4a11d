"""Tests of the Python module. usage: module.py FOLDER; DQ_BUILD: the build whose commands are compared. Prints a line of TAP for
each test, without numbers.
"""
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import numpy as np

import dq

OUT, BUILD = sys.argv[1], os.environ["DQ_BUILD"]
SHAPES, MODELS = os.path.abspath("datasets/shapes.onnx"), os.path.join(BUILD, "models")
SMALL = os.path.join(MODELS, "small.onnx")
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def path(name):
    return os.path.join(OUT, name)


def command(verb, *arguments):
    """Runs a command of the build; returns what it printed."""
    made = subprocess.run([os.path.join(BUILD, f"dq-{verb}"), *arguments], capture_output=True, text=True)
    assert made.returncode in (0, 1), made.stderr
    return made.stdout


def content(name):
    with open(name, "rb") as file:
        return file.read()


def pictures(count=24, side=32):
    return np.random.default_rng(1).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def numbers(count=24, shape=(3, 8, 8)):
    return np.random.default_rng(2).normal(size=(count, *shape)).astype(np.float32)


def refused(kind, word, call):
    """Fails unless the call raises the exception, whose text has the word."""
    try:
        call()
    except kind as error:
        assert word in str(error), f"'{word}' is not in '{error}'"
        assert error.status == kind.status
        return error
    raise AssertionError(f"no {kind.__name__} with '{word}'")


# ---- Transforms ----

@test
def the_bytes_of_the_commands():
    np.save(path("pictures.npy"), pictures())
    np.save(path("numbers.npy"), numbers())
    model = dq.load(SHAPES)
    facts = model.int8(pictures(), preprocess="scale=1/255,mean=0.5,std=0.25")
    assert facts["operators"] == facts["quantized"] == 18 and facts["pictures"] == 24
    model.save(path("module.onnx"))
    command("int8", SHAPES, "--data", f"npy:{path('pictures.npy')}", "--preprocess", "scale=1/255,mean=0.5,std=0.25", "-o", path("command.onnx"))
    assert content(path("module.onnx")) == content(path("command.onnx")) == model.tobytes()
    for verb, call, options in (("amp", lambda m: m.amp(deny_nodes="head"), ["--deny-node", "head"]),
                                ("tucker", lambda m: m.tucker(numbers(), macs=0.75), ["--macs", "-25%", "--untimed", "--data", f"npy:{path('numbers.npy')}"]),
                                ("tucker", lambda m: m.tucker(energy=0.9), ["--energy", "0.9", "--untimed"])):
        with dq.load(SMALL) as model:
            call(model)
            command(verb, SMALL, *options, "-o", path("command.onnx"))
            assert model.tobytes() == content(path("command.onnx")), (verb, options)


@test
def forms_of_data():
    given, files = numbers(8), []
    np.save(path("x.npy"), given)
    for data in (given, {"x": given}, list(given), ({"x": sample} for sample in given), f"npy:{path('x.npy')}",
                 np.asfortranarray(given), given[::-1][::-1]):
        with dq.load(SMALL) as model:
            model.int8(data)
            files.append(model.tobytes())
    with dq.load(SMALL) as model:
        model.int8(dq.Dataset(given, engine=model.engine))
        files.append(model.tobytes())
    assert len(set(files)) == 1
    with dq.load(SMALL) as model:
        assert model.int8(given, limit=5)["pictures"] == 5
    two = dq.load(os.path.join(MODELS, "two_inputs.onnx"))
    names = two.inputs
    shapes = [port.shape for port in two.network().inputs]
    arrays = {name: np.random.default_rng(i).normal(size=(6, *shape[1:])).astype(np.float32)
              for i, (name, shape) in enumerate(zip(names, shapes))}
    assert two.int8(arrays)["pictures"] == 6


@test
def data_that_are_refused():
    model, other = dq.load(SMALL), dq.load(SMALL)
    x = numbers(4)
    refused(dq.UsageError, "expected numbers", lambda: model.int8(np.array(["a", "b"])))
    refused(dq.InputError, "the array's shape is 4x3x8x9", lambda: model.int8(numbers(4, (3, 8, 9))))
    refused(dq.InputError, "sample 1 is float32 (3, 8, 9)", lambda: model.int8([x[0], numbers(1, (3, 8, 9))[0]]))
    refused(dq.InputError, "sample 1 is not a dict with the inputs x", lambda: model.int8([{"x": x[0]}, {"y": x[0]}]))
    refused(dq.InputError, "no samples", lambda: model.int8([]))
    refused(dq.UsageError, "y", lambda: model.int8({"y": x}))
    refused(dq.InputError, "3 labels for 4 pictures", lambda: model.int8(x, labels=[1, 2, 3]))
    refused(dq.UsageError, "labels are numbers", lambda: model.int8("synth:shapes,size=8", labels=[1]))
    refused(dq.UsageError, "another engine", lambda: model.int8(dq.Dataset(x, engine=other.engine)))
    refused(dq.UsageError, "belong to the data", lambda: model.int8(dq.Dataset(x, engine=model.engine), limit=2))
    closed = dq.Dataset(x, engine=model.engine)
    closed.close()
    refused(dq.UsageError, "the dataset is closed", lambda: model.int8(closed))
    refused(dq.SystemFailure, "/nowhere", lambda: model.int8("npy:/nowhere"))
    assert model.tobytes() == other.tobytes()


@test
def options_that_are_refused():
    model = dq.load(SMALL)
    x = numbers(4)
    refused(dq.UsageError, "there is no option 'methd', did you mean 'method'?", lambda: model.int8(x, methd="minmax"))
    refused(dq.UsageError, "percentile is 'high', expected a number", lambda: model.int8(x, percentile="high"))
    refused(dq.UsageError, "batch is 1.5, expected an integer", lambda: model.int8(x, batch=1.5))
    refused(dq.UsageError, "sums is 'two', expected one of auto, int32, pairs, int16", lambda: model.int8(x, sums="two"))
    refused(dq.UsageError, "exclude is 3, expected a text", lambda: model.int8(x, exclude=[3]))
    refused(dq.UsageError, "method is 3, expected a text", lambda: model.int8(x, method=3))
    refused(dq.UsageError, "is not a Model", lambda: dq.Dataset(x, engine=model.engine, model=x) if False else model.train(x, x, teacher=x))
    refused(dq.UsageError, "expected one", lambda: model.tucker())
    refused(dq.UsageError, "options of an engine", lambda: dq.load(SMALL, engine=model.engine, threads=2))
    refused(dq.UsageError, "threads is -1", lambda: dq.load(SMALL, threads=-1))
    assert model.int8(x, equalize=False, range_search="off", bias_correction=True)["equalized"] == 0


@test
def conditions():
    model = dq.load(SMALL)
    error = refused(dq.ConditionError, "min_sqnr", lambda: model.int8(numbers(), min_sqnr=200))
    assert error.facts["quantized"] > 0 and not error.facts["held"], error.facts
    assert model.report()["transform"] == "int8"
    refused(dq.UsageError, "nobody", lambda: model.amp(deny_nodes=["nobody"]))
    assert model.report()["transform"] is None
    model = dq.load(SMALL)
    before = model.tobytes()
    assert refused(dq.ConditionError, "macs", lambda: model.tucker(macs=0.0001)).facts is None
    assert model.tobytes() == before and model.report()["transform"] is None
    assert issubclass(dq.InputError, ValueError) and issubclass(dq.SystemFailure, OSError)


@test
def reports():
    model = dq.load(SHAPES)
    cost = model.cost()
    assert cost["macs"] == 2029824 and len(cost["layers"]) == cost["nodes"] and cost["layers"][0]["op_type"] == "Conv"
    assert model.report() == {"cost": cost, "transform": None}
    model.amp()
    report = model.report()
    assert report["transform"] == "amp" and report["half_nodes"] == 18 and len(report["nodes"]) == report["cost"]["nodes"] - report["casts"]
    assert dq.load(SMALL).cost(shapes=["x=4,3,8,8"])["macs"] == 4 * dq.load(SMALL).cost()["macs"]
    labels = np.arange(8) % 4
    accuracy = dq.load(SMALL).accuracy(numbers(8), labels=labels)
    assert accuracy["task"] == "classify" and accuracy["pictures"] == 8 and accuracy["figures"][0]["key"] == "top1"
    reference, model = dq.load(SMALL), dq.load(SMALL)
    model.int8(numbers())
    compared = model.compare(reference, numbers(6))
    assert compared["pictures"] == 6 and compared["outputs"][0]["sqnr"] > 10 and len(compared["layers"]) > 2


@test
def written_as_c():
    with dq.load(SMALL) as model:
        model.int8(numbers())
        model.save(path("small8.onnx"))
        for options, arguments in (({}, []), ({"name": "eye", "weights": "w.bin", "target": "dsp"},
                                              ["--name", "eye", "--weights-file", path("w.bin"), "--target", "dsp"])):
            made = model.c_source(header="small8.h", **options)
            command("cc", path("small8.onnx"), "-o", path("small8.c"), *arguments)
            assert made["source"].encode() == content(path("small8.c")) and made["header"].encode() == content(path("small8.h"))
            assert made["weights"] == (content(path("w.bin")) if arguments else None) and made["arena_bytes"] > 0
        refused(dq.UsageError, "batch is 0", lambda: model.c_source(batch=0))
        refused(dq.UsageError, "3d", lambda: model.c_source(name="3d"))
        refused(dq.UsageError, "expected one of generic, dsp", lambda: model.c_source(target="avx"))


@test
def trained_and_mixed():
    data = dq.load(SHAPES)
    train = dq.Dataset("synth:shapes,split=train,count=64", engine=data.engine, model=data)
    before = data.tobytes()
    facts = data.train(train, "synth:shapes,count=40", epochs=2, batch=16, rate=1e-5, freeze=["/stem/conv/Conv"],
                       augment="flip,crop=2", teacher=dq.load(SHAPES, engine=data.engine))
    assert facts["epochs"] == 2 and facts["figure"] == "top-1" and facts["after"] >= facts["before"] and len(data.report()["epochs"]) == 2
    trained = data.tobytes()
    assert trained != before
    error = refused(dq.ConditionError, "worse", lambda: data.train(train, "synth:shapes,count=40", epochs=1, batch=32, rate=10))
    assert error.facts["kept"] == 0 and data.tobytes() == trained
    try:
        assert dq.load(SMALL).mix(numbers(), max_drop=50, time_limit=0.5, points=6)["layers"] > 0
    except dq.ConditionError as error:
        assert "too noisy" in str(error)


# ---- Models ----

class Proto:
    """As onnx.ModelProto."""

    def SerializeToString(self):
        return content(SMALL)


@test
def sources_of_models():
    expected = dq.load(SMALL).tobytes()
    for source in (content(SMALL), bytearray(content(SMALL)), memoryview(content(SMALL)), Proto()):
        assert dq.load(source).tobytes() == expected
    refused(dq.SystemFailure, "/nowhere.onnx", lambda: dq.load("/nowhere.onnx"))
    refused(dq.InputError, "", lambda: dq.load(b"rubbish"))
    refused(dq.SystemFailure, "/nowhere/x.onnx", lambda: dq.load(SMALL).save("/nowhere/x.onnx"))


@test
def closed_models():
    model = dq.load(SMALL)
    network = model.network()
    refused(dq.UsageError, "1 networks are open", lambda: model.int8(numbers()))
    refused(dq.UsageError, "1 networks are open", model.close)
    network.close()
    refused(dq.UsageError, "the network is closed", lambda: network.run(numbers(1)))
    model.close()
    model.close()
    for call in (lambda: model.int8(numbers()), model.amp, model.cost, model.tobytes, model.network, lambda: model.inputs, model.report):
        refused(dq.UsageError, "the model is closed", call)
    engine = dq.Engine(threads=1)
    data, model = dq.Dataset(numbers(2), engine=engine), dq.load(SMALL, engine=engine)
    refused(dq.UsageError, "2 models or data of the engine are open", engine.close)
    data.close()
    model.close()
    engine.close()
    refused(dq.UsageError, "", lambda: dq.load(SMALL, engine=engine))
    with dq.load(SMALL) as inside:
        assert inside.inputs == ["x"]
    refused(dq.UsageError, "the model is closed", inside.cost)


# ---- Networks ----

@test
def outputs_are_those_of_the_command():
    compared = 0
    for name in [SHAPES] + sorted(os.path.join(MODELS, file) for file in os.listdir(MODELS) if file.endswith(".onnx")):
        try:
            network = dq.load(name).network()
        except dq.Error:
            continue
        given = {p.name: np.random.default_rng(3).normal(size=p.shape).astype(p.dtype) for p in network.inputs}
        kept = {key: value.copy() for key, value in given.items()}
        answers = network.run(given)
        again = network.run(given)
        assert all(np.array_equal(given[key], kept[key]) for key in given), name
        assert all(np.array_equal(again[key], answers[key], equal_nan=value.dtype.kind == "f") and again[key] is not value
                   for key, value in answers.items()), name
        if len(given) != 1 or network.inputs[0].dtype != "float32":
            continue
        shutil.rmtree(path("answers"), ignore_errors=True)
        np.save(path("in.npy"), next(iter(given.values())))
        command("run", name, "--data", f"npy:{path('in.npy')}", "--save-output", path("answers"))
        saved = [np.load(path(f"answers/{file}")) for file in os.listdir(path("answers"))]
        for key, value in answers.items():
            same = [other for other in saved if other.size == value.size and other.tobytes() == value.tobytes()]
            assert same, (name, key)
        compared += 1
    assert compared > 20, compared


@test
def inputs_that_are_refused():
    network = dq.load(SMALL).network()
    x = numbers(1)
    refused(dq.UsageError, "input 'x' is float64, expected float32: array.astype('float32')", lambda: network.run(x.astype(float)))
    refused(dq.UsageError, "has the shape (2, 3, 8, 8), expected (1, 3, 8, 8)", lambda: network.run(numbers(2)))
    refused(dq.UsageError, "numpy.ascontiguousarray", lambda: network.run(np.asfortranarray(x)))
    refused(dq.UsageError, "there is no input 'z'; the inputs are x", lambda: network.run({"z": x}))
    refused(dq.UsageError, "there is no input 'z'", lambda: network.run({"x": x, "z": x}))
    refused(dq.UsageError, "input 'x' is missing", lambda: network.run({}))
    refused(dq.UsageError, "input 'x' is list, expected a numpy array", lambda: network.run([1, 2]))
    refused(dq.UsageError, "input 'x' is list", lambda: network.run({"x": [1, 2]}))
    refused(dq.UsageError, "batch is 0", lambda: dq.load(SMALL).network(batch=0))
    assert dq.load(SMALL).network(batch=3, threads=1).run(numbers(3))["y"].shape == (3, 4)


@test
def shapes_that_depend_on_elements():
    network = dq.load(os.path.join(MODELS, "places.onnx")).network()
    port = next(p for p in network.outputs if not p.fixed)
    for seed in range(3):
        x = np.random.default_rng(seed).integers(-1, 2, network.inputs[0].shape).astype(network.inputs[0].dtype)
        assert network.run(x)[port.name].size > 0


# ---- Threads, interruption, memory ----

@test
def two_threads_at_one_engine():
    model = dq.load(SMALL, progress=lambda *_: seen.set() or time.sleep(0.01))
    seen, errors = threading.Event(), []
    worker = threading.Thread(target=lambda: model.int8(numbers(64)))
    worker.start()
    assert seen.wait(20)
    for call in (model.cost, model.close, lambda: model.inputs):
        try:
            call()
        except dq.UsageError as error:
            errors.append(str(error))
    worker.join()
    assert len(errors) == 3 and all("another thread uses the engine" in error for error in errors), errors
    assert model.cost()["int8_macs"] > 0


@test
def four_threads():
    x, answers, errors = numbers(1), [], []

    def work():
        try:
            model = dq.load(SMALL, threads=1)
            model.int8(numbers())
            network = model.network()
            for _ in range(50):
                answer = network.run(x)["y"]
            answers.append((model_bytes(model, network), answer.tobytes()))
        except BaseException as error:
            errors.append(error)

    def model_bytes(model, network):
        network.close()
        return model.tobytes()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert len(answers) == 4 and len(set(answers)) == 1


@test
def memory_does_not_grow():
    x = numbers(4)

    def once():
        with dq.load(SMALL, threads=1) as model:
            model.int8(x)
            with model.network() as network:
                network.run(x[:1])
    for _ in range(20):
        once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        once()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 4096, f"{grown} KiB in 200 calls"


@test
def progress_and_its_exceptions():
    seen = []
    model = dq.load(SMALL, progress=lambda what, done, total: seen.append((what, done, total)))
    model.int8(numbers())
    assert seen and all(isinstance(what, str) and 0 <= done <= total for what, done, total in seen)

    def fail(*_):
        raise RuntimeError("enough")
    model = dq.load(SMALL, progress=fail)
    before = model.tobytes()
    try:
        model.int8(numbers())
    except RuntimeError as error:
        assert str(error) == "enough"
    else:
        raise AssertionError("no exception")
    assert model.tobytes() == before


@test
def stopped_by_another_thread():
    model = dq.load(SHAPES)
    threading.Timer(0.2, model.engine.stop).start()
    refused(dq.CancelledError, "", lambda: model.int8("synth:shapes,count=4000"))
    refused(dq.CancelledError, "", lambda: model.int8(pictures()))
    model.engine.resume()
    assert model.int8(pictures())["quantized"] == 18


INTERRUPTED = """
import signal, sys, time, dq
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts programs in the background with SIGINT ignored
model = dq.load(sys.argv[1])
before = model.tobytes()
print("begun", flush=True)
try:
    model.int8("synth:shapes,count=200000", save_table=sys.argv[2])
except KeyboardInterrupt:
    end = time.time()
    print(f"{end}", model.tobytes() == before, flush=True)
"""


@test
def interrupted():
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, SHAPES, path("table.json")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.7)
    begin = time.time()
    process.send_signal(signal.SIGINT)
    words = process.communicate(timeout=30)[0].split()
    assert words and words[1] == "True", words
    # Milliseconds on a machine without other work; a whole call takes longer than this bound of a busy one.
    assert float(words[0]) - begin < 5, f"{float(words[0]) - begin:.2f} s"
    assert not os.path.exists(path("table.json"))


@test
def what_the_package_has():
    assert dq.version() == command("int8", "--version").split()[1], dq.version()
    assert set(dq.__all__) <= set(dir(dq))
    for name in dq.__all__:
        assert getattr(dq, name).__doc__, name
    for name in ("int8", "amp", "tucker", "mix", "train", "cost", "accuracy", "compare", "report", "save", "tobytes", "c_source", "network", "close"):
        assert getattr(dq.Model, name).__doc__, name


def main():
    os.environ["XDG_CACHE_HOME"] = OUT
    for function in TESTS:
        name = function.__name__.replace("_", " ")
        try:
            function()
            print(f"ok module: {name}", flush=True)
        except Exception:
            print(f"not ok module: {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)


main()
