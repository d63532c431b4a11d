# Commands: the tests of their shared parts, manual pages, installation, dependencies.

# Tests of the option machinery link what the commands share.
COMMAND_TESTS := $(filter $(B)/tests/unit/test_options% $(B)/tests/unit/test_command%,$(UNIT_TESTS))
$(COMMAND_TESTS): %: %.o $(UNIT_SHARED) $(SHARED_CMD:%.c=$(B)/%.o) $(B)/libdq.a
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lcmocka
.SECONDARY: $(COMMANDS:$(B)/%=$(B)/cmd/%.o)
