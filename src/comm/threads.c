/* Ranks that are threads: what they share, and the comm that they have of it. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"

/* What ranks that are threads share: a mailbox from each to each, and one place where all meet. */

/* Letters stay with their sender, who waits until the receiver has copied them. */
struct hc_letter {
    enum { HC_LETTER_NONE, HC_LETTER_POSTED, HC_LETTER_BEING_READ } state;
    const void *data;
    size_t bytes;
};

/* What each rank brings to a meeting. All bring the same kind of call and the same size. */
struct hc_offer {
    const char *call;
    size_t bytes;
    const void *data;
};

struct thread_group {
    int size;
    pthread_mutex_t lock;
    pthread_cond_t changed[HC_MAX_THREAD_RANKS];                        /* by the rank that waits */
    struct hc_letter letters[HC_MAX_THREAD_RANKS][HC_MAX_THREAD_RANKS]; /* [from][to] */
    struct hc_offer offers[HC_MAX_THREAD_RANKS];
    int arrived;
    unsigned meetings;
    bool ended[HC_MAX_THREAD_RANKS]; /* its work has returned */
    int lost;                        /* the first rank that failed, or -1 */
    char why[400];                   /* its line */
};

static void thread_group_destroy(struct thread_group *group)
{
    for (int r = 0; r < group->size; r++)
        (void)pthread_cond_destroy(&group->changed[r]);
    (void)pthread_mutex_destroy(&group->lock);
}

static enum hc_status thread_group_init(struct thread_group *group, int size)
{
    *group = (struct thread_group){.size = size, .lost = -1};
    int done = 0;
    if (pthread_mutex_init(&group->lock, NULL) != 0)
        return hc_fail(HC_NO_MEMORY, "no memory for %d ranks", size);
    while (done < size && pthread_cond_init(&group->changed[done], NULL) == 0)
        done++;
    if (done == size)
        return HC_OK;
    group->size = done;
    thread_group_destroy(group);
    return hc_fail(HC_NO_MEMORY, "no memory for %d ranks", size);
}

/* Every function below is called with the lock held, unless it says otherwise. */

static void tell_all(struct thread_group *group)
{
    for (int r = 0; r < group->size; r++)
        (void)pthread_cond_signal(&group->changed[r]);
}

static void wait_for_change(struct thread_group *group, int rank)
{
    (void)pthread_cond_wait(&group->changed[rank], &group->lock);
}

static enum hc_status say_lost(const struct thread_group *group)
{
    return hc_fail(HC_DEVICE, "rank %d of %d has failed: %s", group->lost, group->size, group->why);
}

static enum hc_status say_ended(const struct thread_group *group, int rank)
{
    return hc_fail(HC_DEVICE, "rank %d of %d has ended while another waits for it", rank,
                   group->size);
}

/* Waits until the letter from that rank lies there, copies it, and says so. */
static enum hc_status receive(struct thread_group *group, int rank, int from, void *in,
                              size_t in_bytes)
{
    struct hc_letter *letter = &group->letters[from][rank];
    while (letter->state != HC_LETTER_POSTED) {
        if (group->lost >= 0)
            return say_lost(group);
        if (group->ended[from])
            return say_ended(group, from);
        wait_for_change(group, rank);
    }
    assert(letter->bytes == in_bytes);
    letter->state = HC_LETTER_BEING_READ;
    (void)pthread_mutex_unlock(&group->lock);
    if (in_bytes)
        memcpy(in, letter->data, in_bytes);
    (void)pthread_mutex_lock(&group->lock);
    letter->state = HC_LETTER_NONE;
    (void)pthread_cond_signal(&group->changed[from]);
    return HC_OK;
}

/* Waits until the letter has been read. One that is being read is waited for whatever happens,
   because its memory is the caller's. */
static enum hc_status wait_until_read(struct thread_group *group, int rank, int to)
{
    struct hc_letter *letter = &group->letters[rank][to];
    while (letter->state != HC_LETTER_NONE) {
        bool is_read = letter->state == HC_LETTER_BEING_READ;
        if (!is_read && (group->lost >= 0 || group->ended[to])) {
            letter->state = HC_LETTER_NONE;
            return group->lost >= 0 ? say_lost(group) : say_ended(group, to);
        }
        wait_for_change(group, rank);
    }
    return HC_OK;
}

/* HC_DEVICE with a line if another rank has failed, or has ended without its side of the call. */
static enum hc_status thread_exchange(struct thread_group *group, int rank, int to,
                                      struct hc_letter out, int from, void *in, size_t in_bytes)
{
    enum hc_status status = HC_OK;
    enum hc_status sent = HC_OK;
    (void)pthread_mutex_lock(&group->lock);
    if (to >= 0) {
        assert(group->letters[rank][to].state == HC_LETTER_NONE);
        out.state = HC_LETTER_POSTED;
        group->letters[rank][to] = out;
        (void)pthread_cond_signal(&group->changed[to]);
    }
    if (from >= 0)
        status = receive(group, rank, from, in, in_bytes);
    if (to >= 0)
        sent = wait_until_read(group, rank, to);
    (void)pthread_mutex_unlock(&group->lock);
    return status == HC_OK ? sent : status;
}

/* Whether somebody will never come. A rank that has ended has left no offer. */
static enum hc_status missing(const struct thread_group *group)
{
    if (group->lost >= 0)
        return say_lost(group);
    for (int r = 0; r < group->size; r++)
        if (group->ended[r])
            return say_ended(group, r);
    return HC_OK;
}

static void arrive(struct thread_group *group)
{
    if (++group->arrived < group->size)
        return;
    group->arrived = 0;
    group->meetings++;
    tell_all(group);
}

/* Waits for all ranks, each of which leaves its offer. Between `meet` and `part` everybody may read
   what the others offer; nobody leaves before all have read. */
static enum hc_status thread_meet(struct thread_group *group, int rank, struct hc_offer offer)
{
    enum hc_status status = HC_OK;
    (void)pthread_mutex_lock(&group->lock);
    unsigned before = group->meetings;
    group->offers[rank] = offer;
    arrive(group);
    while (group->meetings == before && (status = missing(group)) == HC_OK)
        wait_for_change(group, rank);
    if (group->meetings == before)
        group->arrived--;
    else
        status = HC_OK;
    (void)pthread_mutex_unlock(&group->lock);
    for (int r = 0; r < group->size && status == HC_OK; r++) {
        assert(strcmp(group->offers[r].call, offer.call) == 0);
        assert(group->offers[r].bytes == offer.bytes);
    }
    return status;
}

/* Whoever met also parts, so this waits for nobody who might fail first. */
static void thread_part(struct thread_group *group, int rank)
{
    (void)pthread_mutex_lock(&group->lock);
    unsigned before = group->meetings;
    arrive(group);
    while (group->meetings == before)
        wait_for_change(group, rank);
    (void)pthread_mutex_unlock(&group->lock);
}

/* From now on the calls of the others fail; why: that rank's line. */
static void thread_fail(struct thread_group *group, int rank, const char *why)
{
    (void)pthread_mutex_lock(&group->lock);
    if (group->lost < 0) {
        group->lost = rank;
        (void)snprintf(group->why, sizeof group->why, "%.399s", why);
    }
    tell_all(group);
    (void)pthread_mutex_unlock(&group->lock);
}

/* The rank makes no call any more. */
static void thread_end(struct thread_group *group, int rank)
{
    (void)pthread_mutex_lock(&group->lock);
    group->ended[rank] = true;
    tell_all(group);
    (void)pthread_mutex_unlock(&group->lock);
}

/* Ranks that are threads of one process. */

/* A rank's own part. */
struct rank {
    struct hc_comm comm;
    struct thread_group *group;
    hc_comm_work *work;
    void *context;
    pthread_t thread;
    enum hc_status status;
    bool by_another; /* a call of it has failed because another rank has */
    bool aborted;
    char line[512];
};

static struct rank *rank_of(struct hc_comm *comm)
{
    return comm->self;
}

/* Once the job has failed, or this rank has aborted it, every call fails. */
static enum hc_status note_status(struct rank *rank, enum hc_status status)
{
    if (status != HC_OK && !rank->aborted)
        rank->by_another = true;
    return status;
}

static enum hc_status send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                   int from, void *in, size_t in_bytes)
{
    struct rank *rank = rank_of(comm);
    struct hc_letter letter = {HC_LETTER_NONE, out, out_bytes};
    assert((to == comm->rank) == (from == comm->rank));
    if (to == comm->rank) {
        assert(out_bytes == in_bytes);
        if (in_bytes)
            memmove(in, out, in_bytes);
        return HC_OK;
    }
    return note_status(rank,
                       thread_exchange(rank->group, comm->rank, to, letter, from, in, in_bytes));
}

static enum hc_status all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"all_gather", bytes, mine};
    enum hc_status status = note_status(rank, thread_meet(rank->group, comm->rank, offer));
    if (status != HC_OK)
        return status;
    for (int r = 0; r < comm->size && bytes; r++) {
        char *place = (char *)all + (size_t)r * bytes;
        if (place != rank->group->offers[r].data)
            memmove(place, rank->group->offers[r].data, bytes);
    }
    thread_part(rank->group, comm->rank);
    return HC_OK;
}

static enum hc_status broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"broadcast", bytes, data};
    enum hc_status status = note_status(rank, thread_meet(rank->group, comm->rank, offer));
    if (status != HC_OK)
        return status;
    if (comm->rank != root && bytes)
        memcpy(data, rank->group->offers[root].data, bytes);
    thread_part(rank->group, comm->rank);
    return HC_OK;
}

static enum hc_status barrier(struct hc_comm *comm)
{
    struct rank *rank = rank_of(comm);
    const struct hc_offer offer = {"barrier", 0, NULL};
    enum hc_status status = note_status(rank, thread_meet(rank->group, comm->rank, offer));
    if (status == HC_OK)
        thread_part(rank->group, comm->rank);
    return status;
}

static void abort_all(struct hc_comm *comm, int exit_status)
{
    struct rank *rank = rank_of(comm);
    (void)exit_status; /* it is the process's, and that goes on */
    rank->aborted = true;
    thread_fail(rank->group, comm->rank, "it has ended the job");
}

static void close_it(struct hc_comm *comm)
{
    (void)comm;
}

static const struct hc_comm_kind kind = {
    .abi = HC_COMM_ABI,
    .name = "threads",
    .title = "threads of one process",
    .close = close_it,
    .send_receive = send_receive,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .abort = abort_all,
};

static void *run_rank(void *context)
{
    struct rank *rank = context;
    rank->status = rank->work(&rank->comm, rank->context);
    if (rank->status == HC_OK && rank->aborted)
        rank->status = hc_fail(HC_DEVICE, "has ended the job");
    if (rank->status != HC_OK) {
        (void)snprintf(rank->line, sizeof rank->line, "%s", hc_message());
        thread_fail(rank->group, rank->comm.rank, rank->line);
    }
    thread_end(rank->group, rank->comm.rank);
    return NULL;
}

/* Rank 0 is the caller's own thread. A rank that gets no thread fails, so that none waits for
   it. */
static void run_all(struct rank *ranks, int size)
{
    int started = 1;
    while (started < size &&
           pthread_create(&ranks[started].thread, NULL, run_rank, &ranks[started]) == 0)
        started++;
    for (int r = started; r < size; r++) {
        ranks[r].status = HC_NO_MEMORY;
        (void)snprintf(ranks[r].line, sizeof ranks[r].line, "no memory for its thread");
        thread_fail(ranks[r].group, r, ranks[r].line);
    }
    (void)run_rank(&ranks[0]);
    for (int r = 1; r < started; r++)
        (void)pthread_join(ranks[r].thread, NULL);
}

/* The lowest rank that failed by itself; if there is none, the lowest that failed. */
static const struct rank *culprit(const struct rank *ranks, int size)
{
    const struct rank *any = NULL;
    for (int r = size - 1; r >= 0; r--)
        if (ranks[r].status != HC_OK && (!any || any->by_another || !ranks[r].by_another))
            any = &ranks[r];
    return any;
}

/* Runs ranks whose memory is there, and says what came of it. */
static enum hc_status run_ranks(struct rank *ranks, struct thread_group *group, int size)
{
    enum hc_status status = thread_group_init(group, size);
    if (status != HC_OK)
        return status;
    for (int r = 0; r < size; r++) {
        ranks[r].group = group;
        ranks[r].comm = (struct hc_comm){&kind, r, size, &ranks[r]};
    }
    run_all(ranks, size);
    thread_group_destroy(group);
    const struct rank *failed = culprit(ranks, size);
    if (failed && size > 1)
        return hc_fail(failed->status, "rank %d: %s", failed->comm.rank, failed->line);
    return failed ? failed->status : HC_OK;
}

enum hc_status hc_comm_threads(int size, hc_comm_work *work, void *context)
{
    assert(size >= 1 && size <= HC_MAX_THREAD_RANKS);
    struct thread_group *group = malloc(sizeof *group);
    struct rank *ranks = calloc((size_t)size, sizeof *ranks);
    enum hc_status status = HC_NO_MEMORY;
    for (int r = 0; ranks && r < size; r++) {
        ranks[r].work = work;
        ranks[r].context = context;
    }
    if (group && ranks)
        status = run_ranks(ranks, group, size);
    else
        (void)hc_fail(status, "no memory for %d ranks", size);
    free(ranks);
    free(group);
    return status;
}
