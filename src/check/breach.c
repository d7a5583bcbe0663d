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
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/guarded.h"
#include "op/descriptor.h"

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
    unsigned char want[HC_GUARD_BYTES];
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

bool hc_breach_suspected(const struct hc_guarded *g)
{
    for (int o = 0; o < hc_ops[g->call.op].outputs; o++) {
        if (g->output[o] < 0)
            continue;
        struct hc_tensor t = output_in(g, g->image, o);
        uint64_t filling = filled(&t, HC_PREFILL_FIRST);
        for (int64_t i = 0; i < elements_of(g, o); i++)
            if (hc_tensor_bits(&t, i) == filling)
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
