// The instruction set that a body is compiled for. A body is a file x_body.c with the line "// Sets: ...": the
// Makefile compiles it once for each of these sets that this machine has, with the set's flags (lib/base/cpu.def)
// and -DDQ_SET=<set>. The set c is plain C, for any machine.
#ifndef DQ_KERNELS_SET_H
#define DQ_KERNELS_SET_H

#ifndef DQ_SET
#define DQ_SET c
#endif

#define DQ_SET_JOINED_(name, set) name##_##set
#define DQ_SET_JOINED(name, set) DQ_SET_JOINED_(name, set)
// The symbol of a kernel in this set: dq_exp_f32 becomes dq_exp_f32_avx2.
#define DQ_FOR_SET(name) DQ_SET_JOINED(name, DQ_SET)

#endif
