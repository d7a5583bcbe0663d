#include "define/kept.h"

#include <stdlib.h>

struct hc_kept **hc_kept_find(struct hc_kept_table *table, int64_t index)
{
    uint64_t hash = (uint64_t)index * UINT64_C(0x9e3779b97f4a7c15);
    struct hc_kept **at = &table->slot[(hash >> 20) & (uint64_t)(table->slots - 1)];
    while (*at && (*at)->index != index)
        at = &(*at)->next;
    return at;
}

bool hc_kept_grow(struct hc_kept_table *table)
{
    struct hc_kept_table larger = {.slots = table->slots ? 4 * table->slots : 256,
                                   .count = table->count};
    larger.slot = calloc((size_t)larger.slots, sizeof(struct hc_kept *));
    if (!larger.slot)
        return false;
    for (int64_t i = 0; i < table->slots; i++)
        for (struct hc_kept *k = table->slot[i], *next; k; k = next) {
            next = k->next;
            k->next = NULL;
            *hc_kept_find(&larger, k->index) = k;
        }
    free(table->slot);
    *table = larger;
    return true;
}

void hc_kept_forget(struct hc_kept_table *table)
{
    for (int64_t i = 0; i < table->slots; i++)
        for (struct hc_kept *k = table->slot[i], *next; k; k = next) {
            next = k->next;
            hc_enclosure_free(&k->value);
            free(k);
        }
    free(table->slot);
    *table = (struct hc_kept_table){0};
}
