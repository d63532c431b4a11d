# Random graphs, which dq and other runtimes run: tests/interop/random_*.py.
SERVE := $(B)/tests/interop/serve
$(SERVE): $(SERVE).o $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
tests-built: $(SERVE)

-include $(SERVE).d
