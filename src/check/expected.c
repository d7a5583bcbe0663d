/* What is right for the elements of an output: the reference's value in MPFR, and the bound on it.
   What an earlier claim of the same call was held to is not computed again (known.h). */
#include <math.h>

#include "check/bound/bound.h"
#include "check/bound/line.h"
#include "check/generate/integers.h"
#include "check/known.h"
#include "check/raised.h"

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
        hc_reference_begin(&claim->call);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < n; k++)
            expect(claim, out, index[k], &right[k]);
        hc_reference_end();
    }
    hc_known_keep(claim->check->known, claim->known, out, n, index, right);
}
