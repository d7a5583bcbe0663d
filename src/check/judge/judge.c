#include "check/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/check.h"
#include "check/family/family.h"
#include "check/run_call.h"
#include "num/ulp.h"

const double hc_ratio_edges[HC_RATIO_BINS] = {0, 0.0625, 0.125, 0.25, 0.5,
                                              1, 2,      10,    100,  (double)INFINITY};

/* What one element costs in MPFR, in terms of a plain sum (about 16 ns each). */
static double cost(const struct hc_call *call)
{
    double of_term = hc_family(call->op)->reference_cost;
    return 16 + (of_term > 0 ? of_term : 1) * hc_call_length(call);
}

/* What is spent on one output: some seconds on one core. */
static const double affordable = 0x1p27;

/* Terms that take some milliseconds. Less work is done before a second thread has woken up. */
static const double worth_threads = 0x1p15;

static enum hc_status run_exact(struct hc_judge *judge)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_queue *queue;
    struct hc_breach breach;
    enum hc_status status = hc_backend_open(exact, &queue, 1);
    if (status != HC_OK)
        return status;
    status = hc_run_call(exact, queue, &judge->exact, &breach);
    exact->close(queue);
    judge->has_exact = status == HC_OK;
    return status == HC_UNSUPPORTED ? HC_OK : status;
}

enum hc_status hc_judge_open(struct hc_judge *judge, const struct hc_call *call,
                             const struct hc_accumulator *accumulator)
{
    *judge = (struct hc_judge){.call = call, .accumulator = *accumulator, .exact = *call};
    for (int o = 0; o < HC_MAX_OUT; o++)
        judge->exact.out[o].data = NULL;
    enum hc_status status = hc_call_check(call);
    for (int o = 0; o < hc_ops[call->op].outputs && status == HC_OK; o++) {
        size_t bytes = (hc_tensor_bytes(&call->out[o]) + 64) / 64 * 64;
        if (!call->out[o].data)
            continue;
        judge->exact.out[o].data = aligned_alloc(64, bytes);
        if (!judge->exact.out[o].data)
            status = hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", bytes);
    }
    return status == HC_OK ? run_exact(judge) : status;
}

void hc_judge_close(struct hc_judge *judge)
{
    for (int o = 0; o < HC_MAX_OUT; o++)
        free(judge->exact.out[o].data);
    hc_reference_end();
}

bool hc_judge_two_readings(const struct hc_call *call, const struct hc_tensor *numbers)
{
    struct hc_call given = *call;
    if (hc_call_take_as_given(&given))
        return true;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t e = 0; numbers[i].data && e < hc_tensor_count(&numbers[i]); e++)
            if (hc_tensor_get(&numbers[i], e) != hc_tensor_get(&call->in[i], e))
                return true;
    return false;
}

/* The call with its numbers as they are read. */
static struct hc_call reading(const struct hc_judge *judge)
{
    struct hc_call call = *judge->call;
    for (int i = 0; judge->numbers && i < hc_ops[call.op].inputs; i++)
        if (judge->numbers[i].data)
            call.in[i] = judge->numbers[i];
    if (judge->as_given)
        (void)hc_call_take_as_given(&call);
    return call;
}

/* `call` is what `reading` gives. */
static void judge_element(const struct hc_judge *judge, const struct hc_call *call, int out,
                          int64_t index, struct hc_judged_element *e)
{
    const struct hc_tensor *t = &judge->call->out[out];
    const struct hc_element element = {call, out, index};
    *e = (struct hc_judged_element){.index = index, .got_bits = hc_tensor_bits(t, index)};
    double got = hc_tensor_get(t, index);
    hc_references[judge->call->op](&element, HC_REFERENCE_PRECISION, &e->want);
    e->bound = hc_bound_any_order(&element, &judge->accumulator, &e->want);
    e->single = hc_bound_any_order_bits(&element, &e->want, &e->want_bits);
    e->error = hc_bound_error_any_order(&element, &e->want, got);
    e->ulps = e->error == 0 ? 0 : e->error / hc_ulp(t->format, e->want.hi);
    e->ratio = isinf(e->bound) ? 0 : hc_ratio(e->error, e->bound);
    if (e->single) {
        e->wrong = !hc_same_bits(t->format, e->want_bits, e->got_bits);
        e->ratio = e->wrong ? fmax(e->ratio, nextafter(1, 2)) : fmin(e->ratio, 1);
    } else {
        e->wrong = e->ratio > 1;
    }
    e->exact = judge->has_exact ? hc_tensor_get(&judge->exact.out[out], index) : (double)NAN;
    e->implementation = e->format = (double)NAN;
    if (!isfinite(e->exact) || !isfinite(e->want.hi) || !(e->bound > 0) || isinf(e->bound))
        return;
    e->implementation = hc_bound_error(t->format, &(struct hc_exact){.hi = e->exact}, got);
    e->implementation /= e->bound;
    e->format = hc_bound_error(t->format, &e->want, e->exact) / e->bound;
    e->deviation = hc_judge_deviation(&element, &judge->accumulator, &e->want);
}

void hc_judge_element(const struct hc_judge *judge, int out, int64_t index,
                      struct hc_judged_element *e)
{
    const struct hc_call call = reading(judge);
    judge_element(judge, &call, out, index, e);
}

static double larger(double known, double next)
{
    return next > known || isnan(known) ? next : known;
}

static void count(const struct hc_judge *judge, int out, const struct hc_judged_element *e,
                  struct hc_judged_output *r)
{
    const struct hc_tensor *exact = &judge->exact.out[out];
    int bin = 0;
    while (e->ratio > hc_ratio_edges[bin])
        bin++;
    r->count[bin]++;
    r->wrong += e->wrong;
    r->unbounded += isinf(e->bound);
    r->as_exact += judge->has_exact &&
                   hc_same_bits(exact->format, hc_tensor_bits(exact, e->index), e->got_bits);
    r->implementation = larger(r->implementation, e->implementation);
    r->format = larger(r->format, e->format);
    hc_probable_add(&r->probable, e->error, e->deviation);
    hc_probable_add(&r->usual, e->format * e->bound, e->deviation);
    bool first = r->judged == 0;
    if (first || e->ratio > r->worst.ratio ||
        (e->ratio == r->worst.ratio && e->index < r->worst.index))
        r->worst = *e;
    r->judged++;
}

static void join(struct hc_probable *to, const struct hc_probable *from)
{
    to->elements += from->elements;
    to->squares += from->squares;
    to->most = fmax(to->most, from->most);
}

/* Adds what one thread has judged. */
static void add_output(struct hc_judged_output *to, const struct hc_judged_output *from)
{
    bool first = to->judged == 0;
    if (from->judged == 0)
        return;
    if (first || from->worst.ratio > to->worst.ratio ||
        (from->worst.ratio == to->worst.ratio && from->worst.index < to->worst.index))
        to->worst = from->worst;
    for (int b = 0; b < HC_RATIO_BINS; b++)
        to->count[b] += from->count[b];
    to->judged += from->judged;
    to->wrong += from->wrong;
    to->unbounded += from->unbounded;
    to->as_exact += from->as_exact;
    to->implementation = larger(to->implementation, from->implementation);
    to->format = larger(to->format, from->format);
    join(&to->probable, &from->probable);
    join(&to->usual, &from->usual);
}

static const struct hc_judged_output nothing = {.implementation = (double)NAN,
                                                .format = (double)NAN};

/* Judges the elements index[0..n-1], or 0..n-1 if index is NULL. */
static void judge_list(const struct hc_judge *judge, int out, const int64_t *index, int64_t n,
                       struct hc_judged_output *result)
{
    size_t elements = (size_t)hc_tensor_count(&judge->call->out[out]);
    unsigned char *told = n > 1 ? calloc(elements, 1) : NULL; /* without it nothing is said */
#pragma omp parallel if ((double)n * hc_call_length(judge->call) > worth_threads)
    {
        struct hc_judged_output own = nothing;
        const struct hc_call call = reading(judge);
        hc_reference_begin(&call);
#pragma omp for schedule(dynamic, 64)
        for (int64_t k = 0; k < n; k++) {
            struct hc_judged_element e;
            judge_element(judge, &call, out, index ? index[k] : k, &e);
            count(judge, out, &e, &own);
            if (told)
                told[e.index] = e.wrong ? 2 : 1;
        }
#pragma omp critical(hc_judge_add)
        add_output(result, &own);
        hc_reference_end();
    }
    if (told && result->wrong)
        hc_judge_where(&judge->call->out[out], judge->call->op == HC_OP_conv2d_bwd_filter, told,
                       result->where, sizeof result->where);
    free(told);
}

enum hc_status hc_judge_output(const struct hc_judge *judge, int out, int64_t only,
                               struct hc_judged_output *result)
{
    int64_t elements = hc_tensor_count(&judge->call->out[out]);
    int64_t afforded = (int64_t)(affordable / cost(judge->call)) + 1;
    *result = nothing;
    result->elements = elements;
    if (only >= 0) {
        judge_list(judge, out, &only, 1, result);
        return HC_OK;
    }
    if (judge->all || elements <= afforded) {
        judge_list(judge, out, NULL, elements, result);
        return HC_OK;
    }
    int64_t *index = malloc((size_t)afforded * sizeof *index);
    int64_t n = index ? hc_judge_choose(judge, out, afforded, index) : -1;
    if (n >= 0)
        judge_list(judge, out, index, n, result);
    free(index);
    return n >= 0 ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory to choose elements");
}
