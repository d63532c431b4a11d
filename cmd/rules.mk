# Commands: the tests of their shared parts, manual pages, installation, dependencies.

# Tests of the option machinery link what the commands share.
COMMAND_TESTS := $(filter $(B)/tests/unit/test_options% $(B)/tests/unit/test_command%,$(UNIT_TESTS))
$(COMMAND_TESTS): %: %.o $(UNIT_SHARED) $(SHARED_CMD:%.c=$(B)/%.o) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lcmocka
.SECONDARY: $(COMMANDS:$(B)/%=$(B)/cmd/%.o)

# Help, manual pages and completions all come from the option tables: the commands write them.
MAN_PAGES := $(COMMANDS:$(B)/%=$(B)/man/%.1)
COMPLETIONS := $(COMMANDS:$(B)/%=$(B)/complete/bash/%) $(COMMANDS:$(B)/%=$(B)/complete/zsh/_%) \
  $(COMMANDS:$(B)/%=$(B)/complete/fish/%.fish)
$(B)/man/%.1: $(B)/%
	@mkdir -p $(@D)
	$< --help-check && $< --help-man >$@
$(B)/complete/bash/%: $(B)/%
	@mkdir -p $(@D)
	$< --help-complete=bash >$@
$(B)/complete/zsh/_%: $(B)/%
	@mkdir -p $(@D)
	$< --help-complete=zsh >$@
$(B)/complete/fish/%.fish: $(B)/%
	@mkdir -p $(@D)
	$< --help-complete=fish >$@
# Written anew each time: it holds PREFIX. There is no shared libdq, so what it needs stands in Libs;
# as Requires.private it would bring the private libraries of those, down to gfortran's.
.PHONY: $(B)/dq.pc
$(B)/dq.pc:
	@mkdir -p $(@D)
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: dq' 'Description: compression of convolutional networks, ONNX in and ONNX out' \
	  'Version: $(VERSION)' 'Libs: -L$${libdir} -ldq $(strip $(LIBRARIES))' \
	  'Cflags: -I$${includedir}' >$@

.PHONY: man completions install uninstall help deps
man: $(MAN_PAGES) ## manual pages, into build/man
completions: $(COMPLETIONS) ## shell completions, into build/complete

BIN := $(DESTDIR)$(PREFIX)/bin
LIB := $(DESTDIR)$(PREFIX)/lib
INCLUDE := $(DESTDIR)$(PREFIX)/include
SHARE := $(DESTDIR)$(PREFIX)/share
INSTALL ?= install
PUBLIC_HEADER := $(wildcard lib/dq.h)
# What was installed, for uninstall: the same names from the same variables.
INSTALLED = $(COMMANDS:$(B)/%=$(BIN)/%) $(MAN_PAGES:$(B)/man/%=$(SHARE)/man/man1/%) \
  $(COMMANDS:$(B)/%=$(SHARE)/bash-completion/completions/%) \
  $(COMMANDS:$(B)/%=$(SHARE)/zsh/site-functions/_%) \
  $(COMMANDS:$(B)/%=$(SHARE)/fish/vendor_completions.d/%.fish) \
  $(LIB)/libdq.a $(LIB)/pkgconfig/dq.pc $(PUBLIC_HEADER:lib/%=$(INCLUDE)/%)

install: $(COMMANDS) $(MAN_PAGES) $(COMPLETIONS) $(B)/libdq.a $(B)/dq.pc ## DESTDIR= PREFIX=/usr/local
	$(INSTALL) -d "$(BIN)" "$(LIB)/pkgconfig" "$(INCLUDE)" "$(SHARE)/man/man1" \
	  "$(SHARE)/bash-completion/completions" "$(SHARE)/zsh/site-functions" \
	  "$(SHARE)/fish/vendor_completions.d"
	$(INSTALL) -m 755 $(COMMANDS) "$(BIN)"
	$(INSTALL) -m 644 $(B)/libdq.a "$(LIB)"
	$(INSTALL) -m 644 $(B)/dq.pc "$(LIB)/pkgconfig"
	$(if $(PUBLIC_HEADER),$(INSTALL) -m 644 $(PUBLIC_HEADER) "$(INCLUDE)")
	$(INSTALL) -m 644 $(MAN_PAGES) "$(SHARE)/man/man1"
	$(INSTALL) -m 644 $(filter $(B)/complete/bash/%,$(COMPLETIONS)) "$(SHARE)/bash-completion/completions"
	$(INSTALL) -m 644 $(filter $(B)/complete/zsh/%,$(COMPLETIONS)) "$(SHARE)/zsh/site-functions"
	$(INSTALL) -m 644 $(filter $(B)/complete/fish/%,$(COMPLETIONS)) "$(SHARE)/fish/vendor_completions.d"

uninstall: ## removes what install put there
	$(foreach file,$(INSTALLED),rm -f "$(file)" &&) true

deps: ## installs the Debian packages that are missing
	@sh cmd/deps.sh

help: ## this list
	@echo 'all            the commands, into $(B)/'
	@sed -nE 's/^([a-z][a-z0-9-]*):.*## (.*)/\1\t\2/p; s/^## ([a-z][a-z0-9-]*): (.*)/\1\t\2/p' Makefile $(wildcard tests/*.mk cmd/*.mk) | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done
	@echo 'clean          removes $(B)/'
