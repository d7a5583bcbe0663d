#include "kernels/cuda/standin/blocks.h"

#include <pthread.h>
#include <stdlib.h>

struct block {
    struct block *next;
    const char *at;
    size_t bytes;
    int device;
};

struct hc_standin_library hc_standin_library;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static _Thread_local int current;

int hc_standin_device(void)
{
    return current;
}

void hc_standin_take_device(int device)
{
    current = device;
}

bool hc_standin_block_add(const void *at, size_t bytes)
{
    struct block *block = malloc(sizeof *block);
    if (!block)
        return false;
    (void)pthread_mutex_lock(&lock);
    *block = (struct block){blocks, at, bytes, current};
    blocks = block;
    (void)pthread_mutex_unlock(&lock);
    return true;
}

void hc_standin_block_remove(const void *at)
{
    (void)pthread_mutex_lock(&lock);
    struct block **link = &blocks;
    while (*link && (*link)->at != at)
        link = &(*link)->next;
    struct block *gone = *link;
    if (gone)
        *link = gone->next;
    (void)pthread_mutex_unlock(&lock);
    free(gone);
}

const void *hc_standin_block_of(const void *at, size_t bytes, int device)
{
    const char *first = at;
    const void *block = NULL;
    (void)pthread_mutex_lock(&lock);
    for (const struct block *b = blocks; b && !block; b = b->next)
        if (b->device == device && first >= b->at && bytes <= b->bytes &&
            (size_t)(first - b->at) <= b->bytes - bytes)
            block = b->at;
    (void)pthread_mutex_unlock(&lock);
    return block;
}
