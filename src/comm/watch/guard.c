#include "comm/watch/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "comm/watch/guard_inner.h"
#include "comm/watch/neighbours.h"
#include "op/status.h"

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

static void answer(struct hc_guard *guard, unsigned char what, unsigned char value)
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
        hc_guard_say_message();
    }
    guard->is_asked = false;
    answer(guard, HC_GUARD_JOINED, joined > 0);
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
        hc_guard_say_message();
    }
    hc_guard_end_job(guard, HC_GUARD_WRONG);
}

static void look_for_losses(struct hc_guard *guard)
{
    struct hc_peers *peers = &guard->peers;
    char how[64];
    (void)snprintf(how, sizeof how, "silent for %d s", (int)(peers->silence / 1000));
    if (guard->now - guard->heard > peers->silence && !guard->has_done) {
        hc_guard_say_gone(guard, peers->rank, how);
        hc_guard_end_job(guard, HC_GUARD_WRONG);
    }
    if (peers->is_over || hc_neighbours_heard(guard->neighbours))
        hc_guard_finish(guard, HC_GUARD_WRONG);
    look_for_a_start(guard);
    if (!guard->is_trusted)
        return;
    if (peers->wrong_since && guard->now - peers->wrong_since > GRACE && !guard->has_done)
        hc_guard_end_job(guard, HC_GUARD_WRONG);
    int64_t wait = hc_peers_speaks(peers) ? SETTLE : SPEAK_ANYWAY;
    if (peers->lost_count && guard->now - peers->lost_since > wait) {
        hc_guard_say_gone(guard, peers->first_lost, "nothing is heard of it");
        hc_guard_end_job(guard, HC_GUARD_WRONG);
    }
}

/* Everybody has ended: this rank may leave the library, for which it has some time. */
static void look_for_the_end(struct hc_guard *guard)
{
    if (!guard->is_trusted || !guard->has_done || !hc_peers_all_ended(&guard->peers))
        return;
    if (!guard->all_done) {
        guard->all_done = guard->now;
        answer(guard, HC_GUARD_ALL_DONE, 0);
    }
    if (guard->now - guard->all_done > FINISH)
        hc_guard_finish(guard, guard->status);
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
    guard->neighbours = hc_neighbours_open(guard->peers.rank);
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
            hc_guard_conclude(guard, ended);
        }
        help_to_join(guard);
        look_for_losses(guard);
        look_for_the_end(guard);
    }
    (void)hc_fail(HC_NO_MEMORY, "rank %d: its guard cannot watch", guard->peers.rank);
    hc_guard_say_message();
    hc_guard_end_job(guard, HC_GUARD_WRONG);
}
