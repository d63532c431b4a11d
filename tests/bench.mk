# Times against ONNX Runtime and OpenVINO, which come from the package registry into the build folder.
.PHONY: bench
BENCH_PYTHON = $(if $(DQ_VENV),$(DQ_VENV)/bin/python,$(B)/peers/bin/python)
BENCH_MODELS = $(wildcard $(or $(DQ_ASSETS),../shared)/models/*.onnx)
BENCH_NETWORKS = $(patsubst %,$(B)/networks/%.onnx,vgg16 resnet50 efficientnetv2_s)

$(B)/peers/bin/python:
	$(PYTHON) -m venv $(B)/peers && $(B)/peers/bin/pip -q install onnxruntime openvino numpy

$(B)/networks/%.onnx: $(B)/make_networks
	@mkdir -p $(@D)
	$(B)/make_networks $* 1 $@

## bench: dq, ONNX Runtime and OpenVINO in turns, and the algorithms for convolutions: a table in BUILD/bench.md
bench: all $(BENCH_NETWORKS) $(BENCH_PYTHON)
	$(BENCH_PYTHON) tests/bench/bench.py $(B) $(BENCH_MODELS) $(BENCH_NETWORKS) \
	  --conv $(shell echo $(filter %/squeezenet1.1.onnx %/tiny_darknet.onnx,$(BENCH_MODELS)) | tr ' ' ,) | tee $(B)/bench.md
