/* The words for single findings. */
#include "check/fingerprint/wording.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "check/fingerprint/findings.h"
#include "op/text.h"

static const char *const orders[HC_SUM_ORDERS] = {
    [HC_SUM_UNKNOWN] = "not determined: no order that is known here explains what is lost",
    [HC_SUM_IN_ORDER] = "one product after the other",
    [HC_SUM_ODD_FIRST] = "one product after the other, of each pair the second one first",
    [HC_SUM_BLOCKS] = "blocks of up to %d, one product after the other; then the blocks in order",
    [HC_SUM_TWO_CHAINS] = "blocks of %d: even products and odd ones apart, then both together",
    [HC_SUM_PAIRS] = "pieces of %d, added two by two; one piece after the other",
    [HC_SUM_PIECES] = "pieces of %d, aligned and added at once; one piece after the other",
    [HC_SUM_EXACT] = "pieces of %d, added exactly and rounded once; one after the other",
    [HC_SUM_WHOLE] = "nothing is lost in the whole sum",
};

static const char *const short_orders[HC_SUM_ORDERS] = {
    [HC_SUM_UNKNOWN] = "unknown order",
    [HC_SUM_IN_ORDER] = "in order",
    [HC_SUM_ODD_FIRST] = "odd first",
    [HC_SUM_BLOCKS] = "in blocks of up to %d",
    [HC_SUM_TWO_CHAINS] = "two chains, %d",
    [HC_SUM_PAIRS] = "pairs in %d",
    [HC_SUM_PIECES] = "%d at once",
    [HC_SUM_EXACT] = "%d exactly",
    [HC_SUM_WHOLE] = "exact",
};

static const char *const roundings[HC_FOUND_ROUNDINGS] = {
    [HC_FOUND_OTHER] = "in no way that is known here",
    [HC_FOUND_NEAREST] = "to nearest",
    [HC_FOUND_CUT] = "cut",
    [HC_FOUND_FLOOR] = "to floor",
    [HC_FOUND_ODD] = "to odd",
    [HC_FOUND_AWAY] = "to nearest, ties away from 0",
    [HC_FOUND_EXACT] = "exact",
};

static const char *const smalls[] = {[HC_SMALL_UNKNOWN] = "not seen",
                                     [HC_SMALL_KEPT] = "kept",
                                     [HC_SMALL_FLUSHED] = "flushed to 0",
                                     [HC_SMALL_OTHER] = "changed"};

void hc_wording_add(struct hc_wording *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = hc_text_format(t->at, t->room, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : (size_t)length < t->room ? (size_t)length : t->room - 1;
    t->at += used;
    t->room -= used;
}

/* The rows have at most one %d. */
void hc_wording_order(struct hc_wording *t, bool brief, const struct hc_findings_of_shape *f)
{
    const char *row = (brief ? short_orders : orders)[f->order];
    const char *number = strstr(row, "%d");
    if (number)
        hc_wording_add(t, "%.*s%d%s", (int)(number - row), row, f->piece, number + 2);
    else
        hc_wording_add(t, "%s", row);
}

void hc_wording_grid(struct hc_wording *t, const struct hc_found_grid *g)
{
    if (g->fraction < 0)
        hc_wording_add(t, "%s", g->rounding == HC_FOUND_EXACT ? "exact" : "not determined");
    else
        hc_wording_add(t, "%d fraction bits, %s", g->fraction, roundings[g->rounding]);
}

const char *hc_wording_c(const struct hc_findings_of_shape *f)
{
    switch (f->c) {
    case HC_SUM_C_FIRST:
        return hc_is_pieces(f) || f->order == HC_SUM_PAIRS || f->order == HC_SUM_TWO_CHAINS ||
                       f->order == HC_SUM_BLOCKS
                   ? "is added to the sum of the first"
                   : "comes first";
    case HC_SUM_C_FUSED:
        return "joins the first piece";
    case HC_SUM_C_LAST:
        return "is added to the rounded sum, at the end";
    case HC_SUM_C_NONE:
        return "not determined: the kernel takes none";
    default:
        return "not determined: it comes neither first nor last";
    }
}

void hc_wording_small(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    hc_wording_add(t, "factors %s, C %s, results %s", smalls[f->factors], smalls[f->small_c],
                   smalls[f->small_results]);
}

void hc_wording_nan(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    if (f->nan[0] == f->nan[1] && f->nan[0] == f->nan[2])
        hc_wording_add(t, "always 0x%08" PRIx32, f->nan[0]);
    else if (f->no_infinity)
        hc_wording_add(t, "0 * NaN 0x%08" PRIx32 ", NaN - NaN 0x%08" PRIx32 ", alone 0x%08" PRIx32,
                       f->nan[0], f->nan[1], f->nan[2]);
    else
        hc_wording_add(
            t, "0 * inf 0x%08" PRIx32 ", inf - inf 0x%08" PRIx32 ", with a payload 0x%08" PRIx32,
            f->nan[0], f->nan[1], f->nan[2]);
}

void hc_wording_overflow(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    hc_wording_add(t, "2^127 + 2^127 is 0x%08" PRIx32 "%s", f->overflow,
                   f->overflow == 0x7f800000 ? ", infinite" : "");
}

void hc_wording_zero(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    if (f->zero_unknown)
        hc_wording_add(t, "not determined: %s", f->zero_unknown);
    else if (f->zero_exponent == HC_ZERO_LOW)
        hc_wording_add(t, "has no exponent that matters");
    else
        hc_wording_add(t, "is aligned as if its exponent were %d%s", f->zero_exponent,
                       f->zero_of_operand ? ", and more beside a large factor" : "");
}
