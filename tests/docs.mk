# Documents that are written from tables.
$(B)/support: $(B)/tests/tables/support.o $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES)
tests-built: $(B)/support

.PHONY: support
support: $(B)/support ## docs/SUPPORT.md from the operator table
	$(Q)$< >docs/SUPPORT.md
-include $(B)/tests/tables/support.d
