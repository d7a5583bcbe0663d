#include "comm/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "comm/watch/peers.h"

enum { SILENCE = 6, LONGEST_SILENCE = 86400 }; /* seconds */
enum { WRONG = 2, WAIT_IF_WRONG = 4000 };      /* milliseconds */

static struct {
    bool is_on;
    bool is_trusted;
    int rank;
    int control;
    struct hc_watch_shared shared;
    struct hc_watch_entry mine;
} watch;

static bool tell_guard(unsigned char what, int value)
{
    const unsigned char bytes[2] = {what, (unsigned char)value};
    return send(watch.control, bytes, sizeof bytes, MSG_NOSIGNAL) == (ssize_t)sizeof bytes;
}

/* A rank without its guard would go on alone, and nobody would end it. */
static void *tell_that_it_lives(void *unused)
{
    const struct timespec half_a_second = {0, 500000000L};
    while (tell_guard(HC_RANK_LIVES, 0))
        (void)nanosleep(&half_a_second, NULL);
    _exit(WRONG);
    return unused;
}

/* The value of the next answer of that kind, or -1 if it does not come in time. */
static int hear(unsigned char what, int milliseconds)
{
    unsigned char bytes[2];
    for (;;) {
        struct pollfd answer = {.fd = watch.control, .events = POLLIN};
        int ready = poll(&answer, 1, milliseconds);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || recv(watch.control, bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
            return -1;
        if (bytes[0] == what)
            return bytes[1];
    }
}

static bool draw_token(unsigned char *token)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool drawn = fd >= 0 && read(fd, token, HC_WATCH_TOKEN) == HC_WATCH_TOKEN;
    if (fd >= 0)
        (void)close(fd);
    return drawn;
}

/* Seconds; -1 if the variable's text is none. */
static long silence(void)
{
    const char *text = getenv("HALFCHECK_WATCH");
    char *end = NULL;
    if (!text)
        return SILENCE;
    long seconds = strtol(text, &end, 10);
    return end != text && !*end && seconds >= 0 && seconds <= LONGEST_SILENCE ? seconds : -1;
}

static enum hc_status start_thread(void)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, tell_that_it_lives, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return hc_fail(HC_NO_MEMORY, "no memory for a thread that tells that the rank lives");
    (void)pthread_detach(thread);
    return HC_OK;
}

/* In the parent, which does not return. */
static _Noreturn void guard_rank(pid_t process, int control, int listener, int64_t milliseconds,
                                 bool by_srun)
{
    static struct hc_guard guard;
    guard.by_srun = by_srun;
    guard.process = process;
    guard.is_alive = true;
    guard.control = control;
    if (!hc_peers_init(&guard.peers, &watch.shared, watch.rank, listener, milliseconds)) {
        (void)kill(process, SIGKILL);
        _exit(WRONG);
    }
    hc_guard_run(&guard);
}

enum hc_status hc_watch_begin(const struct hc_started *started)
{
    int ends[2];
    long seconds = silence();
    if (seconds < 0)
        return hc_fail(HC_INVALID, "HALFCHECK_WATCH is '%s', not a number of seconds up to %d",
                       getenv("HALFCHECK_WATCH"), LONGEST_SILENCE);
    if (seconds == 0)
        return HC_OK;
    watch.rank = started->rank;
    if (!hc_watch_share(&watch.shared, started->size) || !draw_token(watch.mine.token) ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return hc_fail(HC_DEVICE, "no socket or memory for the watch over ranks");
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    int listener = hc_watch_listen(started->on_one_host, &watch.mine);
    watch.shared.table[watch.rank] = watch.mine;
    /* If it were ignored, a child's end would go unnoticed. */
    (void)signal(SIGCHLD, SIG_DFL);
    pid_t process = fork();
    if (process < 0)
        return hc_fail(HC_DEVICE, "no process for a rank: %s", strerror(errno));
    (void)close(ends[process > 0]);
    if (process > 0)
        guard_rank(process, ends[0], listener, (int64_t)seconds * 1000,
                   strcmp(started->starter, "srun") == 0);
    if (listener >= 0)
        (void)close(listener);
    watch.control = ends[1];
    watch.is_on = true;
    return start_thread();
}

enum hc_status hc_watch_join(struct hc_comm *comm)
{
    double alone = 1;
    int joined = 0;
    if (!watch.is_on)
        return HC_OK;
    watch.mine.process = (int64_t)getpid();
    enum hc_status status =
        hc_comm_all_gather(comm, &watch.mine, sizeof watch.mine, watch.shared.table);
    if (status != HC_OK)
        return status;
    if (tell_guard(HC_RANK_HAS_TABLE, 0))
        joined = hear(HC_GUARD_JOINED, -1);
    /* If one is not linked with all that it should be, the end of another rank may be the end of a
       link alone: then nobody believes in links. */
    status = hc_comm_max(comm, joined == 1 ? 0 : 1, &alone);
    watch.is_trusted = status == HC_OK && alone == 0;
    (void)tell_guard(HC_RANK_TRUSTS, watch.is_trusted);
    return status;
}

bool hc_watch_has_ended(int rank)
{
    if (!watch.is_trusted)
        return false;
    for (int r = 0; r < watch.shared.size; r++)
        if (r != watch.rank && (rank == r || rank < 0) && watch.shared.ended[r])
            return true;
    return false;
}

bool hc_watch_end(int exit_status)
{
    if (!watch.is_on)
        return true;
    (void)tell_guard(HC_RANK_HAS_DONE, exit_status);
    return !watch.is_trusted ||
           hear(HC_GUARD_ALL_DONE, exit_status == WRONG ? WAIT_IF_WRONG : -1) >= 0;
}

void hc_watch_can_resume(void)
{
    if (watch.is_on)
        (void)tell_guard(HC_RANK_CAN_RESUME, 0);
}

bool hc_watch_is_on(void)
{
    return watch.is_on;
}
