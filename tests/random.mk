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
