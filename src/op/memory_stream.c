#define _GNU_SOURCE /* fopencookie */
#include "op/memory_stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static atomic_bool any_lost;

struct memory {
    char **text;
    size_t *length;
    size_t room;
    bool lost;
};

static bool grow(struct memory *m, size_t wanted)
{
    size_t room = 2 * m->room > wanted ? 2 * m->room : wanted;
    char *text = m->lost ? NULL : realloc(*m->text, room);
    m->lost = !text;
    if (!text) {
        hc_memory_lost_one();
        errno = ENOMEM;
        return false;
    }
    *m->text = text;
    m->room = room;
    return true;
}

static ssize_t append(void *cookie, const char *bytes, size_t count)
{
    struct memory *m = cookie;
    if (*m->length + count + 1 > m->room && !grow(m, *m->length + count + 1))
        return 0;
    memcpy(*m->text + *m->length, bytes, count);
    *m->length += count;
    (*m->text)[*m->length] = '\0';
    return (ssize_t)count;
}

static int end(void *cookie)
{
    struct memory *m = cookie;
    bool lost = m->lost;
    if (lost) {
        free(*m->text);
        *m->text = NULL;
        *m->length = 0;
    }
    free(m);
    return lost ? -1 : 0;
}

FILE *hc_memory_stream(char **text, size_t *length)
{
    const cookie_io_functions_t functions = {.write = append, .close = end};
    struct memory *m = malloc(sizeof *m);
    *text = calloc(1, 1);
    *length = 0;
    FILE *stream = m && *text ? fopencookie(m, "w", functions) : NULL;
    if (stream) {
        *m = (struct memory){.text = text, .length = length, .room = 1};
        return stream;
    }
    free(m);
    free(*text);
    *text = NULL;
    hc_memory_lost_one();
    return NULL;
}

bool hc_memory_lost(void)
{
    return any_lost;
}

void hc_memory_lost_one(void)
{
    any_lost = true;
}
