/* The block of a guarded call: guard, scratch, guard, guard, tensor, guard, guard, tensor, guard,
   and so on. A tensor that the call names twice (in place) lies there once. Before a run every byte
   is known: inputs are the caller's, outputs hold one pattern, scratch and guards another. After
   the run everything is compared byte for byte with that, save the bytes of outputs. */
#include "check/last_word.h"
#include "check/guarded.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "num/clones.h"
#include "num/float_state.h"
#include "op/descriptor.h"

enum { ALIGNMENT = 64 };

const unsigned char hc_prefill_of_outputs[] = {
    [HC_PREFILL_FIRST] = 0x5a, [HC_PREFILL_SECOND] = 0xa5};

enum { WORDS = 64 };

/* The salt makes n words of the block from word `first` on. */
HC_CLONES static void salted(uint64_t salt, size_t first, size_t n, uint64_t *words)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        uint64_t word = (salt + first + i) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
        words[i] = word ^ word >> 32;
    }
}

/* Part of a NaN in the first run. In the second run it is part of whatever this call's salt makes,
   so that no kernel can tell by the bytes around its tensors that it is being tested. A call of one
   element spends most of its time here, so many bytes are made at once. */
void hc_prefill_outside(const struct hc_guarded *g, enum hc_prefill prefill, size_t from, size_t to,
                        unsigned char *bytes)
{
    uint64_t words[WORDS];
    if (prefill == HC_PREFILL_FIRST)
        memset(bytes, 0xff, to - from);
    for (size_t at = from, n; at < to && prefill == HC_PREFILL_SECOND; at += n) {
        size_t skipped = at % 8;
        n = to - at < sizeof words - skipped ? to - at : sizeof words - skipped;
        salted(g->salt, at / 8, (skipped + n + 7) / 8, words);
        memcpy(bytes + (at - from), (const unsigned char *)words + skipped, n);
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Adds the region of a slot's tensor, or finds the one with the same data. Its number, or -1 if the
   tensor is absent. `input` is -1 for outputs. */
static int add_guarded(struct hc_guarded *g, const struct hc_tensor *t, const char *name, int input)
{
    size_t bytes = hc_tensor_bytes(t);
    int i = 0;
    if (!t->data)
        return -1;
    while (i < g->count && (g->region[i].host != t->data || bytes == 0))
        i++;
    struct hc_region *r = &g->region[i];
    if (i == g->count) {
        *r = (struct hc_region){.name = name, .input = input, .host = t->data};
        g->count++;
    }
    r->bytes = larger(r->bytes, bytes);
    if (input < 0)
        r->out_bytes = bytes;
    else
        r->in_bytes = larger(r->in_bytes, bytes);
    return i;
}

static void *place_of(const struct hc_guarded *g, int region)
{
    return region < 0 ? NULL : (unsigned char *)g->block + g->region[region].at;
}

enum hc_status hc_guarded_open(struct hc_guarded *g, const struct hc_backend *backend,
                               struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const struct hc_descriptor *d = hc_descriptor(call->op);
    static atomic_uint_fast64_t calls;
    int input[HC_MAX_IN] = {0};
    int output[HC_MAX_OUT] = {0};
    *g = (struct hc_guarded){.backend = backend, .queue = queue, .host = call, .call = *call};
    g->salt = atomic_fetch_add(&calls, 1) << 32;
    size_t scratch = backend->scratch ? backend->scratch(queue, call) : 0;
    if (scratch)
        g->region[g->count++] =
            (struct hc_region){.name = "scratch", .input = -1, .bytes = scratch};
    for (int i = 0; i < op->inputs; i++)
        input[i] = add_guarded(g, &call->in[i], d->in[i].name, i);
    for (int o = 0; o < op->outputs; o++) {
        output[o] = add_guarded(g, &call->out[o], d->out[o].name, -1);
        g->output[o] = output[o] >= 0 && g->region[output[o]].out_bytes ? output[o] : -1;
    }
    for (int i = 0; i < g->count; i++) {
        struct hc_region *r = &g->region[i];
        r->at = g->bytes + HC_GUARD_BYTES;
        g->bytes = (r->at + r->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + HC_GUARD_BYTES;
    }
    if (g->count == 0)
        return HC_OK;
    g->block = backend->allocate(queue, g->bytes);
    if (!g->block)
        return HC_NO_MEMORY;
    g->image = backend->host_memory ? g->block : malloc(g->bytes);
    if (!g->image)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    g->call.scratch = scratch ? place_of(g, 0) : NULL;
    for (int i = 0; i < op->inputs; i++)
        g->call.in[i].data = place_of(g, input[i]);
    for (int o = 0; o < op->outputs; o++)
        g->call.out[o].data = place_of(g, output[o]);
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

static void fill(const struct hc_guarded *g, enum hc_prefill prefill)
{
    size_t done = 0;
    for (int i = 0; i < g->count; i++) {
        const struct hc_region *r = &g->region[i];
        hc_prefill_outside(g, prefill, done, r->at, g->image + done);
        done = r->at;
        if (!r->host)
            continue;
        memcpy(g->image + r->at, r->host, r->in_bytes);
        memset(g->image + r->at + r->in_bytes, hc_prefill_of_outputs[prefill],
               r->bytes - r->in_bytes);
        done += r->bytes;
    }
    hc_prefill_outside(g, prefill, done, g->bytes, g->image + done);
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
    char limits[64];
    if (hc_file_limit_reset(limits, sizeof limits))
        (void)snprintf(breach->text, sizeof breach->text, "%s %s", hc_ops[g->call.op].name, limits);
    if (ran != HC_OK && ran != HC_UNSUPPORTED)
        return ran;
    if (apart)
        status = backend->download(g->queue, g->image, g->block, g->bytes);
    if (status != HC_OK)
        return status;
    hc_breach_look(g, prefill, ran == HC_UNSUPPORTED, breach);
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

enum hc_status hc_guarded_keep(struct hc_guarded *g)
{
    g->kept = malloc(g->bytes);
    if (!g->kept)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    memcpy(g->kept, g->image, g->bytes);
    return HC_OK;
}

void hc_guarded_write_back(const struct hc_guarded *g)
{
    const unsigned char *from = g->kept ? g->kept : g->image;
    for (int o = 0; o < hc_ops[g->call.op].outputs; o++) {
        if (g->output[o] < 0)
            continue;
        const struct hc_region *r = &g->region[g->output[o]];
        memcpy(r->host, from + r->at, r->out_bytes);
    }
}

/* What a kernel did that no kernel may do.

   A kernel may write its outputs and its scratch, and nothing else; it must write every element of
   its outputs; and the same call must give the same bits again, whatever memory held before. An
   ordinary test sees none of this: a kernel that reads one element past its input, or leaves an
   element of an output alone, is right whenever memory happens to hold the right number.

   Three looks find it. After a run every byte that the kernel must not touch is compared with what
   was put there (guards, scratch's surroundings, inputs; outputs, too, where the kernel refused the
   call). Then the call runs a second time with other bytes everywhere: an output element that holds
   the first filling after the first run and the second filling after the second was never written,
   and one that differs between the runs depends on something that is no input. What repeats by
   chance, or reads a guard and does not use it, is not found. */

/* The first and the last byte that is not what it was, counted from where the search begins; both
   -1 if there is none. */
struct changes {
    ptrdiff_t first;
    ptrdiff_t last;
};

static void note_change(struct changes *found, size_t at)
{
    found->first = found->first < 0 ? (ptrdiff_t)at : found->first;
    found->last = (ptrdiff_t)at;
}

/* Among the block's bytes from .. to - 1, which lie outside tensors. */
static struct changes changes_outside(const struct hc_guarded *g, enum hc_prefill prefill,
                                      size_t from, size_t to)
{
    struct changes found = {-1, -1};
    unsigned char want[HC_GUARD_BYTES] = {0};
    for (size_t at = from; at < to; at += sizeof want) {
        size_t n = to - at < sizeof want ? to - at : sizeof want;
        hc_prefill_outside(g, prefill, at, at + n, want);
        if (memcmp(g->image + at, want, n) == 0)
            continue;
        for (size_t i = 0; i < n; i++)
            if (g->image[at + i] != want[i])
                note_change(&found, at + i - from);
    }
    return found;
}

/* Whether any of n bytes is not `want`. */
static bool any_other(const unsigned char *bytes, size_t n, unsigned char want)
{
    return n > 0 && (bytes[0] != want || memcmp(bytes, bytes + 1, n - 1) != 0);
}

/* Region i's guards, up to its neighbours' guards and the block's ends. */
static void check_guards(const struct hc_guarded *g, int i, enum hc_prefill prefill,
                         struct hc_breach *breach)
{
    const struct hc_region *r = &g->region[i];
    const char *op = hc_ops[g->call.op].name;
    size_t end = r->at + r->bytes;
    size_t next = i + 1 < g->count ? g->region[i + 1].at - HC_GUARD_BYTES : g->bytes;
    struct changes before = changes_outside(g, prefill, r->at - HC_GUARD_BYTES, r->at);
    struct changes behind = changes_outside(g, prefill, end, next);
    if (before.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote before %s: %td bytes before its first one", op, r->name,
                       HC_GUARD_BYTES - before.first);
    else if (behind.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote behind %s: up to %td bytes behind its last one", op, r->name,
                       behind.last + 1);
}

/* An input, except where it is an output, too. */
static void check_input(const struct hc_guarded *g, const struct hc_region *r,
                        struct hc_breach *breach)
{
    const unsigned char *now = g->image + r->at;
    size_t at = r->out_bytes;
    if (r->in_bytes <= at || memcmp(now + at, r->host + at, r->in_bytes - at) == 0)
        return;
    while (now[at] == r->host[at])
        at++;
    const struct hc_tensor *was = &g->host->in[r->input];
    struct hc_tensor is = *was;
    is.data = g->image + r->at;
    int64_t element = (int64_t)at / hc_formats[was->format].bytes;
    (void)snprintf(breach->text, sizeof breach->text,
                   "%s changed its input %s: [%" PRId64 "] was %.9g and is %.9g",
                   hc_ops[g->call.op].name, r->name, element, hc_tensor_get(was, element),
                   hc_tensor_get(&is, element));
}

/* A kernel that does not take a call leaves its outputs as they were. */
static void check_refused(const struct hc_guarded *g, const struct hc_region *r,
                          unsigned char output, struct hc_breach *breach)
{
    const unsigned char *now = g->image + r->at;
    if (r->out_bytes && (memcmp(now, r->host, r->in_bytes) != 0 ||
                         any_other(now + r->in_bytes, r->bytes - r->in_bytes, output)))
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s says that it is unsupported, and wrote %s", hc_ops[g->call.op].name,
                       r->name);
}

void hc_breach_look(const struct hc_guarded *g, enum hc_prefill prefill, bool refused,
                    struct hc_breach *breach)
{
    for (int i = 0; i < g->count && !breach->text[0]; i++) {
        const struct hc_region *r = &g->region[i];
        check_guards(g, i, prefill, breach);
        if (!breach->text[0] && r->in_bytes)
            check_input(g, r, breach);
        if (!breach->text[0] && refused)
            check_refused(g, r, hc_prefill_of_outputs[prefill], breach);
    }
}

/* An output, which is there, in a copy of the block. */
static struct hc_tensor output_in(const struct hc_guarded *g, unsigned char *copy, int o)
{
    struct hc_tensor t = g->host->out[o];
    t.data = copy + g->region[g->output[o]].at;
    return t;
}

static int64_t elements_of(const struct hc_guarded *g, int o)
{
    return (int64_t)g->region[g->output[o]].out_bytes / hc_formats[g->host->out[o].format].bytes;
}

/* An element's bits where the filling still stands. */
static uint64_t filled(const struct hc_tensor *t, enum hc_prefill prefill)
{
    uint64_t bits = 0;
    for (int i = 0; i < hc_formats[t->format].bytes; i++)
        bits = bits << 8 | hc_prefill_of_outputs[prefill];
    return bits;
}

HC_CLONES static bool holds16(const uint16_t *data, int64_t n, uint16_t bits)
{
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++)
        found |= data[i] == bits;
    return found;
}

HC_CLONES static bool holds32(const uint32_t *data, int64_t n, uint32_t bits)
{
    int found = 0;
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++)
        found |= data[i] == bits;
    return found;
}

/* Whether one of n elements has those bits. */
static bool holds(const struct hc_tensor *t, int64_t n, uint64_t bits)
{
    if (hc_formats[t->format].bytes == 2)
        return holds16(t->data, n, (uint16_t)bits);
    if (hc_formats[t->format].bytes == 4)
        return holds32(t->data, n, (uint32_t)bits);
    for (int64_t i = 0; i < n; i++)
        if (hc_tensor_bits(t, i) == bits)
            return true;
    return false;
}

bool hc_breach_suspected(const struct hc_guarded *g)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs; o++) {
        if (g->output[o] < 0)
            continue;
        struct hc_tensor t = output_in(g, g->image, o);
        if (holds(&t, elements_of(g, o), filled(&t, HC_PREFILL_FIRST)))
            return true;
    }
    return false;
}

static void compare_output(const struct hc_guarded *g, int o, struct hc_breach *breach)
{
    const struct hc_tensor first = output_in(g, g->kept, o);
    const struct hc_tensor second = output_in(g, g->image, o);
    if (memcmp(first.data, second.data, g->region[g->output[o]].out_bytes) == 0)
        return;
    const char *op = hc_ops[g->call.op].name;
    const char *name = hc_slot(g->call.op, hc_ops[g->call.op].inputs + o)->name;
    bool repeats = !g->backend->nondeterministic || hc_op_settled(g->call.op);
    uint64_t filling1 = filled(&first, HC_PREFILL_FIRST);
    uint64_t filling2 = filled(&first, HC_PREFILL_SECOND);
    int64_t n = elements_of(g, o);
    int64_t unwritten = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = hc_tensor_bits(&first, i);
        uint64_t b = hc_tensor_bits(&second, i);
        if (a == filling1 && b == filling2)
            unwritten++;
        else if (repeats && at < 0 && !hc_same_bits(first.format, a, b))
            at = i;
    }
    if (unwritten)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %" PRId64 " of %" PRId64 " elements of %s unwritten", op,
                       unwritten, n, name);
    else if (at >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s does not repeat: %s[%" PRId64 "] is %.9g, and %.9g when the same call "
                       "runs again where memory held other bytes",
                       op, name, at, hc_tensor_get(&first, at), hc_tensor_get(&second, at));
}

void hc_breach_compare(const struct hc_guarded *g, struct hc_breach *breach)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs && !breach->text[0]; o++)
        if (g->output[o] >= 0)
            compare_output(g, o, breach);
}
