# Times against ONNX Runtime and OpenVINO, and quality against ONNX Runtime and NNCF, which come from the package registry
# into the build folder.
.PHONY: bench
BENCH_PYTHON = $(if $(DQ_VENV),$(DQ_VENV)/bin/python,$(B)/peers/bin/python)
BENCH_MODELS = $(wildcard $(or $(DQ_ASSETS),../shared)/models/*.onnx)
BENCH_NETWORKS = $(patsubst %,$(B)/networks/%.onnx,vgg16 resnet50 efficientnetv2_s)

$(B)/peers/bin/python:
	$(PYTHON) -m venv $(B)/peers && $(B)/peers/bin/pip -q install onnxruntime openvino numpy onnx

$(B)/networks/%.onnx: $(B)/make_networks
	@mkdir -p $(@D)
	$(B)/make_networks $* 1 $@

# The same in 8 bits, safe for pairs. Their speed does not depend on how well the ranges fit, so nothing is tried, and no
# layer stays in float because of ranges that do not fit.
BENCH_INT8 = $(patsubst %,$(B)/networks/int8/%,$(notdir $(BENCH_MODELS) $(BENCH_NETWORKS)))
vpath %.onnx $(dir $(firstword $(BENCH_MODELS))) $(B)/networks
$(B)/networks/int8/%.onnx: %.onnx $(B)/dq-int8
	@mkdir -p $(@D)
	$(B)/dq-int8 $< --data synth:shapes --limit 1 --method minmax --accumulator pairs --all-int8 --equalize off --bias-correction off -o $@ -q > /dev/null

# ONNX Runtime's own 8-bit files; a network that its quantizer refuses is left out of that column.
BENCH_OWN = $(patsubst %,$(B)/networks/own/%,$(notdir $(BENCH_MODELS) $(BENCH_NETWORKS)))
$(B)/networks/own/%.onnx: %.onnx $(BENCH_PYTHON)
	@mkdir -p $(@D)
	$(BENCH_PYTHON) tests/bench/bench.py --quantize $< $@ > $@.log 2>&1 || echo "$<: not quantized, see $@.log" >&2

## bench: dq, ONNX Runtime and OpenVINO in turns, in float and in 8 bits, and the algorithms for convolutions: tables in BUILD/bench-*.md, and for `make benchmarks` BUILD/bench-*.csv (parts: bench-float, bench-int8, bench-conv; BENCH_OPTIONS='--threads 1 --rounds 3', BENCH_MODELS, BENCH_NETWORKS)
bench: bench-conv bench-float bench-int8
.PHONY: bench-conv bench-float bench-int8
BENCH_CONV = $(filter %/squeezenet1.1.onnx %/tiny_darknet.onnx,$(BENCH_MODELS))
BENCH = $(BENCH_PYTHON) tests/bench/bench.py $(B) $(BENCH_OPTIONS) --csv $(B)/$@.csv --title
bench-conv: all $(BENCH_PYTHON)
	@set -o pipefail; $(BENCH) "$@: algorithms for convolutions" --conv $(shell echo $(BENCH_CONV) | tr ' ' ,) | tee $(B)/$@.md
bench-float: all $(BENCH_NETWORKS) $(BENCH_PYTHON)
	@set -o pipefail; $(BENCH) "$@: dq against ONNX Runtime and OpenVINO, float32" $(BENCH_MODELS) $(BENCH_NETWORKS) | tee $(B)/$@.md
bench-int8: all $(BENCH_INT8) $(BENCH_OWN) $(BENCH_PYTHON)
	@set -o pipefail; $(BENCH) "$@: dq against ONNX Runtime and OpenVINO, 8 bits" --peers ort,openvino,ort-own,openvino-own,ort-exact --own $(B)/networks/own $(BENCH_INT8) | tee $(B)/$@.md
bench-conv bench-float bench-int8: SHELL = /bin/bash

## bench-cc: the C of dq-cc on this machine beside that of emx-onnx-cgen and dq's executor, on 8-bit files (BENCH_CC='a.onnx b.onnx --compile large.onnx'); ends with 1 beyond its bounds
.PHONY: bench-cc
BENCH_CC = $(patsubst %,$(B)/networks/int8/%.onnx,mlperftiny_resnet8_cifar10 mlperftiny_vww_mobilenetv1_025_96 mobilenetv1_025_224)
bench-cc: all $(filter $(B)/%,$(BENCH_CC))
	tests/bench/cc_time $(B) $(BENCH_CC)

# Quality needs Pillow, and NNCF as far as it can be installed; DQ_VENV has what it has.
QUALITY_READY = $(if $(DQ_VENV),,$(B)/peers/.quality)
$(B)/peers/.quality: $(B)/peers/bin/python
	$(B)/peers/bin/pip -q install pillow
	$(B)/peers/bin/pip -q install nncf || echo "NNCF cannot be installed here: its columns are left out" >&2
	@touch $@

## bench-quality: SQNR of 8-bit files of dq-int8, ONNX Runtime and NNCF on the networks of tests/bench/quality.csv: BUILD/bench-quality.md and .csv; what BUILD/quality has is not made again (QUALITY_OPTIONS='--only mnist_cntk --retry', `tests/bench/quality.py --help`)
## bench-quality-pictures: the same with 8 and 96 pictures for calibration, against ONNX Runtime's min-max and percentile
## bench-quality-kept-out: the same with the networks of docs/experiments/kept-out.md alone, against ONNX Runtime's min-max and percentile: write a row into its log
.PHONY: bench-quality bench-quality-pictures bench-quality-kept-out
QUALITY = nice -n 10 $(BENCH_PYTHON) -B tests/bench/quality.py $(B) --assets $(or $(DQ_ASSETS),../shared) --csv $(B)/$@.csv
bench-quality: all $(BENCH_PYTHON) $(QUALITY_READY)
	@set -o pipefail; $(QUALITY) --title "$@: 8-bit files of dq-int8 beside those of other quantizers" $(QUALITY_OPTIONS) | tee $(B)/$@.md
bench-quality-pictures: all $(BENCH_PYTHON) $(QUALITY_READY)
	@set -o pipefail; $(QUALITY) --title "$@: the same with fewer and with more pictures for calibration" --calibration 8,96 --peers ort-minmax,ort-percentile $(QUALITY_OPTIONS) | tee $(B)/$@.md
bench-quality-kept-out: all $(BENCH_PYTHON) $(QUALITY_READY)
	@set -o pipefail; $(QUALITY) --title "$@: networks drawn anew, of which those kept out of choices have decided nothing" --drawn --peers ort-minmax,ort-percentile $(QUALITY_OPTIONS) | tee $(B)/$@.md
bench-quality bench-quality-pictures bench-quality-kept-out: SHELL = /bin/bash

## bench-multi: dq-multi beside processes of dq-bench, sessions of ONNX Runtime and its pool of the process, idle networks, many networks, threads: BUILD/bench-multi.csv (MULTI_OPTIONS='--rounds 3 --seconds 2')
.PHONY: bench-multi bench-multi-large bench-clock
MULTI_one = $(filter %/resnet20_cifar10.onnx,$(BENCH_MODELS))
MULTI_alike = $(MULTI_one) $(MULTI_one) $(MULTI_one) $(MULTI_one)
MULTI_others = $(filter %/mobilenetv1_025_224.onnx %/squeezenet1.1.onnx %/resnet56_cifar10.onnx %/mlperftiny_vww_mobilenetv1_025_96.onnx,$(BENCH_MODELS))
MULTI_integers = $(patsubst %,$(B)/networks/int8/%,$(notdir $(MULTI_others)))
MULTI_larger = $(filter %/efficientnet_lite0.onnx %/yolo_fastest_1.1.onnx %/yolox_nano.onnx %/tiny_darknet.onnx,$(BENCH_MODELS))
MULTI_squeezenet = $(filter %/squeezenet1.1.onnx,$(BENCH_MODELS))
comma = ,
joined = $(subst $(eval ) ,$(comma),$(strip $1))
bench-multi: all $(B)/models/.made $(BENCH_PYTHON) $(MULTI_integers)
	$(BENCH_PYTHON) -B tests/bench/multi.py $(B) $(foreach mix,alike others integers larger,$(mix)=$(call joined,$(MULTI_$(mix)))) --peers \
	  --csv $(B)/$@.csv --idle $(call joined,$(MULTI_one) $(MULTI_squeezenet)) --many $(B)/models/small.onnx --threads $(MULTI_squeezenet) $(MULTI_OPTIONS)

## bench-multi-large: four large networks with random weights at once, alike and mixed, decomposed and not, in processes and in dq-multi: BUILD/bench-multi-large.csv (in 10 minutes: LARGE_ALIKE='resnet152 vgg16 regnety32gf' MULTI_OPTIONS='--rounds 2 --seconds 3')
# Multiply-accumulates less in %: Kim, Kim, Kim, JKIICE 26(6), 2022, as in tests/networks.
LARGE_inception_v3 = 62.8
LARGE_resnet152 = 38.6
LARGE_vgg16 = 81
LARGE_regnety32gf = 35.8
LARGE = inception_v3 resnet152 vgg16 regnety32gf
LARGE_ALIKE = $(LARGE)
# By name: a pattern for networks/tucker/%.onnx gives way to that for networks/%.onnx while the network is not there.
$(LARGE:%=$(B)/networks/tucker/%.onnx): $(B)/networks/tucker/%.onnx: $(B)/networks/%.onnx $(B)/dq-tucker
	@mkdir -p $(@D)
	$(B)/dq-tucker $< --macs=-$(LARGE_$*)% --untimed -o $@ -q >/dev/null
large_mix = $1=$(call joined,$(patsubst %,$(B)/networks/%.onnx,$2)):$(call joined,$(patsubst %,$(B)/networks/tucker/%.onnx,$2))
bench-multi-large: all $(patsubst %,$(B)/networks/tucker/%.onnx,$(LARGE))
	$(PYTHON) -B tests/bench/multi.py $(B) $(foreach n,$(LARGE_ALIKE),$(call large_mix,$n,$n $n $n $n)) $(call large_mix,mixed,$(LARGE)) \
	  --title "Large networks with random weights, four at once, decomposed and not" --target $@ --csv $(B)/$@.csv $(MULTI_OPTIONS)

## bench-clock: what dq-multi keeps on the real clock of a machine without other work, each figure with its bound, in 4 minutes: BUILD/bench-clock.csv (MULTI_OPTIONS='--rounds 3')
$(B)/networks/half_resnet50.onnx: $(B)/make_networks
	@mkdir -p $(@D)
	$(B)/make_networks resnet50 2 $@
bench-clock: all $(B)/networks/half_resnet50.onnx $(B)/models/.made
	$(PYTHON) -B tests/bench/clock.py $(B) $(B)/networks/half_resnet50.onnx datasets/shapes.onnx --idle $(MULTI_one) --threads $(call joined,$(MULTI_one) $(MULTI_squeezenet)) --many $(B)/models/small.onnx \
	  --csv $(B)/$@.csv $(MULTI_OPTIONS)

## bench-tuned: networks with what dq-tune chooses beside the usual plan and a control, in float32 and 8 bits, one thread and two, each time in a process of its own: BUILD/bench-tuned.csv; ends with 1 where one is slower (TUNED_OPTIONS='--rounds 9 --threads 1', BENCH_MODELS='a.onnx b.onnx')
.PHONY: bench-tuned
TUNED_INT8 = $(patsubst %,$(B)/networks/int8/%,$(notdir $(BENCH_MODELS)))
bench-tuned: all $(TUNED_INT8)
	$(PYTHON) -B tests/bench/tuned.py $(B) $(BENCH_MODELS) $(TUNED_INT8) --csv $(B)/$@.csv $(TUNED_OPTIONS)

## bench-itself: dq-bench 100 times on models beside themselves, of which it may decide 5 %, and beside some that take 3 % more time, which it tells in 80 %, one thread and two: BUILD/bench-itself.csv; ends with 1 where that is not so (ITSELF_OPTIONS='--times 20 --threads 1', ITSELF='a.onnx b.onnx')
.PHONY: bench-itself
ITSELF = datasets/shapes.onnx $(foreach name,mlperftiny_resnet8_cifar10 resnet20_cifar10 mobilenetv1_025_224,$(filter %/$(name).onnx,$(BENCH_MODELS)))
bench-itself: all
	$(PYTHON) -B tests/bench/itself.py $(B) $(ITSELF) --csv $(B)/$@.csv $(ITSELF_OPTIONS)

## bench-calls: one run of a network from Python, by the module and by ONNX Runtime, beside one in C: BUILD/bench-calls.csv; ends with 1 where Python takes 15 us more than C (CALLS='a.onnx b.onnx')
.PHONY: bench-calls
CALLS = datasets/shapes.onnx $(foreach name,mlperftiny_resnet8_cifar10 mobilenetv1_025_224,$(filter %/$(name).onnx,$(BENCH_MODELS)))
bench-calls: all python $(BENCH_PYTHON)
	$(BENCH_PYTHON) -B tests/bench/calls.py $(B) $(CALLS) --csv $(B)/$@.csv

## bench-ablation: what graph passes, algorithms for convolutions, float16 and dq-tune bring, alone and together, with the spread of 25 runs before and after tuning: BUILD/bench-ablation.csv; ends with 1 where tuned runs spread wider (ABLATION='a.onnx b.onnx' in place of mobilenetv2, resnet50 and efficientnetv2_s, ABLATION_OPTIONS='--threads 2')
.PHONY: bench-ablation
ABLATION = $(filter %/mobilenetv2_100_224_deq_ptq.onnx,$(BENCH_MODELS)) $(patsubst %,$(B)/networks/%.onnx,resnet50 efficientnetv2_s)
bench-ablation: all $(ABLATION)
	$(PYTHON) -B tests/bench/ablation.py $(B) $(ABLATION) --csv $(B)/$@.csv $(ABLATION_OPTIONS)

## bench-train: steps of dq-train beside those of PyTorch (python3-torch and python3-onnx of Debian), of onnxruntime-training (ORT_TRAINING=PYTHON, a Python that imports it) and of darknet (DARKNET=FILE): BUILD/bench-train.csv (TRAIN_OPTIONS='--rounds 3')
.PHONY: bench-train
bench-train: all
	/usr/bin/python3 -B tests/bench/train_speed.py $(B) \
	  $(filter %/resnet20_cifar10.onnx,$(BENCH_MODELS)):cifar $(filter %/mobilenetv2_100_224_deq_ptq.onnx,$(BENCH_MODELS)):imagenet \
	  $(and $(ORT_TRAINING),--onnxruntime $(ORT_TRAINING)) $(and $(DARKNET),--darknet $(DARKNET)) --csv $(B)/$@.csv $(TRAIN_OPTIONS)

## bench-mix: dq-mix beside all layers in one precision, dq-int8 --max-drop, the three slowest layers in 8 bits and a search without costs of conversions, on the networks of tests/bench/mix_networks.csv: BUILD/bench-mix.csv; what BUILD/mix has is not made again (MIX_OPTIONS='--only resnet8,vww --time-limit 5s')
.PHONY: bench-mix
bench-mix: all
	$(PYTHON) -B tests/bench/mix.py $(B) $(B)/mix --assets $(or $(DQ_ASSETS),../shared) --csv $(B)/$@.csv $(MIX_OPTIONS)

## bench-exporters: one U-Net as torch.onnx and as tf2onnx write it takes dq the same time, as usual and after dq-tune; TensorFlow comes from the package registry into BUILD/exporters
.PHONY: bench-exporters
$(B)/exporters/.ready:
	@{ $(PYTHON) -m venv $(@D) && $(@D)/bin/pip -q install tensorflow-cpu tf2onnx==1.17.0 && touch $@; } || echo "TensorFlow and tf2onnx cannot be installed here" >&2
bench-exporters: $(LINKS) $(B)/exporters/.ready
	@sh cmd/deps.sh steps
	/usr/bin/python3 -B tests/interop/exporters.py $(B) --tensorflow $(B)/exporters/bin/python

## bench-processes: dq-train by two processes of an MPI job beside two trainings, on CIFAR-10 in CIFAR=FOLDER: BUILD/bench-processes.csv (PROCESSES_OPTIONS='--rounds 3')
.PHONY: bench-processes
bench-processes: all
	$(PYTHON) -B tests/bench/processes.py $(B) $(or $(CIFAR),$(error CIFAR=FOLDER has the batches of CIFAR-10)) \
	  $(filter %/mlperftiny_resnet8_cifar10.onnx,$(BENCH_MODELS)):cifar-raw $(filter %/resnet20_cifar10.onnx,$(BENCH_MODELS)):cifar \
	  --csv $(B)/$@.csv $(PROCESSES_OPTIONS)
