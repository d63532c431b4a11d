# Commands: the tests of their shared parts, manual pages, installation, dependencies.

# Tests of the option machinery link what the commands share.
COMMAND_TESTS := $(filter $(B)/tests/unit/test_options% $(B)/tests/unit/test_command%,$(UNIT_TESTS))
$(COMMAND_TESTS): %: %.o $(UNIT_SHARED) $(SHARED_CMD:%.c=$(B)/%.o) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBRARIES) -lcmocka

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
# Written anew each time: it holds PREFIX. The shared library names the libraries that it needs by itself; whoever links
# with libdq.a finds them by --static. Requires.private would bring the private libraries of those too.
.PHONY: $(B)/dq.pc
$(B)/dq.pc:
	@mkdir -p $(@D)
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/$(LIBDIR)' 'includedir=$${prefix}/include' '' \
	  'Name: dq' 'Description: compression of convolutional networks, ONNX in and ONNX out' \
	  'Version: $(VERSION)' 'Libs: -L$${libdir} -ldq' 'Libs.private: $(strip $(LIBRARIES))' \
	  'Cflags: -I$${includedir}' >$@

.PHONY: man completions install uninstall help deps
man: $(MAN_PAGES) ## manual pages, into build/man
completions: $(COMPLETIONS) ## shell completions, into build/complete

TREE := $(DESTDIR)$(PREFIX)
# The folder of the library below PREFIX; Debian has one for each machine.
LIBDIR := lib
INSTALL ?= install
# What is installed has no debug information; STRIP=: leaves it in. The library has no tables for unwinding either: no
# exception of a caller's callback may pass through C.
STRIP ?= strip
DOCUMENTS := README.md CHANGELOG.md LICENSE $(wildcard docs/*.md) \
  $(foreach file,$(wildcard $(addprefix docs/,experiments/* guide/* guide/*/* guide/*/*/*)),$(if $(wildcard $(file)/.),,$(file)))
BASH_FOLDER := share/bash-completion/completions
ZSH_FOLDER := share/zsh/site-functions
FISH_FOLDER := share/fish/vendor_completions.d
# What is installed, for uninstall: the same names from the same variables.
HEADERS := lib/dq.h $(wildcard lib/dq_*.h)
SHARED_NAMES := libdq.so.$(VERSION) libdq.so.$(ABI) libdq.so # the library and two links to it
INSTALLED := $(COMMANDS:$(B)/%=bin/%) $(MPI_MODULE:$(B)/%=lib/dq/%) $(LIBDIR)/libdq.a $(SHARED_NAMES:%=$(LIBDIR)/%) $(LIBDIR)/pkgconfig/dq.pc $(HEADERS:lib/%=include/%) \
  $(MAN_PAGES:$(B)/man/%=share/man/man1/%) $(COMMANDS:$(B)/%=$(BASH_FOLDER)/%) $(COMMANDS:$(B)/%=$(ZSH_FOLDER)/_%) \
  $(COMMANDS:$(B)/%=$(FISH_FOLDER)/%.fish) $(DOCUMENTS:%=share/doc/dq/%)
INSTALLED_FOLDERS := $(MPI_MODULE:$(B)/%.so=lib/dq) $(addprefix share/doc/dq/docs/guide/images/,cortex-a53 cortex-m4) share/doc/dq/docs/guide/images \
  share/doc/dq/docs/guide share/doc/dq/docs/experiments share/doc/dq/docs share/doc/dq

install: $(COMMANDS) $(MPI_MODULE) $(MAN_PAGES) $(COMPLETIONS) $(B)/libdq.a $(B)/libdq.so $(B)/dq.pc ## DESTDIR= PREFIX=/usr/local LIBDIR=lib STRIP=strip
	$(INSTALL) -d $(patsubst %,"$(TREE)/%",$(sort $(dir $(INSTALLED))))
	$(INSTALL) -m 755 $(B)/dq "$(TREE)/bin"
	$(STRIP) "$(TREE)/bin/dq"
	for link in $(LINKS:$(B)/%=%); do ln -sf dq "$(TREE)/bin/$$link" || exit; done
	$(if $(MPI_MODULE),$(INSTALL) -m 644 $(MPI_MODULE) "$(TREE)/lib/dq" && $(STRIP) "$(TREE)/lib/dq/dq-mpi.so")
	$(INSTALL) -m 644 $(B)/libdq.a "$(TREE)/$(LIBDIR)"
	$(STRIP) --strip-unneeded -R .comment -R .eh_frame "$(TREE)/$(LIBDIR)/libdq.a"
	$(INSTALL) -m 644 $(B)/libdq.so.$(VERSION) "$(TREE)/$(LIBDIR)"
	$(STRIP) --strip-unneeded "$(TREE)/$(LIBDIR)/libdq.so.$(VERSION)"
	ln -sf libdq.so.$(VERSION) "$(TREE)/$(LIBDIR)/libdq.so.$(ABI)" && ln -sf libdq.so.$(ABI) "$(TREE)/$(LIBDIR)/libdq.so"
	$(INSTALL) -m 644 $(B)/dq.pc "$(TREE)/$(LIBDIR)/pkgconfig"
	$(INSTALL) -m 644 $(HEADERS) "$(TREE)/include"
	$(INSTALL) -m 644 $(MAN_PAGES) "$(TREE)/share/man/man1"
	$(INSTALL) -m 644 $(filter $(B)/complete/bash/%,$(COMPLETIONS)) "$(TREE)/$(BASH_FOLDER)"
	$(INSTALL) -m 644 $(filter $(B)/complete/zsh/%,$(COMPLETIONS)) "$(TREE)/$(ZSH_FOLDER)"
	$(INSTALL) -m 644 $(filter $(B)/complete/fish/%,$(COMPLETIONS)) "$(TREE)/$(FISH_FOLDER)"
	for file in $(DOCUMENTS); do mode=644; [ ! -x "$$file" ] || mode=755; \
	  $(INSTALL) -m $$mode "$$file" "$(TREE)/share/doc/dq/$$file" || exit; done
	[ -n '$(DESTDIR)' ] || ldconfig 2>/dev/null || :

uninstall: ## removes what install put there
	[ ! -d "$(TREE)" ] || { cd "$(TREE)" && rm -f $(INSTALLED) && \
	  for folder in $(INSTALLED_FOLDERS); do rmdir "$$folder" 2>/dev/null || :; done; }

deps: ## installs the Debian packages that are missing
	@sh cmd/deps.sh

help: ## this list
	@echo 'all            the commands, into $(B)/'
	@sed -nE 's/^([a-z][a-z0-9-]*):.*## (.*)/\1\t\2/p; s/^## ([a-z][a-z0-9-]*): (.*)/\1\t\2/p' Makefile $(wildcard tests/*.mk cmd/*.mk) | \
	  while IFS="$$(printf '\t')" read -r name text; do printf '%-14s %s\n' "$$name" "$$text"; done
	@echo 'clean          removes $(B)/'
