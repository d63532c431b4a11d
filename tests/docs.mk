# Documents that are written from tables.
$(B)/support: $(B)/tests/tables/support.o $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
tests-built: $(B)/support

.PHONY: support
support: $(B)/support ## docs/SUPPORT.md from the operator table
	$(Q)$< >docs/SUPPORT.md

NODE_SUITE ?= $(or $(DQ_ASSETS),../shared)/onnx-node
.PHONY: node-cases
node-cases: all $(B)/make_models ## docs/NODE_CASES.md, what dq-cc makes of the ONNX node suite
	$(Q)tests/conformance/emitted $(B) $(NODE_SUITE) >$(B)/node-cases.md
	$(Q)mv $(B)/node-cases.md docs/NODE_CASES.md

.PHONY: test-map
test-map: ## docs/TESTS.md, which tests name each source file, from the sources
	$(Q)tests/tables/test_map >$(B)/tests.md
	$(Q)mv $(B)/tests.md docs/TESTS.md

.PHONY: reference
reference: ## docs/REFERENCE.md, the Python module and the functions of dq.h, from docstrings and headers
	$(Q)$(PYTHON) -B cmd/packages/python/reference.py lib >$(B)/reference.md
	$(Q)mv $(B)/reference.md docs/REFERENCE.md

# What the targets of bench.mk measured in this build folder is taken over, where it is there.
.PHONY: benchmarks
benchmarks: ## docs/BENCHMARKS.md from the figures in docs/benchmarks and those that `make bench` has just measured
	@mkdir -p $(B)
	$(Q)$(foreach file,$(wildcard $(B)/bench-*.csv),cp $(file) docs/benchmarks/ &&) true
	$(Q)tests/bench/benchmarks docs/benchmarks docs/benchmarks/template >$(B)/benchmarks.md
	$(Q)mv $(B)/benchmarks.md docs/BENCHMARKS.md
-include $(B)/tests/tables/support.d

.PHONY: format
format: ## all sources as .clang-format says, by clang-format 14
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format-14 -i
