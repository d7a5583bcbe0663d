/* Two findings side by side. */
#include "check/fingerprint/findings.h"

#include <string.h>

bool hc_is_pieces(const struct hc_findings_of_shape *f)
{
    return f->order == HC_SUM_PIECES || f->order == HC_SUM_EXACT;
}

bool hc_same_grid(const struct hc_found_grid *a, const struct hc_found_grid *b)
{
    return a->fraction == b->fraction && a->rounding == b->rounding;
}

bool hc_same_nan(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return memcmp(a->nan, b->nan, sizeof a->nan) == 0;
}

bool hc_same_small(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->factors == b->factors && a->small_c == b->small_c &&
           a->small_results == b->small_results;
}

bool hc_same_zero(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->zero_exponent == b->zero_exponent && a->zero_of_operand == b->zero_of_operand &&
           !a->zero_unknown == !b->zero_unknown;
}

bool hc_findings_equal(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->order == b->order && a->piece == b->piece && a->c == b->c &&
           hc_same_grid(&a->products, &b->products) && hc_same_grid(&a->addend, &b->addend) &&
           hc_same_grid(&a->result, &b->result) && a->rounded == b->rounded &&
           a->normalized == b->normalized && a->raised == b->raised && hc_same_small(a, b) &&
           hc_same_nan(a, b) && a->overflow == b->overflow && hc_same_zero(a, b);
}

static bool is_kept(enum hc_found_small small)
{
    return small == HC_SMALL_KEPT || small == HC_SMALL_UNKNOWN;
}

bool hc_fingerprint_is_plain(const struct hc_fingerprint *f)
{
    const struct hc_findings_of_shape *m = &f->main;
    return f->in_words && m->order == HC_SUM_IN_ORDER && m->products.fraction == 23 &&
           m->products.rounding == HC_FOUND_NEAREST && is_kept(m->factors) && is_kept(m->small_c) &&
           is_kept(m->small_results);
}
