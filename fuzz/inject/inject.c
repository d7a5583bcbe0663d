#define _GNU_SOURCE
#include "inject.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Forked children share this. */
static struct shared {
    atomic_long count[INJECT_CLASSES];
} * shared;

static enum inject_class failing = INJECT_CLASSES;
static long failing_at;
static bool later_too;
static bool short_moves;
static bool stop_there; /* HC_INJECT_STOP: a trap at the failure, for a debugger */
static int log_file = -1;

static const char *const class_names[INJECT_CLASSES] = {"memory", "write", "read", "map"};

static void write_log(const char *what, long at)
{
    char line[80];
    char digits[24];
    size_t used = 0;
    size_t length = 0;
    for (; what[used] && used < 40; used++)
        line[used] = what[used];
    line[used++] = ' ';
    do
        digits[length++] = (char)('0' + at % 10);
    while ((at /= 10) > 0);
    while (length > 0)
        line[used++] = digits[--length];
    line[used++] = '\n';
    (void)inject_raw(SYS_write, (const long[6]){log_file, (long)line, (long)used});
}

bool inject_now(enum inject_class kind, const char *what)
{
    if (!shared)
        return false;
    long at = atomic_fetch_add(&shared->count[kind], 1) + 1;
    if (kind != failing || at < failing_at || (at > failing_at && !later_too))
        return false;
    if (at == failing_at && log_file >= 0)
        write_log(what, at);
    if (stop_there)
        (void)raise(SIGTRAP);
    return true;
}

bool inject_short(void)
{
    return short_moves;
}

static void on_alarm(int number)
{
    (void)number;
}

/* The first alarm comes after the constructors. */
static void start_alarms(long microseconds)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_interval.tv_usec = microseconds,
                              .it_value.tv_usec = microseconds};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void open_log(void)
{
    const char *path = getenv("HC_INJECT_LOG");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    log_file = fcntl(file, F_DUPFD_CLOEXEC, 500);
    (void)close(file);
}

__attribute__((destructor)) static void finish(void)
{
    if (!shared || log_file < 0 || failing == INJECT_CLASSES)
        return;
    long count = atomic_load(&shared->count[failing]);
    if (count < failing_at)
        write_log("unmet", count);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wish = getenv("HC_INJECT");
    const char *colon = wish ? strchr(wish, ':') : NULL;
    if (!colon)
        return;
    size_t length = (size_t)(colon - wish);
    long number = strtol(colon + 1, NULL, 10);
    for (int k = 0; k < INJECT_CLASSES; k++)
        if (strlen(class_names[k]) == length && strncmp(class_names[k], wish, length) == 0)
            failing = (enum inject_class)k;
    failing_at = number;
    inject_find_spared();
    later_too = strchr(colon, '+') != NULL;
    short_moves = strncmp(wish, "short:", 6) == 0;
    stop_there = getenv("HC_INJECT_STOP") != NULL;
    open_log();
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("HC_INJECT");
    void *memory =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    if (failing != INJECT_MEMORY && strncmp(wish, "alarm:", 6) != 0)
        inject_filter();
    if (strncmp(wish, "alarm:", 6) == 0)
        start_alarms(number);
    shared = memory;
}
