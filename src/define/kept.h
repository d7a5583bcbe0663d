/* Elements of intermediate tensors that are kept once they are computed, by their place. */
#ifndef HC_DEFINE_KEPT_H
#define HC_DEFINE_KEPT_H

#include "define/enclosure.h"

/* An element of an intermediate tensor that is kept. */
struct hc_kept {
    int64_t index;
    struct hc_enclosure value;
    struct hc_kept *next; /* with the same hash */
};

struct hc_kept_table {
    struct hc_kept **slot;
    int64_t slots; /* a power of two, or 0 */
    int64_t count;
};

/* Where the element with this index is, or where it would stand: NULL there. The table has slots.
 */
struct hc_kept **hc_kept_find(struct hc_kept_table *table, int64_t index);

/* Makes room for more. False if there is no memory. */
bool hc_kept_grow(struct hc_kept_table *table);

void hc_kept_forget(struct hc_kept_table *table);

#endif
