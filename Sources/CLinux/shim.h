#pragma once
// What Linux has and Swift's Glibc module leaves out.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Declared by glibc only for _GNU_SOURCE, which would change the headers that Swift's own module was built with.
extern int pipe2(int ends[2], int flags);
extern int pthread_setname_np(unsigned long thread, const char *name);
extern int accept4(int descriptor, struct sockaddr *address, unsigned int *length, int flags);

// Not imported: sums of enumerators, and a union inside a packed structure.
static inline int c_epoll_add(int epoll, int descriptor, unsigned events, unsigned long long key) {
    struct epoll_event event = {.events = events, .data = {.u64 = key}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}
static inline int c_epoll_modify(int epoll, int descriptor, unsigned events, unsigned long long key) {
    struct epoll_event event = {.events = events, .data = {.u64 = key}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}
static inline int c_epoll_remove(int epoll, int descriptor) {
    return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, 0);
}
static inline int c_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

enum { c_epoll_in = EPOLLIN, c_epoll_out = EPOLLOUT, c_epoll_rdhup = EPOLLRDHUP, c_epoll_gone = EPOLLHUP | EPOLLERR };

// Starting programs. The two last calls are declared for _GNU_SOURCE only.
#include <spawn.h>
#include <unistd.h>
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern char **environ;
static inline void c_spawn_chdir_and_close(posix_spawn_file_actions_t *actions, const char *directory) {
    posix_spawn_file_actions_addchdir_np(actions, directory);
    posix_spawn_file_actions_addclosefrom_np(actions, 3);
}
static inline char **c_environment(void) { return environ; }
enum { c_spawn_setsid = 0x80, c_spawn_setsigdef = POSIX_SPAWN_SETSIGDEF, c_spawn_setsigmask = POSIX_SPAWN_SETSIGMASK };

// Declared for _GNU_SOURCE only; the affinity is a plain set of bits.
#include <malloc.h>
extern int sched_getaffinity(int process, unsigned long bytes, void *set);
static inline int c_usable_processors(void) {
    unsigned long set[16] = {0};
    if (sched_getaffinity(0, sizeof set, set) != 0) return (int)sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    for (int i = 0; i < 16; i++) count += __builtin_popcountl(set[i]);
    return count;
}
static inline void c_limit_malloc_arenas(int arenas) { mallopt(M_ARENA_MAX, arenas); }
