/* The guards of the other ranks, as one guard sees them. Everybody is linked with a few speakers.
   The lowest speaker that is left says who is lost, so that one line is said, and not one by each
   rank. Times are in milliseconds. */
#ifndef HC_COMM_WATCH_PEERS_H
#define HC_COMM_WATCH_PEERS_H

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the guards of all ranks know of each other. */

enum { HC_WATCH_ADDRESSES = 6, HC_WATCH_SPEAKERS = 8, HC_WATCH_TOKEN = 16 };

/* Where a guard can be reached. */
struct hc_watch_address {
    uint32_t family;         /* AF_INET or AF_INET6 */
    unsigned char bytes[16]; /* in the network's order */
};

struct hc_watch_entry {
    char host[64];
    int64_t process; /* of the rank, not of its guard */
    uint32_t port;
    uint32_t address_count;
    struct hc_watch_address addresses[HC_WATCH_ADDRESSES];
    unsigned char token[HC_WATCH_TOKEN]; /* rank 0's lets guards know each other */
};

/* Memory that a rank and its guard share. The rank fills in the table once; then the guard tells
   there who has ended. */
struct hc_watch_shared {
    int size;
    struct hc_watch_entry *table;
    _Atomic unsigned char *ended;
};

/* False if there is no memory. */
bool hc_watch_share(struct hc_watch_shared *shared, int size);

/* Writes the ranks that everybody is linked with, and returns how many they are. A whole host may
   be lost at once, so the first speakers are on different hosts, as far as there are several. */
int hc_watch_speakers(const struct hc_watch_entry *table, int size, int *speakers);

/* Where guards listen for each other. */

/* A socket that does not block and listens on a free port: on this host alone, or on all its
   addresses. Host, port and addresses are written to the entry. -1 if there is none. */
int hc_watch_listen(bool on_one_host, struct hc_watch_entry *entry);

/* A TCP connection between the guards of two ranks, and what they say over it. */

enum hc_notice_kind {
    HC_NOTICE_ALIVE = 'a',
    HC_NOTICE_ENDED = 'e', /* the rank has done its work; value: its exit status */
    HC_NOTICE_OVER = 'o',  /* the job is over, and somebody has said why */
    HC_NOTICE_ASKED = 'r'  /* the job is over, since this rank was asked to end */
};

struct hc_notice {
    unsigned char kind;
    unsigned char value;
    unsigned char unused[2];
    int32_t rank; /* that it is about */
};

struct hc_hello {
    unsigned char token[HC_WATCH_TOKEN];
    int32_t from;
    int32_t to;
};

struct hc_link {
    enum {
        HC_LINK_NONE,
        HC_LINK_CONNECTING,
        HC_LINK_GREETED, /* we have said hello */
        HC_LINK_COMING,  /* somebody has connected, who has not said hello */
        HC_LINK_UP,
        HC_LINK_DOWN
    } state;
    int fd;
    int rank;      /* at the other end; -1 while nobody knows */
    int address;   /* of that rank, which is tried */
    int64_t since; /* milliseconds: when it began to connect */
    int64_t heard; /* when something came last */
    bool has_left; /* the other end has said that the job is over: its end is no loss */
    size_t filled;
    unsigned char buffer[sizeof(struct hc_hello)];
};

void hc_link_close(struct hc_link *link);

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

    bool is_over;        /* another guard has said why, or that it was asked to end: */
    bool is_unexplained; /* then of a loss nobody has spoken */
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

/* The guard of a rank: the process that mpirun or Slurm started. The rank itself is its child. So
   the rank may be killed or stopped, and there is still somebody who says so, who ends the job with
   the right exit status, and who is not held up by the rank's own troubles. */

/* What a rank tells its guard, in two bytes: what, and a value; and what it hears from it. */
enum {
    HC_RANK_LIVES = 'h',
    HC_RANK_HAS_TABLE = 't',  /* the shared table is complete; the answer is HC_GUARD_JOINED */
    HC_RANK_TRUSTS = 'm',     /* value 1: all guards are linked, from now on they count */
    HC_RANK_CAN_RESUME = 'c', /* a checkpoint has been written */
    HC_RANK_HAS_DONE = 'b',   /* value: its exit status; the answer is HC_GUARD_ALL_DONE */
    HC_GUARD_JOINED = 'j',    /* value 1: this guard is linked with whom it should be */
    HC_GUARD_ALL_DONE = 'e'
};

struct hc_guard {
    pid_t process; /* the rank */
    bool is_alive;
    int control; /* the socket between the two */
    struct hc_peers peers;

    int signals;
    int64_t now;
    int64_t heard; /* when the rank told last that it lives */
    bool by_srun;
    int64_t started;
    bool has_met; /* the rank has met the others, and knows whether all guards are linked */
    int neighbours;
    bool is_asked; /* it waits to hear that all guards are linked */
    bool is_trusted;
    bool has_done; /* the rank */
    int status;    /* that it said it would end with */
    int64_t all_done;
    bool can_resume;      /* there is a checkpoint, from which the run can go on */
    sigset_t requests;    /* the signals that have asked the job to end */
    int64_t last_request; /* when the last one came; 0: none has */
};

/* Watches until the rank ends, or the job. Ends the process. */
_Noreturn void hc_guard_run(struct hc_guard *guard);

#endif
