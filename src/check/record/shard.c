#include "check/record/shard.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct unit {
    double seconds;
    int index;
};

static int longest_first(const void *a, const void *b)
{
    const struct unit *x = a;
    const struct unit *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return x->index - y->index;
}

struct load {
    double seconds;
    int units; /* so that units of no seconds are spread, too */
    int shard;
};

static bool has_less(const struct load *a, const struct load *b)
{
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds;
    return a->units != b->units ? a->units < b->units : a->shard < b->shard;
}

/* heap[0] has got more to do: moves it down, so that the one with least to do is first again. */
static void sift(struct load *heap, int count)
{
    for (int at = 0, least = 0;; at = least) {
        for (int child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (has_less(&heap[child], &heap[least]))
                least = child;
        if (least == at)
            return;
        struct load moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
    }
}

enum hc_status hc_shard_plan(const double *seconds, int count, int of, int *shard)
{
    assert(of >= 1);
    struct unit *units = malloc(((size_t)count + 1) * sizeof *units);
    struct load *heap = malloc((size_t)of * sizeof *heap);
    bool room = units && heap;
    if (!room)
        goto clean_up;
    for (int i = 0; i < count; i++)
        units[i] = (struct unit){seconds[i] > 0 ? seconds[i] : 0, i};
    qsort(units, (size_t)count, sizeof *units, longest_first);
    for (int s = 0; s < of; s++)
        heap[s] = (struct load){.shard = s + 1};
    for (int i = 0; i < count; i++) {
        shard[units[i].index] = heap[0].shard;
        heap[0].seconds += units[i].seconds;
        heap[0].units++;
        sift(heap, of);
    }
clean_up:
    free(units);
    free(heap);
    return room ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory to part %d cases", count);
}
