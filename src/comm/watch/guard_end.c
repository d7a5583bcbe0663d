/* How a job ends: what is said of a rank that is lost, and with which status its guard exits. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "comm/watch/guard_inner.h"
#include "comm/watch/neighbours.h"
#include "op/status.h"

/* Milliseconds: what all would say at the start, the first says, and ends all. */
enum { AFTER_FIRST = 1000 };

/* Milliseconds from a request to end in which a rank may end as it likes. */
enum { REQUEST_HOLDS = 2000 };

static void rest(long time)
{
    const struct timespec moment = {time / 1000, time % 1000 * 1000000};
    (void)nanosleep(&moment, NULL);
}

/* The line that hc_fail has kept has no control characters, whatever another host's name is. */
void hc_guard_say_message(void)
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

void hc_guard_say_gone(const struct hc_guard *guard, int rank, const char *how)
{
    const struct hc_watch_entry *entry = &guard->peers.shared->table[rank];
    char others[48] = "";
    if (guard->peers.lost_count > 1)
        (void)snprintf(others, sizeof others, ", with %d more", guard->peers.lost_count - 1);
    (void)hc_fail(HC_DEVICE, "rank %d of %d (%s, process %lld) is gone (%s)%s%s", rank,
                  guard->peers.size, entry->host,
                  rank == guard->peers.rank ? (long long)guard->process : (long long)entry->process,
                  how, others, advice(guard));
    hc_guard_say_message();
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

_Noreturn void hc_guard_finish(struct hc_guard *guard, int status)
{
    end_worker(guard);
    hc_peers_leave(&guard->peers);
    _exit(status);
}

_Noreturn void hc_guard_end_job(struct hc_guard *guard, int status)
{
    hc_peers_tell(&guard->peers, HC_NOTICE_OVER, guard->peers.rank, status);
    if (!guard->is_trusted)
        hc_neighbours_tell(guard->neighbours, guard->peers.size);
    hc_guard_finish(guard, status);
}

/* Whoever started this process expects that it ends as the rank did. */
static _Noreturn void end_by_signal(struct hc_guard *guard, int number)
{
    sigset_t all;
    hc_peers_tell(&guard->peers, HC_NOTICE_OVER, guard->peers.rank, HC_GUARD_WRONG);
    end_worker(guard);
    hc_peers_leave(&guard->peers);
    (void)signal(number, SIG_DFL);
    (void)sigfillset(&all);
    (void)raise(number);
    (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
    _exit(128 + number);
}

/* Whether a rank is lost, of which nobody has spoken yet, and this guard is the one to speak. One
   that ends on request says that the job is over before it is lost. */
static bool is_to_speak(const struct hc_guard *guard)
{
    return guard->is_trusted && !guard->peers.is_over && guard->peers.lost_count > 0 &&
           hc_peers_speaks(&guard->peers);
}

/* Whether the rank has ended as it was asked to. One that lives on after a request, to save its
   work, may still be lost: then nobody has asked for that. */
static bool is_as_requested(const struct hc_guard *guard, int ended)
{
    if (WIFSIGNALED(ended))
        return sigismember(&guard->requests, WTERMSIG(ended)) == 1;
    return guard->last_request && guard->now - guard->last_request < REQUEST_HOLDS;
}

/* What the rank's own end says of the job. A rank that ends with status 2 has said why. */
_Noreturn void hc_guard_conclude(struct hc_guard *guard, int ended)
{
    char how[64];
    bool is_requested = is_as_requested(guard, ended);
    if (guard->has_done)
        hc_guard_finish(guard, WIFEXITED(ended) ? WEXITSTATUS(ended) : guard->status);
    /* Whoever has started the ranks may be the first to see a loss, and end the others. */
    if (guard->last_request && is_to_speak(guard))
        hc_guard_say_gone(guard, guard->peers.first_lost, "nothing is heard of it");
    if (WIFSIGNALED(ended) && is_requested)
        end_by_signal(guard, WTERMSIG(ended));
    if (WIFSIGNALED(ended)) {
        (void)snprintf(how, sizeof how, "signal %d", WTERMSIG(ended));
        hc_guard_say_gone(guard, guard->peers.rank, how);
    } else if (WEXITSTATUS(ended) != HC_GUARD_WRONG && !is_requested) {
        if (!guard->has_met && guard->peers.rank > 0)
            rest(AFTER_FIRST);
        (void)snprintf(how, sizeof how, "it has ended with status %d", WEXITSTATUS(ended));
        hc_guard_say_gone(guard, guard->peers.rank, how);
    }
    hc_guard_end_job(guard, HC_GUARD_WRONG);
}
