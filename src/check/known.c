/* What is right for the elements of an output: the reference's value in MPFR, and the bound on it.
   What an earlier claim of the same call was held to is not computed again (known.h). */
#include "check/known.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/bound/line.h"
#include "check/generate/integers.h"
#include "check/repeats.h"
#include "check/subnormals.h"
#include "op/digest.h"

/* Cache limits: at most CALLS calls and ROOM bytes of inputs and results. A call with more than
   LARGEST_CALL bytes is not cached. */
enum { CALLS = 256, ROOM = 32 << 20, LARGEST_CALL = 4 << 20 };

struct hc_known_call {
    uint64_t digest;     /* of the inputs */
    struct hc_call call; /* with copies of the inputs, one behind the other */
    unsigned char *data;
    struct hc_accumulator sums;
    bool free;
    enum hc_inputs inputs;
    size_t bytes; /* of all that it has */
    struct {
        int64_t n;
        int64_t *index;
        struct hc_expected *expected;
    } out[HC_MAX_OUT];
};

/* The inputs that were drawn last. */
struct drawn {
    const struct hc_case *what; /* NULL: none */
    uint64_t seed;
    size_t bytes;
    size_t room;
    unsigned char *data; /* one input behind the other */
};

/* A call on integers of the case that drew them last: all that they follow from, and what they
   are. */
struct filled {
    struct hc_call call; /* without memory */
    uint64_t seed;
    int number;
    int precision;
    bool filled;
    struct filled *next;
    unsigned char data[]; /* one input behind the other, then what each output is */
};

/* In so many bytes. */
enum { ROOM_FOR_INTEGERS = 32 << 20 };

struct hc_known {
    struct drawn drawn;
    struct filled *filled; /* the latest first */
    const struct hc_case *filled_for;
    size_t filled_bytes;
    struct hc_known_call *calls[CALLS]; /* the oldest first */
    int count;
    size_t bytes;
    struct hc_repeats_map *map;
};

struct hc_repeats_map **hc_known_map(struct hc_known *known)
{
    return known ? &known->map : NULL;
}

struct hc_known *hc_known_new(void)
{
    return calloc(1, sizeof(struct hc_known));
}

static void free_call(struct hc_known_call *c)
{
    for (int o = 0; o < HC_MAX_OUT; o++) {
        free(c->out[o].index);
        free(c->out[o].expected);
    }
    free(c->data);
    free(c);
}

static void free_integers(struct hc_known *known)
{
    for (struct filled *f = known->filled, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    known->filled = NULL;
    known->filled_bytes = 0;
}

void hc_known_free(struct hc_known *known)
{
    for (int i = 0; known && i < known->count; i++)
        free_call(known->calls[i]);
    if (known) {
        free(known->drawn.data);
        free_integers(known);
        hc_repeats_map_free(known->map);
    }
    free(known);
}

static void forget_oldest(struct hc_known *known)
{
    known->bytes -= known->calls[0]->bytes;
    free_call(known->calls[0]);
    known->count--;
    memmove(&known->calls[0], &known->calls[1],
            (size_t)known->count * sizeof(struct hc_known_call *));
}

static bool same_shape(const struct hc_tensor *a, const struct hc_tensor *b)
{
    bool same = a->format == b->format && a->rank == b->rank && !a->data == !b->data;
    for (int d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

static size_t bytes_of(const struct hc_tensor *t)
{
    return t->data ? hc_tensor_bytes(t) : 0;
}

static size_t inputs_bytes(const struct hc_call *call)
{
    size_t bytes = 0;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        bytes += bytes_of(&call->in[i]);
    return bytes;
}

static bool same_call(const struct hc_call *a, const struct hc_call *b)
{
    const struct hc_op_info *op = &hc_ops[a->op];
    const unsigned char *params = (const unsigned char *)&b->params;
    bool same = a->op == b->op && memcmp(&a->params, params, sizeof a->params) == 0;
    for (int o = 0; o < op->outputs && same; o++)
        same = same_shape(&a->out[o], &b->out[o]);
    for (int i = 0; i < op->inputs && same; i++) {
        size_t bytes = bytes_of(&a->in[i]);
        same = same_shape(&a->in[i], &b->in[i]) &&
               (bytes == 0 || memcmp(a->in[i].data, b->in[i].data, bytes) == 0);
    }
    return same;
}

/* Bytes are compared, so that no member is forgotten that may be added. */
static bool same_sums(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    return memcmp((const unsigned char *)a, (const unsigned char *)b, sizeof *a) == 0;
}

/* Copies the inputs one behind the other. */
static void pack_inputs(const struct hc_call *from, unsigned char *to)
{
    for (int i = 0; i < hc_ops[from->op].inputs; i++) {
        size_t n = bytes_of(&from->in[i]);
        if (n)
            memcpy(to, from->in[i].data, n);
        to += n;
    }
}

/* Copies the call, with its inputs. False if there is no memory. */
static bool copy_call(struct hc_known_call *c, const struct hc_call *from, size_t bytes)
{
    c->call = *from;
    c->data = malloc(bytes ? bytes : 1);
    if (!c->data)
        return false;
    unsigned char *at = c->data;
    pack_inputs(from, at);
    for (int i = 0; i < hc_ops[from->op].inputs; i++) {
        if (from->in[i].data)
            c->call.in[i].data = at;
        at += bytes_of(&from->in[i]);
    }
    return true;
}

static struct hc_known_call *add_call(struct hc_known *known, const struct hc_claim *claim,
                                      uint64_t digest)
{
    size_t bytes = inputs_bytes(&claim->call);
    struct hc_known_call *c = bytes > LARGEST_CALL ? NULL : calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (!copy_call(c, &claim->call, bytes)) {
        free(c);
        return NULL;
    }
    c->digest = digest;
    c->sums = claim->sums;
    c->free = claim->free;
    c->inputs = claim->inputs;
    c->bytes = bytes + sizeof *c;
    if (known->count == CALLS)
        forget_oldest(known);
    known->bytes += c->bytes;
    while (known->count > 0 && known->bytes > ROOM)
        forget_oldest(known);
    known->calls[known->count++] = c;
    return c;
}

struct hc_known_call *hc_known_call(struct hc_known *known, const struct hc_claim *claim)
{
    if (!known || claim->raised)
        return NULL;
    uint64_t digest = hc_digest_inputs(&claim->call);
    for (int i = known->count - 1; i >= 0; i--) {
        struct hc_known_call *c = known->calls[i];
        if (c->digest == digest && c->free == claim->free && c->inputs == claim->inputs &&
            same_sums(&c->sums, &claim->sums) && same_call(&c->call, &claim->call))
            return c;
    }
    return add_call(known, claim, digest);
}

bool hc_known_inputs(struct hc_check *check, const struct hc_call *call)
{
    const struct drawn *d = check->known ? &check->known->drawn : NULL;
    if (!d || !d->what || d->what != check->what || d->seed != check->seed ||
        d->bytes != inputs_bytes(call))
        return false;
    const unsigned char *from = d->data;
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        size_t n = bytes_of(&call->in[i]);
        if (n)
            memcpy(call->in[i].data, from, n);
        from += n;
    }
    return true;
}

void hc_known_keep_inputs(struct hc_check *check, const struct hc_call *call)
{
    size_t bytes = inputs_bytes(call);
    struct drawn *d = check->known ? &check->known->drawn : NULL;
    if (!d || bytes == 0 || bytes > LARGEST_CALL)
        return;
    d->what = NULL;
    if (bytes > d->room) {
        free(d->data);
        d->data = malloc(bytes);
        d->room = d->data ? bytes : 0;
    }
    if (!d->data)
        return;
    pack_inputs(call, d->data);
    d->what = check->what;
    d->seed = check->seed;
    d->bytes = bytes;
}

static size_t want_bytes(const struct hc_tensor *out)
{
    return out->data ? (size_t)hc_tensor_count(out) * sizeof(double) : 0;
}

static size_t integers_bytes(const struct hc_call *call)
{
    size_t bytes = inputs_bytes(call);
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        bytes += want_bytes(&call->out[o]);
    return bytes;
}

/* Copies n bytes from `kept` or there; what lies behind them. */
static unsigned char *copy(void *here, unsigned char *kept, size_t n, bool from_kept)
{
    if (n)
        memcpy(from_kept ? here : kept, from_kept ? kept : here, n);
    return kept + n;
}

static void copy_integers(const struct hc_integers *z, unsigned char *kept, bool from_kept)
{
    const struct hc_call *call = &z->call;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        kept = copy(call->in[i].data, kept, bytes_of(&call->in[i]), from_kept);
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        kept = copy(z->want[o], kept, want_bytes(&call->out[o]), from_kept);
}

/* Whether the numbers of both follow from the same. */
static bool same_integers(const struct filled *f, const struct hc_integers *z)
{
    const struct hc_op_info *op = &hc_ops[z->call.op];
    const unsigned char *params = (const unsigned char *)&z->call.params;
    bool same = f->call.op == z->call.op && f->seed == z->seed && f->number == z->number &&
                f->precision == z->precision &&
                memcmp(&f->call.params, params, sizeof f->call.params) == 0;
    for (int i = 0; i < op->inputs && same; i++)
        same = same_shape(&f->call.in[i], &z->call.in[i]);
    for (int o = 0; o < op->outputs && same; o++)
        same = same_shape(&f->call.out[o], &z->call.out[o]);
    return same;
}

bool hc_known_integers(struct hc_check *check, struct hc_integers *z, bool *filled)
{
    struct hc_known *known = check->known;
    struct filled *f = known && known->filled_for == check->what ? known->filled : NULL;
    while (f && !same_integers(f, z))
        f = f->next;
    if (!f)
        return false;
    *filled = f->filled;
    if (f->filled)
        copy_integers(z, f->data, true);
    return true;
}

void hc_known_keep_integers(struct hc_check *check, const struct hc_integers *z, bool filled)
{
    struct hc_known *known = check->known;
    size_t bytes = sizeof(struct filled) + (filled ? integers_bytes(&z->call) : 0);
    if (!known)
        return;
    if (known->filled_for != check->what)
        free_integers(known);
    known->filled_for = check->what;
    struct filled *f = known->filled_bytes + bytes > ROOM_FOR_INTEGERS ? NULL : malloc(bytes);
    if (!f)
        return;
    *f = (struct filled){.call = z->call,
                         .seed = z->seed,
                         .number = z->number,
                         .precision = z->precision,
                         .filled = filled,
                         .next = known->filled};
    known->filled = f;
    known->filled_bytes += bytes;
    if (filled)
        copy_integers(z, f->data, false);
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

bool hc_known_read(const struct hc_known_call *call, int out, int64_t index, struct hc_expected *to)
{
    if (!call || call->out[out].n == 0)
        return false;
    const int64_t *all = call->out[out].index;
    const int64_t *found = bsearch(&index, all, (size_t)call->out[out].n, sizeof index, by_number);
    if (found)
        *to = call->out[out].expected[found - all];
    return found;
}

void hc_known_keep(struct hc_known *known, struct hc_known_call *call, int out, int64_t n,
                   const int64_t *index, const struct hc_expected *expected)
{
    if (!call || call->out[out].n > 0 || n == 0)
        return;
    size_t bytes = (size_t)n * (sizeof *index + sizeof *expected);
    int64_t *indices = malloc((size_t)n * sizeof *indices);
    struct hc_expected *copy = malloc((size_t)n * sizeof *copy);
    if (!indices || !copy) {
        free(indices);
        free(copy);
        return;
    }
    memcpy(indices, index, (size_t)n * sizeof *indices);
    memcpy(copy, expected, (size_t)n * sizeof *copy);
    call->out[out].n = n;
    call->out[out].index = indices;
    call->out[out].expected = copy;
    call->bytes += bytes;
    known->bytes += bytes;
}

/* What is right for an element, by its reference and its bound. */
static void expect(const struct hc_claim *claim, int out, int64_t index, struct hc_expected *right)
{
    const struct hc_call *call = &claim->call;
    const struct hc_accumulator *sums = &claim->sums;
    struct hc_element e = {call, out, index};
    hc_references[call->op](&e, HC_REFERENCE_PRECISION, &right->want);
    struct hc_exact raised = right->want;
    if (claim->raised)
        raised.magnitude = hc_raised_magnitude(claim, out, index);
    right->bound =
        claim->free ? hc_bound_any_order(&e, sums, &raised) : hc_bound(&e, sums, &raised);
    right->bits = claim->free ? hc_bound_any_order_bits(&e, &right->want, &right->want_bits)
                              : hc_bound_bits(&e, &right->want, &right->want_bits);
    if (claim->inputs == HC_INPUTS_WHOLE && !right->bits &&
        (!claim->free || hc_integers_any_order(call, out)))
        right->bits = hc_bound_whole(call, sums, out, &right->want, &right->want_bits);
    right->line = claim->inputs == HC_INPUTS_RANDOM ? hc_line(call, sums, out, &right->want)
                                                    : (double)INFINITY;
}

/* Terms that take some milliseconds. Less work is done before a second thread has woken up. */
enum { WORTH_THREADS = 1 << 15 };

void hc_expect(const struct hc_claim *claim, int out, int64_t n, const int64_t *index,
               struct hc_expected *right)
{
    int64_t unknown = 0;
    for (int64_t k = 0; k < n; k++)
        unknown += !hc_known_read(claim->known, out, index[k], &right[k]);
    if (unknown == 0)
        return;
#pragma omp parallel if (unknown * (int64_t)claim->length > WORTH_THREADS)
    {
        /* The thread of the claim may have promised already, for all outputs (compare.c). */
        bool promises = hc_reference_promise(&claim->call) == 0;
        if (promises)
            hc_reference_begin(&claim->call);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n; k++)
            expect(claim, out, index[k], &right[k]);
        if (promises)
            hc_reference_end();
    }
    hc_known_keep(claim->check->known, claim->known, out, n, index, right);
}
