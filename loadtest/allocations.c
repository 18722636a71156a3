// Counts what each thread asks the C library's allocator for, and says so at the process' end. allocations.py builds and
// preloads it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t items, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern int pthread_setname_np(pthread_t thread, const char *name);

enum { most_threads = 256 };
static struct {
    char name[16];
    unsigned long count;
} threads[most_threads];
static int thread_count;
static __thread int mine;  // one more than its place; 0: none yet

static void note(void) {
    if (mine == 0) {
        int place = __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED);
        mine = (place < most_threads ? place : most_threads - 1) + 1;
    }
    // Names are given early, and a thread may end before the process does.
    if (threads[mine - 1].count++ % 64 == 0) {
        pthread_getname_np(pthread_self(), threads[mine - 1].name, sizeof threads[mine - 1].name);
    }
}

void *malloc(size_t bytes) {
    note();
    return __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes) {
    note();
    return __libc_calloc(items, bytes);
}

void *realloc(void *old, size_t bytes) {
    note();
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    note();
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    note();
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    note();
    *result = __libc_memalign(alignment, bytes);
    return *result == NULL ? ENOMEM : 0;
}

__attribute__((destructor)) static void tell(void) {
    const char *folder = getenv("ALLOCATIONS");
    char path[512];
    if (folder == NULL || snprintf(path, sizeof path, "%s/%d", folder, getpid()) >= (int)sizeof path) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    int count = thread_count < most_threads ? thread_count : most_threads;
    for (int place = 0; place < count; place++) fprintf(file, "%lu %s\n", threads[place].count, threads[place].name);
    fclose(file);
}
