/* What a launch does, access by access. */
#include <string.h>

#include "kernels/cuda/shadow/fault.h"
#include "kernels/cuda/shadow/inner.h"

/* Of the kernels, and of the stand-ins for libraries. */
static struct hc_shadow_count counts[HC_DEVICE_KERNEL_COUNT + 1];

static const char *const names[] = {
#define HC_DEVICE_KERNEL(name) #name,
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

const struct hc_shadow_count *hc_shadow_counts(void)
{
    return counts;
}

void hc_shadow_counts_reset(void)
{
    memset(counts, 0, sizeof counts);
}

/* Linked into the program's read-only part, up to where its variables begin. */
extern const char __executable_start[];
extern const char data_start[];

static bool is_within(uintptr_t at, size_t bytes, const void *from, size_t size)
{
    return at >= (uintptr_t)from && at - (uintptr_t)from <= size &&
           bytes <= size - (at - (uintptr_t)from);
}

/* Counts bytes of the device's memory that this launch reads or writes for the first time. */
static void count(struct hc_shadow *s, const struct hc_cell *cell, enum hc_access kind)
{
    bool fresh = cell->block < s->now.first_block;
    s->count->read += (kind & (HC_ACCESS_READ | HC_ACCESS_ATOMIC)) &&
                      (fresh || !(cell->kinds & (HC_ACCESS_READ | HC_ACCESS_ATOMIC)));
    s->count->written += (kind & (HC_ACCESS_WRITE | HC_ACCESS_ATOMIC)) &&
                         (fresh || !(cell->kinds & (HC_ACCESS_WRITE | HC_ACCESS_ATOMIC)));
}

static const char *verb(unsigned kinds)
{
    return kinds & HC_ACCESS_WRITE ? "written" : kinds & HC_ACCESS_ATOMIC ? "changed" : "read";
}

static void look_at_bytes(struct hc_shadow *s, struct hc_shadowed *m, uintptr_t at, size_t bytes,
                          enum hc_access kind, const void *from)
{
    struct hc_visit visit = s->now;
    visit.kind = kind;
    visit.thread = (uint16_t)(hc_running->current + 1);
    if (m == &s->shared) { /* another block has other shared memory */
        visit.first_block = visit.block;
        visit.handed_over = NULL;
    } else {
        visit.taken_over = hc_order_taken(s, at);
        if (kind == HC_ACCESS_ATOMIC)
            hc_order_atomic(s, at);
        else
            hc_order_access(s, kind == HC_ACCESS_WRITE);
    }
    for (size_t i = at - m->start; i < at - m->start + bytes; i++) {
        struct hc_cell *cell = &m->cells[i];
        if (m != &s->shared)
            count(s, cell, kind);
        enum hc_clash clash = hc_cell_visit(cell, &visit);
        if (clash == HC_CLASH_OF_BLOCKS)
            hc_shadow_found(s, at, bytes, kind, from, "also %s by block %d, and no launch between",
                            verb(cell->kinds), (int)(cell->other_block - visit.first_block));
        if (clash == HC_CLASH_OF_THREADS)
            hc_shadow_found(s, at, bytes, kind, from,
                            "also %s by thread %d, and no barrier between", verb(cell->epoch_kinds),
                            cell->other_thread - 1);
        if (kind != HC_ACCESS_WRITE && !m->written[i])
            hc_shadow_found(s, at, bytes, kind, from, "which nobody has written");
        if (kind == HC_ACCESS_WRITE)
            m->written[i] = 1;
    }
}

void hc_shadow_look(struct hc_shadow *s, uintptr_t at, size_t bytes, enum hc_access kind,
                    const void *from)
{
    const struct hc_emulator *e = hc_running;
    bool writes = kind != HC_ACCESS_READ;
    if (is_within(at, bytes, e->fiber->stack, HC_FIBER_STACK))
        return;
    if (!writes && (is_within(at, bytes, e->args, s->grid->args_size) ||
                    is_within(at, bytes, __executable_start,
                              (size_t)((uintptr_t)data_start - (uintptr_t)__executable_start))))
        return;
    struct hc_fault_place *place = s->fault ? hc_fault_place(from, kind) : NULL;
    if (place && hc_fault_changes(s->fault, place, &at, bytes))
        return;
    if (is_within(at, bytes, (const void *)s->shared.start, s->grid->shared)) {
        if (place)
            place->ends |= at + bytes == s->shared.start + s->grid->shared;
        look_at_bytes(s, &s->shared, at, bytes, kind, from);
        return;
    }
    const struct hc_area *area = hc_shadow_area(s, at, bytes, writes);
    if (area && place) {
        place->ends |= at + bytes == area->start + area->bytes;
        place->first |= kind == HC_ACCESS_WRITE && area > s->area && area <= s->area + s->outputs &&
                        !area->in->written[at - area->in->start];
    }
    if (area)
        look_at_bytes(s, area->in, at, bytes, kind, from);
    else if (hc_shadow_area(s, at, bytes, false))
        hc_shadow_found(s, at, bytes, kind, from, "an input");
    else
        hc_shadow_found(s, at, bytes, kind, from, "beside all that the call gives it");
}

static bool begin_launch(struct hc_watcher *watcher, const struct hc_grid *grid)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    int which = 0;
    if (s->has_finding)
        return false;
    while (which < HC_DEVICE_KERNEL_COUNT && strcmp(names[which], grid->name) != 0)
        which++;
    s->grid = grid;
    s->count = &counts[which];
    s->count->launches++;
    s->fault = hc_emulated_fault_of(grid->name);
    hc_fault_seen.follows |= s->fault && s->called && s->launches > 0;
    s->launches++;
    if (!s->fault || s->fault->kind != HC_NO_SEPARATION)
        s->now.first_block = s->now.block + 1;
    if (!hc_order_launch(s, grid->blocks))
        hc_shadow_found(s, 0, 0, HC_ACCESS_READ, NULL, "no memory for its shadow");
    return !s->has_finding;
}

static void begin_block(struct hc_watcher *watcher)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    s->now.block++;
    s->now.epoch = 0;
    s->shared.start = (uintptr_t)hc_running->shared.memory + HC_SHARED_GUARD;
    memset(s->shared.written, 0, s->grid->shared);
    hc_order_block(s);
}

static void pass_barrier(struct hc_watcher *watcher)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    s->now.epoch++;
    hc_order_barrier(s);
}

static void pass_fence(struct hc_watcher *watcher, const void *from)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    if (!s->fault || !hc_fault_changes(s->fault, hc_fault_place(from, HC_FENCE), NULL, 0))
        hc_order_fence(s);
}

static void look_at_atomic(struct hc_watcher *watcher, const void *at, const void *from)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    if (s->fault && s->fault->kind == HC_PLAIN_ATOMIC) {
        hc_shadow_look(s, (uintptr_t)at, sizeof(unsigned), HC_ACCESS_READ, from);
        hc_shadow_look(s, (uintptr_t)at, sizeof(unsigned), HC_ACCESS_WRITE, from);
        return;
    }
    hc_shadow_look(s, (uintptr_t)at, sizeof(unsigned), HC_ACCESS_ATOMIC, from);
}

static void look_at_vector(struct hc_watcher *watcher, const void *at, size_t bytes,
                           const void *from)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    hc_fault_seen.vectors |= s->fault != NULL;
    uintptr_t place = (uintptr_t)at + (s->fault && s->fault->kind == HC_OFF_VECTOR ? bytes / 4 : 0);
    if (place % bytes != 0)
        hc_shadow_found(s, place, bytes, HC_ACCESS_READ, from, "not aligned to its size");
}

/* A library's calls follow each other, too. */
static void look_at_library(struct hc_watcher *watcher, const void *at, size_t bytes, bool writes)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    struct hc_shadow_count *library = &counts[HC_DEVICE_KERNEL_COUNT];
    enum hc_access kind = writes ? HC_ACCESS_WRITE : HC_ACCESS_READ;
    const struct hc_area *area = hc_shadow_area(s, (uintptr_t)at, bytes, writes);
    library->launches += writes;
    library->read += writes ? 0 : (int64_t)bytes;
    library->written += writes ? (int64_t)bytes : 0;
    if (!area) {
        hc_shadow_found(s, (uintptr_t)at, bytes, kind, NULL, "beside all that the call gives it");
        return;
    }
    unsigned char *written = area->in->written + ((uintptr_t)at - area->in->start);
    const unsigned char *not_yet = writes ? NULL : memchr(written, 0, bytes);
    if (not_yet)
        hc_shadow_found(s, (uintptr_t)at + (size_t)(not_yet - written), 1, kind, NULL,
                        "which nobody has written");
    if (writes)
        memset(written, 1, bytes);
}

const struct hc_watcher hc_shadow_watches = {.close = hc_shadow_close,
                                             .allocated = hc_shadow_allocated,
                                             .released = hc_shadow_released,
                                             .uploaded = hc_shadow_uploaded,
                                             .finding = hc_shadow_finding,
                                             .launch = begin_launch,
                                             .block = begin_block,
                                             .barrier = pass_barrier,
                                             .fence = pass_fence,
                                             .atomic = look_at_atomic,
                                             .vector = look_at_vector,
                                             .library = look_at_library};
