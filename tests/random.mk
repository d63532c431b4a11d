# Random graphs, which dq and other runtimes run: tests/interop/random_*.py.
SERVE := $(B)/tests/interop/serve
$(SERVE): $(SERVE).o $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
tests-built: $(SERVE)

.PHONY: test-random
## test-random: COUNT (10000) random graphs of every generator from SEED (1) on, in dq, ONNX Runtime and the evaluator of onnx; the tests take a few seconds of each
COUNT ?= 10000
SEED ?= 1
test-random: $(SERVE)
	tests/interop/random $(B) --count $(COUNT) --seed $(SEED)

-include $(SERVE).d

$(B)/coco-venv/.made:
	$(PYTHON) -m venv $(@D) && $(@D)/bin/pip -q install pycocotools==2.0.11 numpy
	@touch $@

.PHONY: test-coco
## test-coco: the figures on boxes are those of pycocotools, on random objects and on a detector
test-coco: $(LINKS) $(B)/make_models $(B)/tests/unit/test_coco_measure $(if $(DQ_VENV),,$(B)/coco-venv/.made)
	$(or $(DQ_VENV),$(B)/coco-venv)/bin/python -B tests/interop/coco.py $(B)

# What packages answer with their own code; the pages are drawn anew, so that Pillow has the version of the figures.
ANSWERS_READY = $(if $(DQ_VENV),,$(B)/answers-venv/.made)
$(B)/answers-venv/.made:
	$(PYTHON) -m venv $(@D) && $(@D)/bin/pip -q install numpy pillow==13.0.0
	@touch $@

.PHONY: answers
## answers: what dq-run finds of the objects and texts that packages answer with the networks in ANSWERS=FOLDER, or ../shared/models: BUILD/answers.csv (ANSWERS_OPTIONS='--only A,B --verbose')
answers: $(LINKS) $(ANSWERS_READY)
	$(or $(DQ_VENV),$(B)/answers-venv)/bin/python -B tests/interop/answers_pages.py $(B)/answers
	$(or $(DQ_VENV),$(B)/answers-venv)/bin/python -B tests/interop/answers.py $(B) $(or $(ANSWERS),datasets) --csv $(B)/answers.csv $(ANSWERS_OPTIONS)

# Other runtimes, in the versions that docs/FORMATS.md tells of.
READERS_READY = $(if $(DQ_VENV),,$(B)/readers-venv/.made)
$(B)/readers-venv/.made:
	$(PYTHON) -m venv $(@D) && $(@D)/bin/pip -q install onnx==1.23.2 onnxruntime==1.32.0 openvino==2026.4.0 tract==0.23.9 numpy
	@touch $@

.PHONY: readers
## readers: whether ONNX Runtime, OpenVINO and tract answer the 8-bit files of the networks in READERS=FOLDER as dq does: BUILD/readers.csv; ends with 1 where one deviates by more than 3 dB and tests/interop/readers_known.csv does not name it (READERS_OPTIONS='--quick --only a,b --again')
readers: $(LINKS) $(READERS_READY)
	$(or $(DQ_VENV),$(B)/readers-venv)/bin/python -B tests/interop/readers.py $(B) $(or $(READERS),datasets) --csv $(B)/readers.csv $(READERS_OPTIONS)
