/* Inside the block: guard, scratch, guard, guard, tensor, guard, guard, tensor, guard, ... . A
   tensor that the call names twice (in place) lies there once. Everything is compared byte for byte
   with what was put there, save the bytes of outputs. */
#include "check/guarded.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/float_state.h"

enum {
    GUARD = 256, /* bytes on each side */
    ALIGNMENT = 64,
};

/* Outputs begin as ordinary numbers, which no result is by chance more than now and then. */
static const unsigned char fills[] = {[HC_PREFILL_FIRST] = 0x5a, [HC_PREFILL_SECOND] = 0xa5};

/* What byte `at` of scratch and guards begins as: part of a NaN in the first run; in the second, part of
   whatever the salt of this call makes, so that no kernel can know by it that it is looked at. */
static unsigned char outside(const struct hc_guarded *g, enum hc_prefill prefill, size_t at)
{
    uint64_t word = (g->salt + at / 8) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
    if (prefill == HC_PREFILL_FIRST)
        return 0xff;
    return (unsigned char)((word ^ word >> 32) >> 8 * (at % 8));
}

static const char *name_of(const struct hc_region *r, char name[16])
{
    if (r->slot < 0)
        return r->side;
    (void)snprintf(name, 16, "%s%d", r->side, r->slot);
    return name;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The region of a tensor, one with the same data where there is one already. */
static void add(struct hc_guarded *g, struct hc_tensor *t, const char *side, int slot, bool output)
{
    size_t bytes = hc_tensor_bytes(t);
    struct hc_region *r = g->region;
    struct hc_region *end = g->region + g->count;
    if (!t->data)
        return;
    while (r < end && (r->host != t->data || bytes == 0))
        r++;
    if (r == end) {
        *r = (struct hc_region){.side = side, .slot = slot, .host = t->data};
        g->count++;
    }
    r->bytes = larger(r->bytes, bytes);
    if (output)
        r->out_bytes = bytes;
    else
        r->in_bytes = larger(r->in_bytes, bytes);
}

static void lay_out(struct hc_guarded *g)
{
    for (int i = 0; i < g->count; i++) {
        struct hc_region *r = &g->region[i];
        r->at = g->bytes + GUARD;
        size_t end = r->at + r->bytes;
        g->bytes = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GUARD;
    }
}

/* The tensor in the block that stands for one of the caller's. Empty tensors that share data have a
   region each, which nobody writes: any will do. */
static void point(const struct hc_guarded *g, struct hc_tensor *t)
{
    for (int i = 0; i < g->count && t->data; i++)
        if (g->region[i].host == t->data) {
            t->data = (unsigned char *)g->block + g->region[i].at;
            return;
        }
}

enum hc_status hc_guarded_open(struct hc_guarded *g, const struct hc_backend *backend,
                               struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    static atomic_uint_fast64_t calls;
    *g = (struct hc_guarded){.backend = backend, .queue = queue, .host = call, .call = *call};
    g->salt = atomic_fetch_add(&calls, 1) << 32;
    size_t scratch = backend->scratch ? backend->scratch(queue, call) : 0;
    if (scratch)
        g->region[g->count++] = (struct hc_region){.side = "scratch", .slot = -1, .bytes = scratch};
    for (int i = 0; i < op->inputs; i++)
        add(g, &g->call.in[i], "in", i, false);
    for (int o = 0; o < op->outputs; o++)
        add(g, &g->call.out[o], "out", o, true);
    lay_out(g);
    if (g->count == 0)
        return HC_OK;
    g->block = backend->allocate(queue, g->bytes);
    if (!g->block)
        return HC_NO_MEMORY;
    g->image = backend->host_memory ? g->block : malloc(g->bytes);
    if (!g->image)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    g->call.scratch = scratch ? (unsigned char *)g->block + g->region[0].at : NULL;
    for (int i = 0; i < op->inputs; i++)
        point(g, &g->call.in[i]);
    for (int o = 0; o < op->outputs; o++)
        point(g, &g->call.out[o]);
    return HC_OK;
}

void hc_guarded_close(struct hc_guarded *g)
{
    if (g->image != g->block)
        free(g->image);
    free(g->kept);
    if (g->block)
        g->backend->release(g->queue, g->block);
    *g = (struct hc_guarded){.count = 0};
}

static void fill_outside(const struct hc_guarded *g, enum hc_prefill prefill, size_t from,
                         size_t to)
{
    if (prefill == HC_PREFILL_FIRST)
        memset(g->image + from, outside(g, prefill, from), to - from);
    else
        for (size_t at = from; at < to; at++)
            g->image[at] = outside(g, prefill, at);
}

static void fill(const struct hc_guarded *g, enum hc_prefill prefill)
{
    size_t done = 0;
    for (int i = 0; i < g->count; i++) {
        const struct hc_region *r = &g->region[i];
        fill_outside(g, prefill, done, r->at);
        done = r->at;
        if (!r->host)
            continue;
        memcpy(g->image + r->at, r->host, r->in_bytes);
        memset(g->image + r->at + r->in_bytes, fills[prefill], r->bytes - r->in_bytes);
        done += r->bytes;
    }
    fill_outside(g, prefill, done, g->bytes);
}

/* Where bytes first and last are not what they were, both -1 where none is. */
struct strays {
    ptrdiff_t first;
    ptrdiff_t last;
};

static void stray(struct strays *found, size_t at)
{
    found->first = found->first < 0 ? (ptrdiff_t)at : found->first;
    found->last = (ptrdiff_t)at;
}

/* Of bytes that were all `want`. */
static struct strays strays(const unsigned char *bytes, size_t n, unsigned char want)
{
    struct strays found = {-1, -1};
    if (n == 0 || (bytes[0] == want && memcmp(bytes, bytes + 1, n - 1) == 0))
        return found;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != want)
            stray(&found, i);
    return found;
}

/* Of the block's bytes from..to-1, counted from there. */
static struct strays strays_outside(const struct hc_guarded *g, enum hc_prefill prefill,
                                    size_t from, size_t to)
{
    struct strays found = {-1, -1};
    for (size_t at = from; at < to; at++)
        if (g->image[at] != outside(g, prefill, at))
            stray(&found, at - from);
    return found;
}

/* Region i's guards, up to its neighbours' and the block's ends. */
static void look_beside(const struct hc_guarded *g, int i, enum hc_prefill prefill,
                        struct hc_breach *breach)
{
    const struct hc_region *r = &g->region[i];
    const char *op = hc_ops[g->call.op].name;
    char name[16];
    size_t end = r->at + r->bytes;
    size_t next = i + 1 < g->count ? g->region[i + 1].at - GUARD : g->bytes;
    struct strays before = strays_outside(g, prefill, r->at - GUARD, r->at);
    struct strays behind = strays_outside(g, prefill, end, next);
    if (before.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote before %s: %td bytes before its first one", op, name_of(r, name),
                       GUARD - before.first);
    else if (behind.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote behind %s: up to %td bytes behind its last one", op,
                       name_of(r, name), behind.last + 1);
}

/* An input, as far as it is no output. */
static void look_at_input(const struct hc_guarded *g, const struct hc_region *r,
                          struct hc_breach *breach)
{
    const unsigned char *now = g->image + r->at;
    size_t at = r->out_bytes;
    if (r->in_bytes <= at || memcmp(now + at, r->host + at, r->in_bytes - at) == 0)
        return;
    while (now[at] == r->host[at])
        at++;
    const struct hc_tensor *was = &g->host->in[r->slot];
    struct hc_tensor is = *was;
    is.data = g->image + r->at;
    int64_t element = (int64_t)at / hc_formats[was->format].bytes;
    (void)snprintf(breach->text, sizeof breach->text,
                   "%s changed its input in%d: [%" PRId64 "] was %.9g and is %.9g",
                   hc_ops[g->call.op].name, r->slot, element, hc_tensor_get(was, element),
                   hc_tensor_get(&is, element));
}

/* A kernel that does not take a call leaves its outputs as they were. */
static void look_at_refused(const struct hc_guarded *g, const struct hc_region *r,
                            unsigned char output, struct hc_breach *breach)
{
    const unsigned char *now = g->image + r->at;
    char name[16];
    if (!r->out_bytes || (memcmp(now, r->host, r->in_bytes) == 0 &&
                          strays(now + r->in_bytes, r->bytes - r->in_bytes, output).first < 0))
        return;
    (void)snprintf(breach->text, sizeof breach->text,
                   "%s says that it is unsupported, and wrote %s", hc_ops[g->call.op].name,
                   name_of(r, name));
}

static void look(const struct hc_guarded *g, enum hc_prefill prefill, bool refused,
                 struct hc_breach *breach)
{
    for (int i = 0; i < g->count && !breach->text[0]; i++) {
        const struct hc_region *r = &g->region[i];
        look_beside(g, i, prefill, breach);
        if (!breach->text[0] && r->in_bytes)
            look_at_input(g, r, breach);
        if (!breach->text[0] && refused)
            look_at_refused(g, r, fills[prefill], breach);
    }
}

enum hc_status hc_guarded_run(struct hc_guarded *g, enum hc_prefill prefill,
                              struct hc_breach *breach)
{
    const struct hc_backend *backend = g->backend;
    bool apart = g->image != g->block;
    if (g->count)
        fill(g, prefill);
    enum hc_status status = apart ? backend->upload(g->queue, g->block, g->image, g->bytes) : HC_OK;
    if (status != HC_OK)
        return status;
    enum hc_status ran = backend->kernel[g->call.op](g->queue, &g->call);
    const char *left = hc_float_state_reset();
    if (left)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %s in the thread that called it", hc_ops[g->call.op].name, left);
    if (ran != HC_OK && ran != HC_UNSUPPORTED)
        return ran;
    if (apart)
        status = backend->download(g->queue, g->image, g->block, g->bytes);
    if (status != HC_OK)
        return status;
    look(g, prefill, ran == HC_UNSUPPORTED, breach);
    return ran;
}

bool hc_guarded_takes_zeros(const struct hc_guarded *g)
{
    if (g->count == 0)
        return false;
    memset(g->image, 0, g->bytes);
    if (g->image != g->block && g->backend->upload(g->queue, g->block, g->image, g->bytes) != HC_OK)
        return false;
    return g->backend->kernel[g->call.op](g->queue, &g->call) == HC_OK;
}

static bool is_output(const struct hc_guarded *g, int o)
{
    return g->call.out[o].data && hc_tensor_bytes(&g->call.out[o]) > 0;
}

/* An output in a copy of the block. */
static struct hc_tensor output_in(const struct hc_guarded *g, unsigned char *copy, int o)
{
    struct hc_tensor t = g->call.out[o];
    t.data = copy + ((unsigned char *)t.data - (unsigned char *)g->block);
    return t;
}

/* An element's bits where each of its bytes is `byte`. */
static uint64_t filled_with(const struct hc_tensor *t, unsigned char byte)
{
    uint64_t bits = 0;
    for (int i = 0; i < hc_formats[t->format].bytes; i++)
        bits = bits << 8 | byte;
    return bits;
}

bool hc_guarded_unwritten(const struct hc_guarded *g)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs; o++) {
        if (!is_output(g, o))
            continue;
        struct hc_tensor t = output_in(g, g->image, o);
        uint64_t filled = filled_with(&t, fills[HC_PREFILL_FIRST]);
        int64_t n = hc_tensor_count(&t);
        for (int64_t i = 0; i < n; i++)
            if (hc_tensor_bits(&t, i) == filled)
                return true;
    }
    return false;
}

enum hc_status hc_guarded_keep(struct hc_guarded *g)
{
    g->kept = malloc(g->bytes);
    if (!g->kept)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    memcpy(g->kept, g->image, g->bytes);
    return HC_OK;
}

void hc_guarded_give(const struct hc_guarded *g)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs; o++) {
        if (!is_output(g, o))
            continue;
        struct hc_tensor t = output_in(g, g->kept ? g->kept : g->image, o);
        memcpy(g->host->out[o].data, t.data, hc_tensor_bytes(&t));
    }
}

static bool same(enum hc_format format, uint64_t first, uint64_t second)
{
    return first == second || (isnan(hc_decode(format, first)) && isnan(hc_decode(format, second)));
}

static void compare_output(const struct hc_guarded *g, int o, struct hc_breach *breach)
{
    const struct hc_tensor first = output_in(g, g->kept, o);
    const struct hc_tensor second = output_in(g, g->image, o);
    if (memcmp(first.data, second.data, hc_tensor_bytes(&second)) == 0)
        return;
    const char *op = hc_ops[g->call.op].name;
    bool repeats = !g->backend->nondeterministic || hc_op_settled(g->call.op);
    uint64_t fill1 = filled_with(&first, fills[HC_PREFILL_FIRST]);
    uint64_t fill2 = filled_with(&first, fills[HC_PREFILL_SECOND]);
    int64_t n = hc_tensor_count(&first);
    int64_t unwritten = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = hc_tensor_bits(&first, i);
        uint64_t b = hc_tensor_bits(&second, i);
        bool missing = a == fill1 && b == fill2;
        if (missing ? unwritten++ == 0 : (repeats && at < 0 && !same(first.format, a, b)))
            at = i;
    }
    if (unwritten)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %" PRId64 " of %" PRId64 " elements of out%d unwritten", op,
                       unwritten, n, o);
    else if (at >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s does not repeat: out%d[%" PRId64
                       "] is %.9g, and %.9g when the same call "
                       "runs again where memory held other bytes",
                       op, o, at, hc_tensor_get(&first, at), hc_tensor_get(&second, at));
}

void hc_guarded_compare(const struct hc_guarded *g, struct hc_breach *breach)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs && !breach->text[0]; o++)
        if (is_output(g, o))
            compare_output(g, o, breach);
}
