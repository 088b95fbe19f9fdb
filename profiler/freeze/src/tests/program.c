/* A program that notices when somebody disturbs it. Each of its threads waits in another system call
   or computes, and counts its rounds. For each byte of its input, it waits until all threads have made
   a round, and writes what went wrong: system calls that were interrupted, values that changed,
   signals that were lost, and ends of children that it heard of. An `f` forbids it to open files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile long interrupted, wrong, handled, sent, children;
static volatile unsigned long rounds[16];
static sigset_t all;

static void check(long result) {
    if (result != -1 || errno == EAGAIN || errno == ETIMEDOUT) return;
    __sync_fetch_and_add(errno == EINTR ? &interrupted : &wrong, 1);
}

static void on_signal(int signal) {
    if (signal == SIGCHLD) __sync_fetch_and_add(&children, 1);
    if (signal == SIGRTMIN) __sync_fetch_and_add(&handled, 1);
}

/* Keeps words in registers for a while, those of vectors too. */
static int keeps_registers(unsigned long seed) {
    unsigned long in[4] = {seed, ~seed, seed * 3, seed * 7}, out[4], low;
    __asm__ volatile(
        "movdqu (%1), %%xmm3\n movdqu 16(%1), %%xmm12\n mov %3, %%r12\n mov $20000, %%rcx\n"
        "1: dec %%rcx\n jnz 1b\n"
        "movdqu %%xmm3, (%2)\n movdqu %%xmm12, 16(%2)\n mov %%r12, %0\n"
        : "=&r"(low) : "r"(in), "r"(out), "r"(seed) : "rcx", "r12", "xmm3", "xmm12", "memory", "cc");
    return low == seed && memcmp(in, out, sizeof in) == 0;
}

/* Receives from an empty socket or sends to a full one, in the ways that have the socket's time limit. */
static long wait_for_socket(int socket, unsigned long round) {
    int word = 0;
    struct iovec part = {&word, sizeof word};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr messages = {message};
    switch (round % 9) {
    case 0: return recv(socket, &word, 1, 0);
    case 1: return recvmsg(socket, &message, 0);
    case 2: return recvmmsg(socket, &messages, 1, 0, 0);
    case 3: return readv(socket, &part, 1);
    case 4: return send(socket, &word, 1, 0);
    case 5: return sendmsg(socket, &message, 0);
    case 6: return sendmmsg(socket, &messages, 1, 0);
    case 7: return write(socket, &word, 1);
    default: return writev(socket, &part, 1);
    }
}

static void *work(void *number) {
    long n = (long)number;
    struct timespec short_time = {0, 3000000};
    struct timeval time_limit = {0, 3000};
    int word = 0, pair[2], many = epoll_create1(0);
    struct epoll_event event;
    sigset_t usr1;
    struct pollfd none;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time_limit, sizeof time_limit);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &time_limit, sizeof time_limit);
    while (send(pair[0], &word, 1, MSG_DONTWAIT) == 1) {}
    none.fd = pair[0];
    none.events = POLLIN;
    /* Signals are for the first thread. */
    pthread_sigmask(SIG_BLOCK, &all, 0);
    for (unsigned long round = 1;; round++) {
        switch (n) {
        case 0: check(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &short_time, 0, 0)); break;
        case 1: check(nanosleep(&short_time, 0)); break;
        case 2: check(epoll_wait(many, &event, 1, 3)); break;
        case 3: check(sigtimedwait(&usr1, 0, &short_time)); break;
        case 4: check(wait_for_socket(pair[0], round)); break;
        case 5: check(poll(&none, 1, 3)); break;
        case 6: if (!keeps_registers(round * 0x9e3779b97f4a7c15ul)) __sync_fetch_and_add(&wrong, 1); break;
        case 7: free(malloc(round % 5000)); break;
        }
        rounds[n] = round;
    }
    return 0;
}

/* Waits, as nobody can stop it, until its child is killed. */
static void *wait_for_child(void *none) {
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;) pause();
    }
    return 0;
}

/* Forbids two system calls: the program is killed for them, or they fail. */
static void forbid(long first, long second, unsigned action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) != 0) exit(3);
}

static int threads, is_busy;

static void serve(void) {
    char byte;
    for (;;) {
        if (is_busy && !keeps_registers(sent + 77)) wrong++;
        long got = read(0, &byte, 1);
        check(got);
        if (got == -1) continue;
        if (got == 0) exit(0);
        if (byte == 'f') forbid(SYS_openat, SYS_fallocate, SECCOMP_RET_ERRNO | EPERM);
        unsigned long before[16];
        memcpy(before, (void *)rounds, sizeof before);
        for (int n = 0; n < 5; n++) {
            union sigval value = {n};
            if (sigqueue(getpid(), SIGRTMIN, value) == 0) sent++;
        }
        for (int n = 0; n < threads; n++)
            while (rounds[n] < before[n] + 2) sched_yield();
        printf("interrupted %ld wrong %ld lost %ld children %ld\n", interrupted, wrong, sent - handled, children);
        fflush(stdout);
    }
}

/* Serves on a stack in the heap, between other blocks. */
static void serve_in_coroutine(void) {
    static ucontext_t first, other;
    getcontext(&other);
    other.uc_stack.ss_sp = malloc(100000);
    other.uc_stack.ss_size = 100000;
    makecontext(&other, serve, 0);
    swapcontext(&first, &other);
}

int main(int count, char **words) {
    const char *kind = count > 2 ? words[2] : "";
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    pthread_t thread;
    threads = count > 1 ? atoi(words[1]) : 8;
    sigfillset(&all);
    sigaction(SIGALRM, &action, 0);
    sigaction(SIGCHLD, &action, 0);
    sigaction(SIGRTMIN, &action, 0);
    for (long n = 0; n < threads; n++) pthread_create(&thread, 0, work, (void *)n);
    if (strcmp(kind, "vfork") == 0) pthread_create(&thread, 0, wait_for_child, 0);
    if (strcmp(kind, "seccomp") == 0) forbid(SYS_clone, SYS_wait4, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(kind, "killing") == 0) forbid(SYS_fallocate, SYS_wait4, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(kind, "refusing") == 0) forbid(SYS_openat, SYS_open, SECCOMP_RET_ERRNO | EPERM);
    if (strcmp(kind, "busy") == 0) {
        is_busy = 1;
        fcntl(0, F_SETFL, O_NONBLOCK);
    }
    if (threads > 1) setitimer(ITIMER_REAL, &timer, 0);
    puts("ready");
    fflush(stdout);
    strcmp(kind, "coroutine") == 0 ? serve_in_coroutine() : serve();
}
