/* How a link between two guards comes up (peers_meet.c), as peers.c serves it. */
#ifndef HC_COMM_WATCH_PEERS_INNER_H
#define HC_COMM_WATCH_PEERS_INNER_H

#include "comm/watch/peers.h"

/* Lets in whoever has connected, who has not said who he is. */
void hc_peers_accept(struct hc_peers *peers, int64_t now);

/* Hears the hello of who has connected, and closes the link if he is none of the job's. */
void hc_peers_welcome(struct hc_peers *peers, struct hc_link *link, int64_t now);

/* The connection that this guard began is there, or has failed: says hello, or goes on. */
void hc_peers_greet(struct hc_peers *peers, struct hc_link *link, int64_t now);

/* Connects to the other side's next address. */
void hc_peers_try_next(struct hc_peers *peers, struct hc_link *link, int64_t now);

/* Both sides know each other. */
void hc_peers_set_up(struct hc_peers *peers, struct hc_link *link, int64_t now);

#endif
