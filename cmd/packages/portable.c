// Parts of the shared library of the wheel (portable.sh), which asks glibc for no version later than 2.17, that of
// manylinux2014, though it is built with a later one. glibc keeps old versions of functions that it changed; the linker
// sends calls of NAME to __wrap_NAME (--wrap).
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

struct stat;
#ifdef __x86_64__
#define FIRST "GLIBC_2.2.5"
#define CLOCK "GLIBC_2.3.3"
enum { STAT_VERSION = 1 };
#else
#define FIRST "GLIBC_2.17"
#define CLOCK FIRST
enum { STAT_VERSION = 0 };
#endif

// A call of the version of a function that stood in glibc first.
#define OLD(result, name, version, arguments, ...)                                                                     \
  result old_##name arguments;                                                                                         \
  __asm__(".symver old_" #name ", " #name "@" version);                                                                \
  result __wrap_##name arguments { return old_##name(__VA_ARGS__); }

OLD(double, exp, FIRST, (double x), x)
OLD(double, exp2, FIRST, (double x), x)
OLD(double, log, FIRST, (double x), x)
OLD(double, log2, FIRST, (double x), x)
OLD(double, pow, FIRST, (double x, double y), x, y)
OLD(double, hypot, FIRST, (double x, double y), x, y)
OLD(float, logf, FIRST, (float x), x)
OLD(float, powf, FIRST, (float x, float y), x, y)
OLD(void *, dlopen, FIRST, (const char *path, int mode), path, mode)
OLD(void *, dlsym, FIRST, (void *library, const char *name), library, name)
OLD(char *, dlerror, FIRST, (void))
OLD(int, pthread_create, FIRST,
    (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user), thread, attributes, run,
    user)
OLD(int, pthread_join, FIRST, (pthread_t thread, void **result), thread, result)
OLD(int, pthread_once, FIRST, (pthread_once_t * once, void (*run)(void)), once, run)
OLD(int, pthread_sigmask, FIRST, (int how, const sigset_t *set, sigset_t *old), how, set, old)
OLD(int, pthread_condattr_setclock, CLOCK, (pthread_condattr_t * attributes, clockid_t clock), attributes, clock)

// glibc before 2.33 had `stat` and its kin as these, with a version of the struct.
OLD(int, __xstat, FIRST, (int version, const char *path, struct stat *info), version, path, info)
OLD(int, __lxstat, FIRST, (int version, const char *path, struct stat *info), version, path, info)
OLD(int, __fxstat, FIRST, (int version, int file, struct stat *info), version, file, info)
int __wrap_stat(const char *path, struct stat *info) { return old___xstat(STAT_VERSION, path, info); }
int __wrap_lstat(const char *path, struct stat *info) { return old___lxstat(STAT_VERSION, path, info); }
int __wrap_fstat(int file, struct stat *info) { return old___fxstat(STAT_VERSION, file, info); }

// What the static jansson compares streams with in place of `stdin`, an object of glibc that no static library without
// -fPIC can have in a shared one: none is equal to it.
void *dq_no_stream = NULL;

// Random bytes for the tables of the static Expat, which glibc has since 2.36. Where the system gives none the bytes
// stay as they are.
void arc4random_buf(void *bytes, size_t size) {
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!read(file, bytes, size);
  close(file);
}
