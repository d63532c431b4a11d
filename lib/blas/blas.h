// BLAS and LAPACK. A program that is linked with shared libraries loads them when something first needs them, as most
// commands decompose nothing, and these libraries take 8 ms to load; a static program (DQ_STATIC) holds them.
#ifndef DQ_BLAS_BLAS_H
#define DQ_BLAS_BLAS_H

#include <cblas.h>
#include <lapacke.h>
#include <stdbool.h>

#include "lib/base/status.h"

#define DQ_CBLAS_FUNCTIONS(ROW) ROW(cblas_sgemm) ROW(cblas_dgemm)
#define DQ_LAPACKE_FUNCTIONS(ROW) ROW(LAPACKE_dsyevd_work)

// The functions that dq calls, under their own names.
typedef struct dq_blas {
#define DQ_BLAS_MEMBER(name) __typeof__(name) *name;
  DQ_CBLAS_FUNCTIONS(DQ_BLAS_MEMBER)
  DQ_LAPACKE_FUNCTIONS(DQ_BLAS_MEMBER)
#undef DQ_BLAS_MEMBER
  int threads;                    // that OpenBLAS started with; 0: the library is not OpenBLAS
  void (*set_threads)(int count); // of OpenBLAS, else NULL
} dq_blas;

// Whether the system bounds the address space of the process (ulimit -v).
bool dq_address_space_is_limited(void);
// Whether there is address space for so many buffers of OpenBLAS, of DQ_BLAS_BUFFER bytes each, and some more.
enum { DQ_BLAS_BUFFER = 128 << 20 };
bool dq_blas_has_space(int buffers);

// Loads the functions and sets them to one thread, the first time. Any thread may call it. DQ_SYSTEM: a library is not
// installed, or has no such function; later calls then say the same.
dq_status dq_blas_open(dq_error *error);
// The functions, static; to be called after a dq_blas_open that was DQ_OK.
const dq_blas *dq_blas_loaded(void);

#endif
