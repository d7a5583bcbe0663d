/* MAP_ANONYMOUS, which every Unix has, joined POSIX in 2024. */
#define _DEFAULT_SOURCE
#include "comm/watch/table.h"

#include <string.h>
#include <sys/mman.h>

bool hc_watch_share(struct hc_watch_shared *shared, int size)
{
    size_t table = (size_t)size * sizeof *shared->table;
    char *memory =
        mmap(NULL, table + (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    shared->size = size;
    shared->table = (struct hc_watch_entry *)memory;
    shared->ended = (_Atomic unsigned char *)(memory + table);
    return true;
}

/* How many of the ranks before this one are on its host. */
static int place_on_host(const struct hc_watch_entry *table, int rank)
{
    int before = 0;
    for (int r = 0; r < rank; r++)
        before += strcmp(table[r].host, table[rank].host) == 0;
    return before;
}

int hc_watch_speakers(const struct hc_watch_entry *table, int size, int *speakers)
{
    int count = 0;
    for (int place = 0; place < HC_WATCH_SPEAKERS; place++)
        for (int r = 0; r < size && count < HC_WATCH_SPEAKERS; r++)
            if (place_on_host(table, r) == place)
                speakers[count++] = r;
    return count;
}
