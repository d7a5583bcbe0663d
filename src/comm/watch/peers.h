/* The guards of the other ranks, as one guard sees them. Everybody is linked with a few speakers.
   The lowest speaker that is left says who is lost, so that one line is said, and not one by each
   rank. Times are in milliseconds. */
#ifndef HC_COMM_WATCH_PEERS_H
#define HC_COMM_WATCH_PEERS_H

#include "comm/watch/link.h"

struct hc_peers {
    int rank;
    int size;
    const struct hc_watch_shared *shared;
    int listener;    /* -1: none, and nobody is reached */
    int64_t silence; /* who says nothing for so long is lost */

    int speakers[HC_WATCH_SPEAKERS];
    int speaker_count;
    bool is_speaker;

    struct hc_link *links;
    int link_count; /* some of them not in use */
    int expected;   /* how many must come up */
    int up;
    int64_t joining; /* since when it connects; 0: not yet */

    unsigned char *lost; /* by rank */
    int first_lost;      /* -1: none */
    int lost_count;
    int64_t lost_since;

    bool is_over;        /* another guard has said why */
    int64_t wrong_since; /* a rank has ended with status 2, having said why; 0: none has */
    int64_t beat;        /* when it last told that it lives */
};

/* False if there is no memory. Nothing is connected before hc_peers_join. */
bool hc_peers_init(struct hc_peers *peers, const struct hc_watch_shared *shared, int rank,
                   int listener, int64_t silence);

/* The table is complete: begins to connect. */
void hc_peers_join(struct hc_peers *peers, int64_t now);

/* 1 if all links are up, 0 if not yet, -1 if some rank cannot be reached. */
int hc_peers_joined(struct hc_peers *peers, int64_t now);

/* Nobody else may connect. */
void hc_peers_shut(struct hc_peers *peers);

/* A rank that could not be reached in time, or -1. */
int hc_peers_unreached(const struct hc_peers *peers);

/* What poll is to wait for: the listener and the links. `polls` has hc_peers_polls places. */
int hc_peers_polls(const struct hc_peers *peers);
void hc_peers_prepare(const struct hc_peers *peers, struct pollfd *polls);
void hc_peers_serve(struct hc_peers *peers, const struct pollfd *polls, int64_t now);

/* This guard has not run for a while, so that it cannot blame others for their silence. */
void hc_peers_forgive(struct hc_peers *peers, int64_t now);

/* Whether this guard is the one to say who is lost. */
bool hc_peers_speaks(const struct hc_peers *peers);

void hc_peers_tell(struct hc_peers *peers, enum hc_notice_kind kind, int rank, int value);

/* This rank, or another, has ended. */
void hc_peers_note_end(struct hc_peers *peers, int rank, int value, int64_t now);
bool hc_peers_all_ended(const struct hc_peers *peers);

/* Closes the links so that everything that was told arrives. */
void hc_peers_leave(struct hc_peers *peers);

#endif
