/* The block of a guarded call: guard, scratch, guard, guard, tensor, guard, guard, tensor, guard,
   and so on. A tensor that the call names twice (in place) lies there once. Before a run every byte
   is known: inputs are the caller's, outputs hold one pattern, scratch and guards another. After
   the run everything is compared byte for byte with that, save the bytes of outputs. */
#include "check/guarded.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "check/last_word.h"
#include "num/clones.h"
#include "num/float_state.h"

enum { ALIGNMENT = 64 };

/* A call of more bytes runs a second time only if an output may be unwritten, or if that was asked
   for. */
enum { REPEATED_BYTES = 1 << 20 };

/* What memory holds before a run: a call that runs a second time finds other bytes there. */
enum prefill { FIRST, SECOND };

/* What every byte of an output is before a run: parts of an ordinary number, which few results
   are. */
static const unsigned char prefill_of_outputs[] = {[FIRST] = 0x5a, [SECOND] = 0xa5};

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

/* Writes what the bytes from .. to - 1 of scratch and guards are before a run: part of a NaN before
   the first. Before the second it is part of whatever this call's salt makes, so that no kernel can
   tell by the bytes around its tensors that it is being tested. A call of one element spends most
   of its time here, so many bytes are made at once. */
static void prefill_outside(const struct hc_guarded *g, enum prefill prefill, size_t from,
                            size_t to, unsigned char *bytes)
{
    uint64_t words[WORDS];
    if (prefill == FIRST)
        memset(bytes, 0xff, to - from);
    for (size_t at = from, n; at < to && prefill == SECOND; at += n) {
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

/* Adds the region of an operand, or finds the one with the same data. Its number, or -1 if the
   tensor is absent. */
static int add_region(struct hc_guarded *g, const struct hc_guarded_operand *operand, bool input)
{
    const struct hc_tensor *t = operand->host;
    size_t bytes = hc_tensor_bytes(t);
    int i = 0;
    if (!t->data)
        return -1;
    while (i < g->count && (g->region[i].host != t->data || bytes == 0))
        i++;
    struct hc_region *r = &g->region[i];
    if (i == g->count) {
        *r = (struct hc_region){.name = operand->name, .input = input ? t : NULL, .host = t->data};
        g->count++;
    }
    r->bytes = larger(r->bytes, bytes);
    if (input)
        r->in_bytes = larger(r->in_bytes, bytes);
    else
        r->out_bytes = bytes;
    return i;
}

enum hc_status hc_guarded_open(struct hc_guarded *g)
{
    static atomic_uint_fast64_t calls;
    int operands = g->inputs + g->outputs;
    g->salt = atomic_fetch_add(&calls, 1) << 32;
    if (g->scratch_bytes)
        g->region[g->count++] = (struct hc_region){.name = "scratch", .bytes = g->scratch_bytes};
    for (int i = 0; i < operands; i++)
        g->operand[i].region = add_region(g, &g->operand[i], i < g->inputs);
    for (int i = 0; i < g->count; i++) {
        struct hc_region *r = &g->region[i];
        r->at = g->bytes + HC_GUARD_BYTES;
        g->bytes = (r->at + r->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + HC_GUARD_BYTES;
    }
    if (g->count == 0)
        return HC_OK;
    g->block = g->backend->allocate(g->queue, g->bytes);
    if (!g->block)
        return HC_NO_MEMORY;
    g->image = g->backend->host_memory ? g->block : malloc(g->bytes);
    if (!g->image)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    if (g->scratch)
        *g->scratch = g->scratch_bytes ? (unsigned char *)g->block + g->region[0].at : NULL;
    for (int i = 0; i < operands; i++) {
        const struct hc_guarded_operand *o = &g->operand[i];
        o->inside->data =
            o->region < 0 ? NULL : (unsigned char *)g->block + g->region[o->region].at;
    }
    return HC_OK;
}

void hc_guarded_close(struct hc_guarded *g)
{
    if (g->image != g->block)
        free(g->image);
    free(g->kept);
    if (g->block)
        g->backend->release(g->queue, g->block);
}

static void fill(const struct hc_guarded *g, enum prefill prefill)
{
    size_t done = 0;
    for (int i = 0; i < g->count; i++) {
        const struct hc_region *r = &g->region[i];
        prefill_outside(g, prefill, done, r->at, g->image + done);
        done = r->at;
        if (!r->host)
            continue;
        memcpy(g->image + r->at, r->host, r->in_bytes);
        memset(g->image + r->at + r->in_bytes, prefill_of_outputs[prefill], r->bytes - r->in_bytes);
        done += r->bytes;
    }
    prefill_outside(g, prefill, done, g->bytes, g->image + done);
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
static struct changes changes_outside(const struct hc_guarded *g, enum prefill prefill, size_t from,
                                      size_t to)
{
    struct changes found = {-1, -1};
    unsigned char want[HC_GUARD_BYTES] = {0};
    for (size_t at = from; at < to; at += sizeof want) {
        size_t n = to - at < sizeof want ? to - at : sizeof want;
        prefill_outside(g, prefill, at, at + n, want);
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
static void check_guards(const struct hc_guarded *g, int i, enum prefill prefill,
                         struct hc_breach *breach)
{
    const struct hc_region *r = &g->region[i];
    size_t end = r->at + r->bytes;
    size_t next = i + 1 < g->count ? g->region[i + 1].at - HC_GUARD_BYTES : g->bytes;
    struct changes before = changes_outside(g, prefill, r->at - HC_GUARD_BYTES, r->at);
    struct changes behind = changes_outside(g, prefill, end, next);
    if (before.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote before %s: %td bytes before its first one", g->name, r->name,
                       HC_GUARD_BYTES - before.first);
    else if (behind.first >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s wrote behind %s: up to %td bytes behind its last one", g->name, r->name,
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
    const struct hc_tensor *was = r->input;
    struct hc_tensor is = *was;
    is.data = g->image + r->at;
    int64_t element = (int64_t)at / hc_formats[was->format].bytes;
    (void)snprintf(breach->text, sizeof breach->text,
                   "%s changed its input %s: [%" PRId64 "] was %.9g and is %.9g", g->name, r->name,
                   element, hc_tensor_get(was, element), hc_tensor_get(&is, element));
}

/* A kernel that does not take a call leaves its outputs as they were. */
static void check_refused(const struct hc_guarded *g, const struct hc_region *r,
                          unsigned char output, struct hc_breach *breach)
{
    const unsigned char *now = g->image + r->at;
    if (r->out_bytes && (memcmp(now, r->host, r->in_bytes) != 0 ||
                         any_other(now + r->in_bytes, r->bytes - r->in_bytes, output)))
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s says that it is unsupported, and wrote %s", g->name, r->name);
}

/* After a run: guards, inputs, and the outputs of a refused call. Notes a breach unless one is
   noted. */
static void look(const struct hc_guarded *g, enum prefill prefill, bool refused,
                 struct hc_breach *breach)
{
    for (int i = 0; i < g->count && !breach->text[0]; i++) {
        const struct hc_region *r = &g->region[i];
        check_guards(g, i, prefill, breach);
        if (!breach->text[0] && r->in_bytes)
            check_input(g, r, breach);
        if (!breach->text[0] && refused)
            check_refused(g, r, prefill_of_outputs[prefill], breach);
    }
}

/* Where output o lies. NULL if it is absent or empty. */
static const struct hc_region *region_of(const struct hc_guarded *g, int o)
{
    int i = g->operand[g->inputs + o].region;
    return i >= 0 && g->region[i].out_bytes ? &g->region[i] : NULL;
}

/* An output, which is there, in a copy of the block. */
static struct hc_tensor output_in(const struct hc_guarded *g, unsigned char *copy, int o)
{
    struct hc_tensor t = *g->operand[g->inputs + o].host;
    t.data = copy + region_of(g, o)->at;
    return t;
}

/* An element's bits where the filling still stands. */
static uint64_t filled(const struct hc_tensor *t, enum prefill prefill)
{
    uint64_t bits = 0;
    for (int i = 0; i < hc_formats[t->format].bytes; i++)
        bits = bits << 8 | prefill_of_outputs[prefill];
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

/* Whether an element of an output still holds what the first run's filling left there. */
static bool unwritten_perhaps(const struct hc_guarded *g)
{
    for (int o = 0; o < g->outputs; o++) {
        if (!region_of(g, o))
            continue;
        struct hc_tensor t = output_in(g, g->image, o);
        if (holds(&t, hc_tensor_count(&t), filled(&t, FIRST)))
            return true;
    }
    return false;
}

/* The output of the second run against the kept one of the first: every element must be written,
   and all bits must repeat where the call promises that. */
static void compare_output(const struct hc_guarded *g, int o, struct hc_breach *breach)
{
    const struct hc_tensor first = output_in(g, g->kept, o);
    const struct hc_tensor second = output_in(g, g->image, o);
    if (memcmp(first.data, second.data, region_of(g, o)->out_bytes) == 0)
        return;
    const char *name = g->operand[g->inputs + o].name;
    uint64_t filling1 = filled(&first, FIRST);
    uint64_t filling2 = filled(&first, SECOND);
    int64_t n = hc_tensor_count(&first);
    int64_t unwritten = 0;
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t a = hc_tensor_bits(&first, i);
        uint64_t b = hc_tensor_bits(&second, i);
        if (a == filling1 && b == filling2)
            unwritten++;
        else if (g->repeats && at < 0 && !hc_same_bits(first.format, a, b))
            at = i;
    }
    if (unwritten)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %" PRId64 " of %" PRId64 " elements of %s unwritten", g->name,
                       unwritten, n, name);
    else if (at >= 0)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s does not repeat: %s[%" PRId64 "] is %.9g, and %.9g when the same call "
                       "runs again where memory held other bytes",
                       g->name, name, at, hc_tensor_get(&first, at), hc_tensor_get(&second, at));
}

/* Runs the call once, and sets back what it left in the thread and in the process. */
static enum hc_status call_it(const struct hc_guarded *g, struct hc_breach *breach)
{
    char limits[64];
    enum hc_status ran = g->run(g->backend, g->queue, g->call);
    const char *left = hc_float_state_reset();
    if (left)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %s in the thread that called it", g->name, left);
    if (!g->built_in && hc_file_limit_reset(limits, sizeof limits))
        (void)snprintf(breach->text, sizeof breach->text, "%s %s", g->name, limits);
    return ran;
}

/* Brings the image into the backend's memory, where that lies apart. */
static enum hc_status upload(const struct hc_guarded *g)
{
    bool apart = g->image != g->block;
    return apart ? g->backend->upload(g->queue, g->block, g->image, g->bytes) : HC_OK;
}

static enum hc_status run_once(struct hc_guarded *g, enum prefill prefill, struct hc_breach *breach)
{
    if (g->count)
        fill(g, prefill);
    enum hc_status status = upload(g);
    if (status != HC_OK)
        return status;
    enum hc_status ran = call_it(g, breach);
    if (ran != HC_OK && ran != HC_UNSUPPORTED)
        return ran;
    if (g->image != g->block)
        status = g->backend->download(g->queue, g->image, g->block, g->bytes);
    if (status != HC_OK)
        return status;
    look(g, prefill, ran == HC_UNSUPPORTED, breach);
    return ran;
}

/* Runs the call once more on other fillings. The first run's outputs are those that count. */
static enum hc_status repeat(struct hc_guarded *g, struct hc_breach *breach)
{
    g->kept = malloc(g->bytes);
    if (!g->kept)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", g->bytes);
    memcpy(g->kept, g->image, g->bytes);
    enum hc_status status = run_once(g, SECOND, breach);
    for (int o = 0; o < g->outputs && status == HC_OK && !breach->text[0]; o++)
        if (region_of(g, o))
            compare_output(g, o, breach);
    return status;
}

/* A kernel may refuse formats and shapes. One that looks at the numbers first may refuse whatever
   it would get wrong, and then its results prove nothing: it is asked again with zeros. */
static void check_refusal(const struct hc_guarded *g, struct hc_breach *breach)
{
    char why[256];
    if (g->count == 0)
        return;
    (void)snprintf(why, sizeof why, "%s", hc_message());
    memset(g->image, 0, g->bytes);
    if (upload(g) == HC_OK && call_it(g, breach) == HC_OK)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s refuses inputs by their values: it takes the same call with zeros",
                       g->name);
    (void)hc_fail(HC_UNSUPPORTED, "%s", why);
}

enum hc_status hc_guarded_run(struct hc_guarded *g, struct hc_breach *breach)
{
    enum hc_status status = run_once(g, FIRST, breach);
    if (status == HC_UNSUPPORTED && !breach->text[0])
        check_refusal(g, breach);
    if (status == HC_OK && !breach->text[0] &&
        (g->always_twice || g->bytes <= REPEATED_BYTES || unwritten_perhaps(g)))
        status = repeat(g, breach);
    return status;
}

void hc_guarded_write_back(const struct hc_guarded *g)
{
    const unsigned char *from = g->kept ? g->kept : g->image;
    for (int o = 0; o < g->outputs; o++) {
        const struct hc_region *r = region_of(g, o);
        if (r)
            memcpy(r->host, from + r->at, r->out_bytes);
    }
}
