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
