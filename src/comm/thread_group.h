/* What ranks that are threads share: a mailbox from each to each, and one place where all meet. */
#ifndef HC_COMM_THREAD_GROUP_H
#define HC_COMM_THREAD_GROUP_H

#include <pthread.h>
#include <stdbool.h>

#include "comm/comm.h"

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

struct hc_thread_group {
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

enum hc_status hc_thread_group_init(struct hc_thread_group *group, int size);
void hc_thread_group_destroy(struct hc_thread_group *group);

/* HC_DEVICE with a line if another rank has failed, or has ended without its side of the call. */
enum hc_status hc_thread_exchange(struct hc_thread_group *group, int rank, int to,
                                  struct hc_letter out, int from, void *in, size_t in_bytes);

/* Waits for all ranks, each of which leaves its offer. Between `meet` and `part` everybody may read
   what the others offer; nobody leaves before all have read. */
enum hc_status hc_thread_meet(struct hc_thread_group *group, int rank, struct hc_offer offer);
void hc_thread_part(struct hc_thread_group *group, int rank);

/* From now on the calls of the others fail; why: that rank's line. */
void hc_thread_fail(struct hc_thread_group *group, int rank, const char *why);

/* The rank makes no call any more. */
void hc_thread_end(struct hc_thread_group *group, int rank);

#endif
