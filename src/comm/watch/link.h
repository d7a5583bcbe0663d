/* A TCP connection between the guards of two ranks, and what they say over it. */
#ifndef HC_COMM_WATCH_LINK_H
#define HC_COMM_WATCH_LINK_H

#include <poll.h>

#include "comm/watch/table.h"

enum hc_notice_kind {
    HC_NOTICE_ALIVE = 'a',
    HC_NOTICE_ENDED = 'e', /* the rank has done its work; value: its exit status */
    HC_NOTICE_OVER = 'o'   /* the job is over, and somebody has said why */
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
    size_t filled;
    unsigned char buffer[sizeof(struct hc_hello)];
};

void hc_link_close(struct hc_link *link);

/* Tries the addresses of the rank from link->address on. The link is DOWN when there is no more. */
void hc_link_connect(struct hc_link *link, const struct hc_watch_entry *entry, int64_t now);

/* What poll is to wait for. */
short hc_link_events(const struct hc_link *link);

/* Reads `size` bytes into link->buffer. 1 if they are all there, 0 if not yet, -1 at the end of the
   connection. */
int hc_link_read(struct hc_link *link, size_t size);

/* What does not fit into the socket's memory is lost, which happens where nobody has read for
   hours. */
void hc_link_send(const struct hc_link *link, const void *data, size_t size);

#endif
