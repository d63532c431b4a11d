# Packages: one static program, a wheel, Debian packages, a container, an archive of the sources, and what they hold
# (cmd/packages). Each target names its file; made twice, a file has the same bytes (SOURCE_DATE_EPOCH).

PACKAGES_FOLDER := $(B)/packages
# The moment that stands in archives: that of the commit, or of the source archive.
export SOURCE_DATE_EPOCH ?= $(shell git -C $(CURDIR) log -1 --format=%ct 2>/dev/null || cat cmd/packages/date 2>/dev/null || echo 0)

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
