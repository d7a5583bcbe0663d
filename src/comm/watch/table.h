/* What the guards of all ranks know of each other. */
#ifndef HC_COMM_WATCH_TABLE_H
#define HC_COMM_WATCH_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
