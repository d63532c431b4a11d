# Packages: one static program, a wheel, and what they hold (cmd/packages). A package that is made twice from one commit
# has the same bytes.

PACKAGES_FOLDER := $(B)/packages
# The moment that stands in archives: that of the commit, or of the source archive.
export SOURCE_DATE_EPOCH ?= $(shell cat cmd/packages/date 2>/dev/null || git -C $(CURDIR) log -1 --format=%ct 2>/dev/null || echo 0)

# ---- The static program ----

# LAPACK and BLAS are the reference ones, of 250 KiB where OpenBLAS is 24 MiB; Debian keeps them in folders of their own.
STATIC_FOLDER := $(B)/static
MULTIARCH = $(shell $(CC) -print-multiarch)
STATIC_LIBRARIES = -L/usr/lib/$(MULTIARCH)/lapack -L/usr/lib/$(MULTIARCH)/blas \
  -lprotobuf-c -llapacke -llapack -lblas -lgfortran -ljansson -lexpat -lyaml -lxxhash -lm -pthread
.PHONY: static sbom wheel
## static: one program with all libraries in it, build/static/dq, for machines that have none (CC=aarch64-linux-gnu-gcc B=build/arm64: for AArch64)
static: $(STATIC_FOLDER)/dq
# It has the objects of any other program but those that load libraries.
STATIC_OBJECTS := $(B)/static/lib/blas/blas.o $(B)/static/cmd/shared/mpi_job.o
$(STATIC_OBJECTS): $(STATIC_FOLDER)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(OWN_FLAGS) -DDQ_STATIC -MMD -MP -MT $@ -c -o $@ $<
-include $(STATIC_OBJECTS:.o=.d)
$(STATIC_FOLDER)/dq: $(STATIC_OBJECTS) $(filter-out $(STATIC_OBJECTS:$(STATIC_FOLDER)/%=$(B)/%),$(PROGRAM:%.c=$(B)/%.o)) $(B)/libdq.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -s -o $@ $^ $(STATIC_LIBRARIES)

# ---- The Python module ----

# The shared library of the wheel, which needs glibc 2.17 or later and nothing else.
$(STATIC_FOLDER)/libdq.so: $(OBJECTS) $(SCHEMA).o cmd/packages/portable.sh cmd/packages/portable.c lib/api/libdq.map
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)sh cmd/packages/portable.sh $@ libdq.so.$(ABI) '$(CC)' $(filter %.o,$^)
## python: the Python module beside the shared library, build/python/dq, for PYTHONPATH=build/python and LD_LIBRARY_PATH=build
.PHONY: python
PYTHON_SOURCES := $(wildcard cmd/packages/python/dq/* cmd/packages/python/*.py cmd/packages/python/*.in)
python: $(B)/python/.made $(B)/libdq.so
$(B)/python/.made: $(PYTHON_SOURCES) lib/dq.h $(wildcard lib/dq_*.h) Makefile
	@mkdir -p $(@D)
	$(PYTHON) -B cmd/packages/python/bindings.py lib $(@D)/dq libdq.so.$(ABI)
	@touch $@

# ---- Bills of materials ----

## sbom: the libraries in the static program and in others, with versions and licences, as CycloneDX: build/packages/dq-FORM.cdx.json
sbom: $(PACKAGES_FOLDER)/dq-static.cdx.json $(PACKAGES_FOLDER)/dq-shared.cdx.json
$(PACKAGES_FOLDER)/dq-%.cdx.json: FORCE
	@mkdir -p $(@D)
	$(PYTHON) -B cmd/packages/sbom.py $* $(VERSION) '$(COMMIT)' $(CC) >$@.new && mv $@.new $@

# The terms of the libraries in the static program.
$(PACKAGES_FOLDER)/NOTICES: FORCE
	@mkdir -p $(@D)
	$(PYTHON) -B cmd/packages/notices.py $(CC) >$@.new && mv $@.new $@

# ---- The wheel ----

## wheel: the static program and the Python module as a wheel, build/packages/dq_onnx-VERSION-py3-none-TAGS.whl (PyPI)
wheel: static $(STATIC_FOLDER)/libdq.so $(B)/python/.made $(PACKAGES_FOLDER)/dq-static.cdx.json $(PACKAGES_FOLDER)/NOTICES
	rm -f $(PACKAGES_FOLDER)/dq_onnx-*.whl
	$(PYTHON) -B cmd/packages/wheel.py $(STATIC_FOLDER)/dq $(STATIC_FOLDER)/libdq.so $(B)/python/dq $(filter %.json %NOTICES,$^) $(VERSION) $(CC) $(PACKAGES_FOLDER)

# ---- The archive of the sources ----

ARCHIVE := $(PACKAGES_FOLDER)/dq-$(VERSION).tar.gz
.PHONY: dist deb container
## dist: the sources as an archive that builds without git, build/packages/dq-VERSION.tar.gz
dist:
	sh cmd/packages/archive.sh $(PACKAGES_FOLDER) dq-$(VERSION) $(B)

# ---- Debian packages ----

## deb: Debian packages of the last commit: dq and libdq-dev, build/packages/NAME_VERSION_MACHINE.deb
deb: dist
	@sh cmd/deps.sh deb
	sh cmd/packages/debian.sh $(ARCHIVE) $(PACKAGES_FOLDER)/debian $(VERSION)
	rm -f $(PACKAGES_FOLDER)/*.deb
	cp $(PACKAGES_FOLDER)/debian/*.deb $(PACKAGES_FOLDER)

# ---- A container ----

# The files of the image, which need no buildah.
IMAGE_ROOT := $(PACKAGES_FOLDER)/container/root
.PHONY: $(IMAGE_ROOT)
$(IMAGE_ROOT): static $(PACKAGES_FOLDER)/dq-static.cdx.json $(PACKAGES_FOLDER)/NOTICES
	sh cmd/packages/image_root.sh $(STATIC_FOLDER)/dq $(filter %.json %NOTICES,$^) $@ $(VERBS)
## container: the static program as an image for podman and docker, build/packages/dq-VERSION-MACHINE.image.tar
container: $(IMAGE_ROOT)
	@sh cmd/deps.sh container
	sh cmd/packages/container.sh $(PACKAGES_FOLDER)/container $(PACKAGES_FOLDER)/dq-$(VERSION)-$(MACHINE).image.tar $(VERSION) $(COMMIT) $(MACHINE)
