/* The memory that has a shadow, and what of it a call may touch. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/shadow/inner.h"
#include "op/descriptor.h"

static void forget(struct hc_shadowed *m)
{
    free(m->cells);
    free(m->written);
}

static bool cover(struct hc_shadowed *m, const void *memory, size_t bytes)
{
    *m = (struct hc_shadowed){.start = (uintptr_t)memory,
                              .bytes = bytes,
                              .cells = calloc(bytes + 1, sizeof(struct hc_cell)),
                              .written = calloc(bytes + 1, 1)};
    if (m->cells && m->written)
        return true;
    forget(m);
    return false;
}

struct hc_watcher *hc_shadow_new(void)
{
    struct hc_shadow *s = calloc(1, sizeof *s);
    if (!s || !cover(&s->shared, NULL, HC_MAX_SHARED)) {
        free(s);
        return NULL;
    }
    s->watcher = hc_shadow_watches;
    s->areas = 1;
    return &s->watcher;
}

struct hc_shadow *hc_shadow_of(struct hc_watcher *watcher)
{
    return (struct hc_shadow *)watcher; /* its first member */
}

bool hc_shadow_allocated(struct hc_watcher *watcher, const void *memory, size_t bytes)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    struct hc_shadowed *m = malloc(sizeof *m);
    if (!m || !cover(m, memory, bytes)) {
        free(m);
        return false;
    }
    m->next = s->allocations;
    s->allocations = m;
    return true;
}

void hc_shadow_released(struct hc_watcher *watcher, const void *memory)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    struct hc_shadowed **link = &s->allocations;
    while (*link && (*link)->start != (uintptr_t)memory)
        link = &(*link)->next;
    struct hc_shadowed *m = *link;
    if (!m)
        return;
    *link = m->next;
    s->found = (struct hc_area){0};
    forget(m);
    free(m);
}

void hc_shadow_close(struct hc_watcher *watcher)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    while (s->allocations)
        hc_shadow_released(watcher, (const void *)s->allocations->start);
    forget(&s->shared);
    free(s->order.handed_over);
    free(s);
}

static struct hc_shadowed *allocation_of(struct hc_shadow *s, uintptr_t at, size_t bytes)
{
    struct hc_shadowed *m = s->allocations;
    while (m && (at < m->start || at - m->start > m->bytes || bytes > m->bytes - (at - m->start)))
        m = m->next;
    return m;
}

void hc_shadow_uploaded(struct hc_watcher *watcher, const void *to, size_t bytes)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    struct hc_shadowed *m = allocation_of(s, (uintptr_t)to, bytes);
    if (m)
        memset(m->written + ((uintptr_t)to - m->start), 1, bytes);
}

void hc_shadow_lasting(struct hc_watcher *watcher, const char *name, const void *memory,
                       size_t bytes)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    hc_shadow_uploaded(watcher, memory, bytes);
    s->area[0] = (struct hc_area){name, (uintptr_t)memory, bytes, true,
                                  allocation_of(s, (uintptr_t)memory, bytes)};
}

/* Before the call an output's bytes and the scratch's are arbitrary. */
static void add_block(struct hc_shadow *s, const char *name, const void *data, size_t bytes,
                      bool writes)
{
    struct hc_area *a = &s->area[s->areas];
    if (!data || bytes == 0)
        return;
    *a = (struct hc_area){name, (uintptr_t)data, bytes, writes,
                          allocation_of(s, (uintptr_t)data, bytes)};
    if (!a->in) {
        hc_shadow_found(s, (uintptr_t)data, bytes, HC_ACCESS_READ, NULL, "lies in no memory of it");
        return;
    }
    s->areas++;
    if (writes)
        memset(a->in->written + (a->start - a->in->start), 0, bytes);
}

static bool is_input(const struct hc_call *call, const void *data)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (data && call->in[i].data == data)
            return true;
    return false;
}

void hc_shadow_begin(struct hc_watcher *watcher, const struct hc_call *call, size_t scratch_bytes)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    int inputs = hc_ops[call->op].inputs;
    s->areas = 1;
    s->called = true;
    s->launches = 0;
    for (int slot = inputs; slot < hc_slot_count(call->op); slot++) {
        const struct hc_tensor *t = hc_slot_tensor_const(call, slot);
        add_block(s, hc_slot(call->op, slot)->name, t->data, hc_tensor_bytes(t), true);
        if (is_input(call, t->data))
            hc_shadow_uploaded(watcher, t->data, hc_tensor_bytes(t));
    }
    s->outputs = s->areas - 1;
    add_block(s, "scratch", call->scratch, scratch_bytes, true);
    for (int slot = 0; slot < inputs; slot++) {
        const struct hc_tensor *t = hc_slot_tensor_const(call, slot);
        add_block(s, hc_slot(call->op, slot)->name, t->data, hc_tensor_bytes(t), false);
    }
}

/* What a failed call has written is not known. */
void hc_shadow_end(struct hc_watcher *watcher, bool failed)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    for (int i = 1; i <= s->outputs; i++) {
        const struct hc_area *a = &s->area[i];
        unsigned char *written = a->in->written + (a->start - a->in->start);
        const unsigned char *not_yet = memchr(written, 0, a->bytes);
        if (not_yet && !failed)
            hc_shadow_found(s, a->start + (size_t)(not_yet - written), 1, HC_ACCESS_WRITE, NULL,
                            "is not written");
        memset(written, 1, a->bytes);
    }
    for (size_t i = 0; i < s->area[0].bytes && !failed; i++)
        if (((const unsigned char *)s->area[0].start)[i])
            hc_shadow_found(s, s->area[0].start + i, 1, HC_ACCESS_WRITE, NULL, "is not 0 again");
    s->areas = 1;
    s->outputs = 0;
    s->called = false;
}

static bool holds(const struct hc_area *a, uintptr_t at, size_t bytes)
{
    return at >= a->start && at - a->start < a->bytes && bytes <= a->bytes - (at - a->start);
}

const struct hc_area *hc_shadow_area(struct hc_shadow *s, uintptr_t at, size_t bytes, bool writes)
{
    for (int i = 0; i < s->areas; i++)
        if (holds(&s->area[i], at, bytes) && (s->area[i].writes || !writes))
            return &s->area[i];
    if (s->called)
        return NULL;
    if (!holds(&s->found, at, bytes)) {
        struct hc_shadowed *m = allocation_of(s, at, bytes);
        if (!m)
            return NULL;
        s->found = (struct hc_area){"memory", m->start, m->bytes, true, m};
    }
    return &s->found;
}
