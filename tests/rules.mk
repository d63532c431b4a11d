# Tests: every tests/unit/test_*.c is a program; dqcheck is one program of all tests/check/*.c.
UNIT_TESTS := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst %.c,$(B)/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
CHECK_OBJECTS := $(patsubst %.c,$(B)/%.o,$(wildcard tests/check/*.c))

# cmocka's header compares with casts that -Wconversion dislikes.
$(B)/tests/%.o: OWN_FLAGS += -Wno-conversion -Wno-sign-conversion
$(UNIT_TESTS:%=%.o) $(UNIT_SHARED) $(CHECK_OBJECTS): | $(SCHEMA).c

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(UNIT_SHARED) $(B)/libdq.a
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lcmocka

$(B)/dqcheck: $(CHECK_OBJECTS) $(B)/libdq.a
	$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)

.PHONY: unit
unit: $(UNIT_TESTS)
	@for t in $(UNIT_TESTS); do echo "== $$t"; $$t || exit 1; done

-include $(UNIT_TESTS:%=%.d) $(UNIT_SHARED:.o=.d) $(CHECK_OBJECTS:.o=.d)
