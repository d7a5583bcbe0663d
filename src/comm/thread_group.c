#include "comm/thread_group.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum hc_status hc_thread_group_init(struct hc_thread_group *group, int size)
{
    *group = (struct hc_thread_group){.size = size, .lost = -1};
    int done = 0;
    if (pthread_mutex_init(&group->lock, NULL) != 0)
        return hc_fail(HC_NO_MEMORY, "no memory for %d ranks", size);
    while (done < size && pthread_cond_init(&group->changed[done], NULL) == 0)
        done++;
    if (done == size)
        return HC_OK;
    group->size = done;
    hc_thread_group_destroy(group);
    return hc_fail(HC_NO_MEMORY, "no memory for %d ranks", size);
}

void hc_thread_group_destroy(struct hc_thread_group *group)
{
    for (int r = 0; r < group->size; r++)
        (void)pthread_cond_destroy(&group->changed[r]);
    (void)pthread_mutex_destroy(&group->lock);
}

/* Every function below is called with the lock held, unless it says otherwise. */

static void tell_all(struct hc_thread_group *group)
{
    for (int r = 0; r < group->size; r++)
        (void)pthread_cond_signal(&group->changed[r]);
}

static void wait_for_change(struct hc_thread_group *group, int rank)
{
    (void)pthread_cond_wait(&group->changed[rank], &group->lock);
}

static enum hc_status say_lost(const struct hc_thread_group *group)
{
    return hc_fail(HC_DEVICE, "rank %d of %d has failed: %s", group->lost, group->size, group->why);
}

static enum hc_status say_ended(const struct hc_thread_group *group, int rank)
{
    return hc_fail(HC_DEVICE, "rank %d of %d has ended while another waits for it", rank,
                   group->size);
}

/* Waits until the letter from that rank lies there, copies it, and says so. */
static enum hc_status receive(struct hc_thread_group *group, int rank, int from, void *in,
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
static enum hc_status wait_until_read(struct hc_thread_group *group, int rank, int to)
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

enum hc_status hc_thread_exchange(struct hc_thread_group *group, int rank, int to,
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
static enum hc_status missing(const struct hc_thread_group *group)
{
    if (group->lost >= 0)
        return say_lost(group);
    for (int r = 0; r < group->size; r++)
        if (group->ended[r])
            return say_ended(group, r);
    return HC_OK;
}

static void arrive(struct hc_thread_group *group)
{
    if (++group->arrived < group->size)
        return;
    group->arrived = 0;
    group->meetings++;
    tell_all(group);
}

enum hc_status hc_thread_meet(struct hc_thread_group *group, int rank, struct hc_offer offer)
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
void hc_thread_part(struct hc_thread_group *group, int rank)
{
    (void)pthread_mutex_lock(&group->lock);
    unsigned before = group->meetings;
    arrive(group);
    while (group->meetings == before)
        wait_for_change(group, rank);
    (void)pthread_mutex_unlock(&group->lock);
}

void hc_thread_fail(struct hc_thread_group *group, int rank, const char *why)
{
    (void)pthread_mutex_lock(&group->lock);
    if (group->lost < 0) {
        group->lost = rank;
        (void)snprintf(group->why, sizeof group->why, "%s", why);
    }
    tell_all(group);
    (void)pthread_mutex_unlock(&group->lock);
}

void hc_thread_end(struct hc_thread_group *group, int rank)
{
    (void)pthread_mutex_lock(&group->lock);
    group->ended[rank] = true;
    tell_all(group);
    (void)pthread_mutex_unlock(&group->lock);
}
