# Packages: one static program, a wheel, Debian packages, a container, an archive of the sources, and what they hold
# (cmd/packages). Each target names its file; made twice, a file has the same bytes (SOURCE_DATE_EPOCH).

PACKAGES_FOLDER := $(B)/packages
# The moment that stands in archives: that of the commit, or of the source archive.
export SOURCE_DATE_EPOCH ?= $(shell cat cmd/packages/date 2>/dev/null || git -C $(CURDIR) log -1 --format=%ct 2>/dev/null || echo 0)

# ---- The static program ----

# LAPACK and BLAS are the reference ones, 1 MB where OpenBLAS is 20; Debian keeps them in folders of their own.
STATIC_FOLDER := $(B)/static
MULTIARCH = $(shell $(CC) -print-multiarch)
STATIC_LIBRARIES = -L/usr/lib/$(MULTIARCH)/lapack -L/usr/lib/$(MULTIARCH)/blas \
  -lprotobuf-c -llapacke -llapack -lblas -lgfortran $(if $(filter x86_64,$(MACHINE)),-lquadmath) -ljansson -lxxhash -lm -pthread
.PHONY: static
## static: one program with all libraries in it, $(B)/static/dq, for machines that have none (CC=aarch64-linux-gnu-gcc: for those)
static:
	+$(MAKE) B=$(STATIC_FOLDER) MPI= OPENBLAS= STATIC=yes $(STATIC_FOLDER)/dq

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

## container: the static program as an image for podman and docker, build/packages/dq-VERSION-MACHINE.image.tar
container: static
	@sh cmd/deps.sh container
	sh cmd/packages/container.sh $(STATIC_FOLDER)/dq $(PACKAGES_FOLDER)/container $(PACKAGES_FOLDER)/dq-$(VERSION)-$(MACHINE).image.tar \
	  $(VERSION) $(COMMIT) $(MACHINE) $(VERBS)
