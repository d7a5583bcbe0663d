/* The guard of a rank: its neighbours on this host, how the job ends, and the watch itself. Sockets
   with names that are no files, and the credentials of who sends, are Linux's own. */
#define _GNU_SOURCE

#include "comm/watch/peers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "op/status.h"

enum { HC_GUARD_WRONG = 2 }; /* the exit status of a job that could not do its work */

/* Guards that the same process has started on one host. They can tell each other that the job is
   over before they are linked, when the ranks have not met yet. */

/* Neighbours have the same parent, by which their names begin. */
static socklen_t neighbour_name(int rank, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "halfcheck-%ld-%d",
                     (long)getppid(), rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* A socket by which this guard is told; -1 if there is none, and then nobody tells it. */
static int neighbours_open(int rank)
{
    struct sockaddr_un address;
    const int on = 1;
    socklen_t length = neighbour_name(rank, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Tells all ranks up to `size` that are neighbours. */
static void neighbours_tell(int fd, int size)
{
    for (int r = 0; r < size && fd >= 0; r++) {
        struct sockaddr_un address;
        socklen_t length = neighbour_name(r, &address);
        (void)sendto(fd, "o", 1, MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    }
}

/* Whether a neighbour of the same user has told that the job is over. */
static bool neighbours_heard(int fd)
{
    char byte = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (fd < 0 || recvmsg(fd, &message, 0) != 1)
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    struct ucred sender = {.uid = (uid_t)-1};
    if (header && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
    return sender.uid == getuid() && byte == 'o';
}

/* How a job ends: what is said of a rank that is lost, and with which status its guard exits. */

/* Milliseconds: what all would say at the start, the first says, and ends all. */
enum { AFTER_FIRST = 1000 };

/* Milliseconds from a request to end in which a rank may end as it likes. */
enum { REQUEST_HOLDS = 2000 };

static void rest(long time)
{
    const struct timespec moment = {time / 1000, time % 1000 * 1000000};
    (void)nanosleep(&moment, NULL);
}

/* Prints what hc_fail has kept. The line that hc_fail has kept has no control characters, whatever
   another host's name is. */
static void guard_say_message(void)
{
    char line[600];
    int n = snprintf(line, sizeof line, "halfcheck: %s\n", hc_message());
    if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
        return; /* nobody reads */
}

/* What is to be done about the loss. */
static const char *advice(const struct hc_guard *guard)
{
    if (guard->can_resume)
        return "; the run goes on from its checkpoint with --resume";
    if (guard->has_met)
        return "";
    return guard->by_srun ? "; it has not met the others, for which Open MPI needs srun --mpi=pmix"
                          : "; it has not met the others";
}

/* how: what is known of its end. */
static void guard_say_gone(const struct hc_guard *guard, int rank, const char *how)
{
    const struct hc_watch_entry *entry = &guard->peers.shared->table[rank];
    char others[48] = "";
    if (guard->peers.lost_count > 1)
        (void)snprintf(others, sizeof others, ", with %d more", guard->peers.lost_count - 1);
    (void)hc_fail(HC_DEVICE, "rank %d of %d (%s, process %lld) is gone (%s)%s%s", rank,
                  guard->peers.size, entry->host,
                  rank == guard->peers.rank ? (long long)guard->process : (long long)entry->process,
                  how, others, advice(guard));
    guard_say_message();
}

/* A stopped or hung rank is killed. One that cannot even be killed is left to the system. */
static void end_worker(struct hc_guard *guard)
{
    if (!guard->is_alive)
        return;
    (void)kill(guard->process, SIGKILL);
    for (int turn = 0; turn < 500 && waitpid(guard->process, NULL, WNOHANG) == 0; turn++)
        rest(2);
    guard->is_alive = false;
}

/* Ends the rank and this process, and tells nobody. */
static _Noreturn void guard_finish(struct hc_guard *guard, int status)
{
    end_worker(guard);
    hc_peers_leave(&guard->peers);
    _exit(status);
}

/* The job is over, and what is to be said has been said: tells all, and finishes. */
static _Noreturn void guard_end_job(struct hc_guard *guard, int status)
{
    hc_peers_tell(&guard->peers, HC_NOTICE_OVER, guard->peers.rank, status);
    if (!guard->is_trusted)
        neighbours_tell(guard->neighbours, guard->peers.size);
    guard_finish(guard, status);
}

/* Whoever started this process expects that it ends as the rank did. */
static _Noreturn void end_by_signal(struct hc_guard *guard, int number, bool has_spoken)
{
    sigset_t all;
    hc_peers_tell(&guard->peers, has_spoken ? HC_NOTICE_OVER : HC_NOTICE_ASKED, guard->peers.rank,
                  HC_GUARD_WRONG);
    end_worker(guard);
    hc_peers_leave(&guard->peers);
    (void)signal(number, SIG_DFL);
    (void)sigfillset(&all);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
    _exit(128 + number);
}

/* Whether a rank is lost, of which nobody has spoken yet, and this guard is the one to speak. One
   that ends on request says that the job is over before it is lost: whoever has started the ranks
   may have seen the loss first, and ends the others in any order. */
static bool is_to_speak(const struct hc_guard *guard)
{
    const struct hc_peers *peers = &guard->peers;
    return guard->is_trusted && (!peers->is_over || peers->is_unexplained) &&
           peers->lost_count > 0 && hc_peers_speaks(peers);
}

/* Whether the rank has ended as it was asked to. One that lives on after a request, to save its
   work, may still be lost: then nobody has asked for that. */
static bool is_as_requested(const struct hc_guard *guard, int ended)
{
    if (WIFSIGNALED(ended))
        return sigismember(&guard->requests, WTERMSIG(ended)) == 1;
    return guard->last_request && guard->now - guard->last_request < REQUEST_HOLDS;
}

/* The rank has ended, with what waitpid says. What the rank's own end says of the job. A rank that
   ends with status 2 has said why. */
static _Noreturn void guard_conclude(struct hc_guard *guard, int ended)
{
    char how[64];
    bool is_requested = is_as_requested(guard, ended);
    if (guard->has_done)
        guard_finish(guard, WIFEXITED(ended) ? WEXITSTATUS(ended) : guard->status);
    bool is_spokesman = guard->last_request && is_to_speak(guard);
    if (is_spokesman)
        guard_say_gone(guard, guard->peers.first_lost, "nothing is heard of it");
    if (WIFSIGNALED(ended) && is_requested)
        end_by_signal(guard, WTERMSIG(ended), is_spokesman);
    if (WIFSIGNALED(ended)) {
        (void)snprintf(how, sizeof how, "signal %d", WTERMSIG(ended));
        guard_say_gone(guard, guard->peers.rank, how);
    } else if (WEXITSTATUS(ended) != HC_GUARD_WRONG && !is_requested) {
        if (!guard->has_met && guard->peers.rank > 0)
            rest(AFTER_FIRST);
        (void)snprintf(how, sizeof how, "it has ended with status %d", WEXITSTATUS(ended));
        guard_say_gone(guard, guard->peers.rank, how);
    }
    guard_end_job(guard, HC_GUARD_WRONG);
}

/* Milliseconds. */
enum {
    TICK = 250,
    ABSENCE = 2000,      /* a tick that took so long: this process was stopped, too */
    SETTLE = 300,        /* until those who are lost together are all known */
    SPEAK_ANYWAY = 3000, /* if the speaker has not spoken */
    GRACE = 2000,        /* from one rank's refusal until the others must have ended */
    FINISH = 20000,      /* from the last rank's end until this one must be gone */
    START = 10           /* times the silence, until all ranks have met */
};

static int64_t milliseconds(void)
{
    struct timespec time = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000 + 1;
}

static void answer_rank(struct hc_guard *guard, unsigned char what, unsigned char value)
{
    const unsigned char bytes[2] = {what, value};
    (void)send(guard->control, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void listen_to_rank(struct hc_guard *guard)
{
    unsigned char bytes[2];
    while (recv(guard->control, bytes, sizeof bytes, MSG_DONTWAIT) == (ssize_t)sizeof bytes) {
        guard->heard = guard->now;
        if (bytes[0] == HC_RANK_HAS_TABLE) {
            guard->is_asked = true;
            hc_peers_join(&guard->peers, guard->now);
        } else if (bytes[0] == HC_RANK_TRUSTS) {
            guard->has_met = true;
            guard->is_trusted = bytes[1];
            hc_peers_shut(&guard->peers);
        } else if (bytes[0] == HC_RANK_CAN_RESUME) {
            guard->can_resume = true;
        } else if (bytes[0] == HC_RANK_HAS_DONE) {
            guard->has_done = true;
            guard->status = bytes[1];
            hc_peers_note_end(&guard->peers, guard->peers.rank, bytes[1], guard->now);
        }
    }
}

/* SIGTERM and SIGINT ask the job to end. They go on to the rank, which may want to save its work
   first. So do the others, but a rank that ends by them is lost. */
static void pass_signals_on(struct hc_guard *guard)
{
    struct signalfd_siginfo info;
    while (read(guard->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        int number = (int)info.ssi_signo;
        if (number == SIGCHLD)
            continue;
        if (number == SIGTERM || number == SIGINT) {
            (void)sigaddset(&guard->requests, number);
            guard->last_request = guard->now;
        }
        if (guard->is_alive)
            (void)kill(guard->process, number);
    }
}

static void help_to_join(struct hc_guard *guard)
{
    int joined = guard->is_asked ? hc_peers_joined(&guard->peers, guard->now) : 0;
    if (joined == 0)
        return;
    int r = joined < 0 ? hc_peers_unreached(&guard->peers) : -1;
    if (r >= 0) {
        (void)hc_fail(HC_DEVICE,
                      "rank %d cannot reach rank %d (%s) by TCP; the job goes on, but a rank that "
                      "is lost may go unnoticed",
                      guard->peers.rank, r, guard->peers.shared->table[r].host);
        guard_say_message();
    }
    guard->is_asked = false;
    answer_rank(guard, HC_GUARD_JOINED, joined > 0);
}

/* Guards on other hosts that are not linked cannot tell each other that a rank is lost. Where
   whoever has started the ranks does not end them, the others would wait for it in the library's
   start. */
static void look_for_a_start(struct hc_guard *guard)
{
    int64_t time = START * guard->peers.silence;
    if (guard->has_met || guard->now - guard->started < time)
        return;
    if (guard->peers.rank == 0) {
        (void)hc_fail(HC_DEVICE,
                      "%d ranks have not met within %d s: one of them may be gone; a start that "
                      "is slow needs a larger HALFCHECK_WATCH",
                      guard->peers.size, (int)(time / 1000));
        guard_say_message();
    }
    guard_end_job(guard, HC_GUARD_WRONG);
}

static void look_for_losses(struct hc_guard *guard)
{
    struct hc_peers *peers = &guard->peers;
    char how[64];
    (void)snprintf(how, sizeof how, "silent for %d s", (int)(peers->silence / 1000));
    if (guard->now - guard->heard > peers->silence && !guard->has_done) {
        guard_say_gone(guard, peers->rank, how);
        guard_end_job(guard, HC_GUARD_WRONG);
    }
    if (peers->is_over && is_to_speak(guard)) {
        guard_say_gone(guard, peers->first_lost, "nothing is heard of it");
        guard_end_job(guard, HC_GUARD_WRONG);
    }
    if (peers->is_over || neighbours_heard(guard->neighbours))
        guard_finish(guard, HC_GUARD_WRONG);
    look_for_a_start(guard);
    if (!guard->is_trusted)
        return;
    if (peers->wrong_since && guard->now - peers->wrong_since > GRACE && !guard->has_done)
        guard_end_job(guard, HC_GUARD_WRONG);
    int64_t wait = hc_peers_speaks(peers) ? SETTLE : SPEAK_ANYWAY;
    if (peers->lost_count && guard->now - peers->lost_since > wait) {
        guard_say_gone(guard, peers->first_lost, "nothing is heard of it");
        guard_end_job(guard, HC_GUARD_WRONG);
    }
}

/* Everybody has ended: this rank may leave the library, for which it has some time. */
static void look_for_the_end(struct hc_guard *guard)
{
    if (!guard->is_trusted || !guard->has_done || !hc_peers_all_ended(&guard->peers))
        return;
    if (!guard->all_done) {
        guard->all_done = guard->now;
        answer_rank(guard, HC_GUARD_ALL_DONE, 0);
    }
    if (guard->now - guard->all_done > FINISH)
        guard_finish(guard, guard->status);
}

static int open_signals(void)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaddset(&set, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

_Noreturn void hc_guard_run(struct hc_guard *guard)
{
    int count = 3 + hc_peers_polls(&guard->peers);
    struct pollfd *polls = calloc((size_t)count, sizeof *polls);
    allow_many_files();
    (void)sigemptyset(&guard->requests);
    guard->signals = open_signals();
    guard->neighbours = neighbours_open(guard->peers.rank);
    guard->started = guard->heard = guard->now = milliseconds();
    for (int ended = 0; polls;) {
        polls[0] = (struct pollfd){.fd = guard->signals, .events = POLLIN};
        polls[1] = (struct pollfd){.fd = guard->control, .events = POLLIN};
        polls[2] = (struct pollfd){.fd = guard->neighbours, .events = POLLIN};
        hc_peers_prepare(&guard->peers, polls + 3);
        if (poll(polls, (nfds_t)count, TICK) < 0 && errno != EINTR)
            break;
        int64_t before = guard->now;
        guard->now = milliseconds();
        if (guard->now - before > ABSENCE) {
            guard->heard = guard->now;
            hc_peers_forgive(&guard->peers, guard->now);
        }
        pass_signals_on(guard);
        listen_to_rank(guard);
        hc_peers_serve(&guard->peers, polls + 3, guard->now);
        if (waitpid(guard->process, &ended, WNOHANG) == guard->process) {
            guard->is_alive = false;
            pass_signals_on(guard); /* the signal that ended both may have come just now */
            listen_to_rank(guard);
            guard_conclude(guard, ended);
        }
        help_to_join(guard);
        look_for_losses(guard);
        look_for_the_end(guard);
    }
    (void)hc_fail(HC_NO_MEMORY, "rank %d: its guard cannot watch", guard->peers.rank);
    guard_say_message();
    guard_end_job(guard, HC_GUARD_WRONG);
}
