/* Where guards listen for each other. */
#ifndef HC_COMM_WATCH_ADDRESS_H
#define HC_COMM_WATCH_ADDRESS_H

#include <stdbool.h>

#include "comm/watch/table.h"

/* A socket that does not block and listens on a free port: on this host alone, or on all its
   addresses. Host, port and addresses are written to the entry. -1 if there is none. */
int hc_watch_listen(bool on_one_host, struct hc_watch_entry *entry);

/* A socket that does not block and begins to connect to address i of the entry; -1 if it cannot. */
int hc_watch_connect_to(const struct hc_watch_entry *entry, int i);

#endif
