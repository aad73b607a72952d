// Makes chosen system calls of a process fail, or raises a signal at them. The tests preload it.
//
//   FAULT_COUNTERS  a file of 64-bit counters, one for each kind of call, shared by all processes
//   FAULT_PROCESS   names of the processes that are counted, with commas; all, if not given
//   FAULT_UNDER     only calls on files below this directory count (not for threads and pipes)
//   FAULT_CALL      the kind of call that fails, or "any"
//   FAULT_AT        which one of them, from 1; 0 or nothing only counts
//   FAULT_ERRNO     the errno that it fails with
//   FAULT_SIGNAL    the signal that is raised before the call, which then goes on
//   FAULT_STICKY    all later calls of this kind fail too
//   FAULT_LOG       what was done is appended here: process, call, file
//
// Every kind has its counter; the last one counts them all.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind {
    OPEN, CREATE, READ, WRITE, SYNC, RENAME, UNLINK, MKDIR, LIST, STAT, MMAP, THREAD, TRUNCATE,
    LOCK, PIPEREAD, PIPEWRITE, ANY, KINDS
};
static const char *const NAMES[KINDS] = {
    "open", "create", "read", "write", "sync", "rename", "unlink", "mkdir", "list", "stat", "mmap",
    "thread", "truncate", "lock", "piperead", "pipewrite", "any"
};

static int64_t *counters;
static int wanted_kind = -1, wanted_errno, wanted_signal, is_sticky;
static int64_t wanted_at;
static const char *under, *log_path;
static size_t under_length;

static int is_listed(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return 1;
    }
    return 0;
}

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULT_COUNTERS"), *names = getenv("FAULT_PROCESS");
    if (!path || (names && *names && !is_listed(names, program_invocation_short_name))) return;
    under = getenv("FAULT_UNDER");
    if (under && !*under) under = NULL;
    under_length = under ? strlen(under) : 0;
    log_path = getenv("FAULT_LOG");
    const char *call = getenv("FAULT_CALL"), *text;
    for (int kind = 0; call && kind < KINDS; kind++)
        if (strcmp(call, NAMES[kind]) == 0) wanted_kind = kind;
    wanted_at = (text = getenv("FAULT_AT")) ? atoll(text) : 0;
    wanted_errno = (text = getenv("FAULT_ERRNO")) ? atoi(text) : 0;
    wanted_signal = (text = getenv("FAULT_SIGNAL")) ? atoi(text) : 0;
    is_sticky = (text = getenv("FAULT_STICKY")) && *text == '1';
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = (void *)syscall(SYS_mmap, NULL, sizeof(int64_t) * KINDS, PROT_READ | PROT_WRITE,
                                MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (map != MAP_FAILED) counters = map;
}

// Starts writing without a wait: it fails as a sync does, but forces nothing to the disk.
static __thread int is_range;

static void note(enum kind kind, const char *path) {
    if (!log_path) return;
    char line[PATH_MAX + 200];
    int length = snprintf(line, sizeof line, "%s %s %s\n", program_invocation_short_name,
                          is_range ? "range" : NAMES[kind], path ? path : "-");
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, (size_t)length);
    syscall(SYS_close, fd);
}

// Counts a call of this kind; whether it is to fail.
static int hit(enum kind kind, const char *path) {
    int64_t at = __atomic_add_fetch(&counters[kind], 1, __ATOMIC_SEQ_CST);
    int64_t of_all = __atomic_add_fetch(&counters[ANY], 1, __ATOMIC_SEQ_CST);
    if (wanted_at == 0 || (wanted_kind != (int)kind && wanted_kind != ANY)) return 0;
    if (wanted_kind == ANY) at = of_all;
    if (at != wanted_at && !(is_sticky && at > wanted_at)) return 0;
    note(kind, path);
    if (wanted_signal) {
        kill(getpid(), wanted_signal);
        return 0;
    }
    errno = wanted_errno;
    return 1;
}

static int is_under(const char *path) {
    return !under || (strncmp(path, under, under_length) == 0
                      && (path[under_length] == 0 || path[under_length] == '/'));
}

// The path of a descriptor; 0 if it has none.
static int path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return 1;
}

static int fails_fd(enum kind kind, int fd) {
    char path[PATH_MAX];
    if (!counters) return 0;
    int before = errno;
    if (!path_of(fd, path)) {
        errno = before;
        return 0;
    }
    errno = before;
    if (path[0] == '/') return is_under(path) && hit(kind, path);
    // Other pipes are the program's own.
    if (fd > 1 || strncmp(path, "pipe:", 5) != 0) return 0;
    if (kind != READ && kind != WRITE) return 0;
    return hit(kind == READ ? PIPEREAD : PIPEWRITE, fd == 0 ? "stdin" : "stdout");
}

static int fails_at(enum kind kind, int directory, const char *name) {
    char path[2 * PATH_MAX + 2];
    if (!counters || !name) return 0;
    int before = errno;
    if (name[0] == 0) return fails_fd(kind, directory);
    if (name[0] == '/') {
        snprintf(path, sizeof path, "%s", name);
    } else {
        char base[PATH_MAX];
        if (directory == AT_FDCWD ? !getcwd(base, sizeof base) : !path_of(directory, base)) base[0] = 0;
        snprintf(path, sizeof path, "%s/%s", base, name);
    }
    errno = before;
    return is_under(path) && hit(kind, path);
}

#define NEXT(name) \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        if (fails_at(flags & O_CREAT ? CREATE : OPEN, AT_FDCWD, path)) return -1; \
        return next(path, flags, mode); \
    }
OPENS(open) OPENS(open64)

#define OPENS_AT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        NEXT(name); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        if (fails_at(flags & O_CREAT ? CREATE : OPEN, directory, path)) return -1; \
        return next(directory, path, flags, mode); \
    }
OPENS_AT(openat) OPENS_AT(openat64)

// A call that fails with `bad`, by its descriptor or its path.
#define BY_FD(type, bad, kind, name, fd, parameters, arguments) \
    type name parameters { \
        NEXT(name); \
        if (fails_fd(kind, fd)) return bad; \
        return next arguments; \
    }
#define BY_PATH(type, bad, kind, name, at, path, parameters, arguments) \
    type name parameters { \
        NEXT(name); \
        if (fails_at(kind, at, path)) return bad; \
        return next arguments; \
    }

BY_PATH(int, -1, CREATE, creat, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, -1, CREATE, creat64, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
BY_FD(ssize_t, -1, READ, read, fd, (int fd, void *to, size_t n), (fd, to, n))
BY_FD(ssize_t, -1, READ, pread, fd, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
BY_FD(ssize_t, -1, READ, pread64, fd, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
BY_FD(ssize_t, -1, READ, readv, fd, (int fd, const struct iovec *to, int n), (fd, to, n))
BY_FD(ssize_t, -1, WRITE, write, fd, (int fd, const void *from, size_t n), (fd, from, n))
BY_FD(ssize_t, -1, WRITE, pwrite, fd, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
BY_FD(ssize_t, -1, WRITE, pwrite64, fd, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
BY_FD(ssize_t, -1, WRITE, writev, fd, (int fd, const struct iovec *from, int n), (fd, from, n))
BY_FD(ssize_t, -1, WRITE, copy_file_range, to, (int from, off64_t *at, int to, off64_t *there, size_t n, unsigned flags), (from, at, to, there, n, flags))
BY_FD(ssize_t, -1, WRITE, sendfile, to, (int to, int from, off_t *at, size_t n), (to, from, at, n))
BY_FD(ssize_t, -1, WRITE, sendfile64, to, (int to, int from, off64_t *at, size_t n), (to, from, at, n))
BY_FD(int, -1, SYNC, fsync, fd, (int fd), (fd))
BY_FD(int, -1, SYNC, fdatasync, fd, (int fd), (fd))
BY_FD(int, -1, SYNC, syncfs, fd, (int fd), (fd))
BY_PATH(int, -1, RENAME, rename, AT_FDCWD, to, (const char *from, const char *to), (from, to))
BY_PATH(int, -1, RENAME, renameat, there, to, (int here, const char *from, int there, const char *to), (here, from, there, to))
BY_PATH(int, -1, RENAME, renameat2, there, to, (int here, const char *from, int there, const char *to, unsigned flags), (here, from, there, to, flags))
BY_PATH(int, -1, RENAME, link, AT_FDCWD, to, (const char *from, const char *to), (from, to))
BY_PATH(int, -1, RENAME, linkat, there, to, (int here, const char *from, int there, const char *to, int flags), (here, from, there, to, flags))
BY_PATH(int, -1, UNLINK, unlink, AT_FDCWD, path, (const char *path), (path))
BY_PATH(int, -1, UNLINK, unlinkat, at, path, (int at, const char *path, int flags), (at, path, flags))
BY_PATH(int, -1, UNLINK, rmdir, AT_FDCWD, path, (const char *path), (path))
BY_PATH(int, -1, MKDIR, mkdir, AT_FDCWD, path, (const char *path, mode_t mode), (path, mode))
BY_PATH(int, -1, MKDIR, mkdirat, at, path, (int at, const char *path, mode_t mode), (at, path, mode))
BY_PATH(DIR *, NULL, LIST, opendir, AT_FDCWD, path, (const char *path), (path))
BY_FD(DIR *, NULL, LIST, fdopendir, fd, (int fd), (fd))
BY_FD(struct dirent *, NULL, LIST, readdir, dirfd(d), (DIR *d), (d))
BY_FD(struct dirent64 *, NULL, LIST, readdir64, dirfd(d), (DIR *d), (d))
BY_PATH(int, -1, STAT, stat, AT_FDCWD, path, (const char *path, struct stat *to), (path, to))
BY_PATH(int, -1, STAT, stat64, AT_FDCWD, path, (const char *path, struct stat64 *to), (path, to))
BY_PATH(int, -1, STAT, lstat, AT_FDCWD, path, (const char *path, struct stat *to), (path, to))
BY_PATH(int, -1, STAT, lstat64, AT_FDCWD, path, (const char *path, struct stat64 *to), (path, to))
BY_FD(int, -1, STAT, fstat, fd, (int fd, struct stat *to), (fd, to))
BY_FD(int, -1, STAT, fstat64, fd, (int fd, struct stat64 *to), (fd, to))
BY_PATH(int, -1, STAT, fstatat, at, path, (int at, const char *path, struct stat *to, int flags), (at, path, to, flags))
BY_PATH(int, -1, STAT, fstatat64, at, path, (int at, const char *path, struct stat64 *to, int flags), (at, path, to, flags))
BY_PATH(int, -1, STAT, access, AT_FDCWD, path, (const char *path, int mode), (path, mode))
BY_PATH(int, -1, STAT, faccessat, at, path, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
BY_PATH(int, -1, STAT, statx, at, path, (int at, const char *path, int flags, unsigned mask, struct statx *to), (at, path, flags, mask, to))
BY_FD(void *, MAP_FAILED, MMAP, mmap, fd, (void *at, size_t n, int access, int flags, int fd, off_t from), (at, n, access, flags, fd, from))
BY_FD(void *, MAP_FAILED, MMAP, mmap64, fd, (void *at, size_t n, int access, int flags, int fd, off64_t from), (at, n, access, flags, fd, from))
BY_FD(int, -1, TRUNCATE, ftruncate, fd, (int fd, off_t n), (fd, n))
BY_FD(int, -1, TRUNCATE, ftruncate64, fd, (int fd, off64_t n), (fd, n))
BY_FD(int, wanted_errno, TRUNCATE, posix_fallocate, fd, (int fd, off_t at, off_t n), (fd, at, n))
BY_FD(int, wanted_errno, TRUNCATE, posix_fallocate64, fd, (int fd, off64_t at, off64_t n), (fd, at, n))
BY_FD(int, -1, LOCK, flock, fd, (int fd, int what), (fd, what))

int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) {
    NEXT(sync_file_range);
    is_range = 1;
    int fails = fails_fd(SYNC, fd);
    is_range = 0;
    return fails ? -1 : next(fd, at, n, flags);
}

#define FCNTL(name) \
    int name(int fd, int what, ...) { \
        NEXT(name); \
        va_list more; \
        va_start(more, what); \
        void *argument = va_arg(more, void *); \
        va_end(more); \
        int locks = what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW; \
        if (locks && fails_fd(LOCK, fd)) return -1; \
        return next(fd, what, argument); \
    }
FCNTL(fcntl) FCNTL(fcntl64)

int pthread_create(pthread_t *thread, const pthread_attr_t *with, void *(*run)(void *), void *given) {
    NEXT(pthread_create);
    if (counters && hit(THREAD, NULL)) return wanted_errno;
    return next(thread, with, run, given);
}
