/* A fingerprint as lines for people, and as the one line of a record. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "check/fingerprint/fingerprint.h"
#include "op/text.h"

/* Where the next words go. */
struct hc_wording {
    char *at;
    size_t room;
};

/* Whether products are aligned, or added exactly, a piece at a time. */
static bool is_pieces(const struct hc_findings_of_shape *f)
{
    return f->order == HC_SUM_PIECES || f->order == HC_SUM_EXACT;
}

static bool same_grid(const struct hc_found_grid *a, const struct hc_found_grid *b)
{
    return a->fraction == b->fraction && a->rounding == b->rounding;
}

static bool same_nan(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return memcmp(a->nan, b->nan, sizeof a->nan) == 0;
}

static bool same_small(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->factors == b->factors && a->small_c == b->small_c &&
           a->small_results == b->small_results;
}

static bool same_zero(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->zero_exponent == b->zero_exponent && a->zero_of_operand == b->zero_of_operand &&
           !a->zero_unknown == !b->zero_unknown;
}

bool hc_findings_equal(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b)
{
    return a->order == b->order && a->piece == b->piece && a->c == b->c &&
           same_grid(&a->products, &b->products) && same_grid(&a->addend, &b->addend) &&
           same_grid(&a->result, &b->result) && a->rounded == b->rounded &&
           a->normalized == b->normalized && a->raised == b->raised && same_small(a, b) &&
           same_nan(a, b) && a->overflow == b->overflow && same_zero(a, b);
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

/* The words for single findings. */

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

/* Adds words to a text that is cut where the room ends. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
wording_add(struct hc_wording *t, const char *format, ...)
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
static void wording_order(struct hc_wording *t, bool brief, const struct hc_findings_of_shape *f)
{
    const char *row = (brief ? short_orders : orders)[f->order];
    const char *number = strstr(row, "%d");
    if (number)
        wording_add(t, "%.*s%d%s", (int)(number - row), row, f->piece, number + 2);
    else
        wording_add(t, "%s", row);
}

static void wording_grid(struct hc_wording *t, const struct hc_found_grid *g)
{
    if (g->fraction < 0)
        wording_add(t, "%s", g->rounding == HC_FOUND_EXACT ? "exact" : "not determined");
    else
        wording_add(t, "%d fraction bits, %s", g->fraction, roundings[g->rounding]);
}

static const char *wording_c(const struct hc_findings_of_shape *f)
{
    switch (f->c) {
    case HC_SUM_C_FIRST:
        return is_pieces(f) || f->order == HC_SUM_PAIRS || f->order == HC_SUM_TWO_CHAINS ||
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

static void wording_small(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    wording_add(t, "factors %s, C %s, results %s", smalls[f->factors], smalls[f->small_c],
                smalls[f->small_results]);
}

static void wording_nan(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    if (f->nan[0] == f->nan[1] && f->nan[0] == f->nan[2])
        wording_add(t, "always 0x%08" PRIx32, f->nan[0]);
    else if (f->no_infinity)
        wording_add(t, "0 * NaN 0x%08" PRIx32 ", NaN - NaN 0x%08" PRIx32 ", alone 0x%08" PRIx32,
                    f->nan[0], f->nan[1], f->nan[2]);
    else
        wording_add(
            t, "0 * inf 0x%08" PRIx32 ", inf - inf 0x%08" PRIx32 ", with a payload 0x%08" PRIx32,
            f->nan[0], f->nan[1], f->nan[2]);
}

static void wording_overflow(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    wording_add(t, "2^127 + 2^127 is 0x%08" PRIx32 "%s", f->overflow,
                f->overflow == 0x7f800000 ? ", infinite" : "");
}

static void wording_zero(struct hc_wording *t, const struct hc_findings_of_shape *f)
{
    if (f->zero_unknown)
        wording_add(t, "not determined: %s", f->zero_unknown);
    else if (f->zero_exponent == HC_ZERO_LOW)
        wording_add(t, "has no exponent that matters");
    else
        wording_add(t, "is aligned as if its exponent were %d%s", f->zero_exponent,
                    f->zero_of_operand ? ", and more beside a large factor" : "");
}

struct telling {
    hc_tell *tell;
    void *context;
    char text[1024];
    struct hc_wording at;
};

static struct hc_wording *begin(struct telling *t)
{
    t->text[0] = '\0';
    t->at = (struct hc_wording){t->text, sizeof t->text};
    return &t->at;
}

static void end(struct telling *t, const char *name)
{
    t->tell(name, t->text, t->context);
}

static void tell_sums(struct telling *t, const struct hc_findings_of_shape *f)
{
    wording_order(begin(t), false, f);
    end(t, "order");
    wording_add(begin(t), "%s", wording_c(f));
    end(t, "C");
    wording_grid(begin(t), &f->products);
    wording_add(&t->at, "%s%s", f->normalized ? ", by the product's own leading bit" : "",
                f->rounded ? "; a product is rounded before it is added" : "");
    end(t, is_pieces(f) ? "products" : "each addition");
    if (f->c == HC_SUM_C_FUSED && !same_grid(&f->addend, &f->products)) {
        wording_grid(begin(t), &f->addend);
        end(t, "C aligned");
    }
    if (!is_pieces(f))
        return;
    begin(t);
    if (f->result.fraction < 0)
        wording_add(&t->at, "not determined: more bits come through than were aligned");
    else
        wording_grid(&t->at, &f->result);
    end(t, "result");
}

static void tell_ends(struct telling *t, const struct hc_findings_of_shape *f)
{
    wording_small(begin(t), f);
    end(t, "subnormals");
    wording_nan(begin(t), f);
    end(t, "NaN");
    if (f->overflow) {
        wording_overflow(begin(t), f);
        end(t, "overflow");
    }
    wording_zero(begin(t), f);
    end(t, "a zero");
}

static void tell_difference(struct telling *t, const struct hc_fingerprint *f)
{
    const struct hc_nearest_model *n = &f->nearest;
    wording_add(begin(t), "%s: %d of %d sums are others", n->unit->name, n->different, f->sums);
    end(t, "nearest");
    begin(t);
    for (int i = 0; i < n->terms && i < 8; i++)
        wording_add(&t->at, "%s[%d] %a * %a", i ? ", " : "", n->index[i], n->a[i], n->b[i]);
    wording_add(&t->at, "%s%sC %a: want 0x%08" PRIx32 " (%.9g), got 0x%08" PRIx32 " (%.9g)",
                n->terms > 8 ? ", ..." : "", n->terms ? ", " : "", n->c, n->want,
                hc_decode(HC_FP32, n->want), n->got, hc_decode(HC_FP32, n->got));
    end(t, "difference");
}

static void tell_models(struct telling *t, const struct hc_fingerprint *f)
{
    begin(t);
    bool plain = hc_fingerprint_is_plain(f);
    if (plain)
        wording_add(&t->at, "plain fp32 in that order, in all of %d sums", f->sums);
    else if (f->equal_count)
        wording_add(&t->at, "%s (%s), in all of %d sums", f->equals[0]->name,
                    hc_unit_certainty_names[f->equals[0]->certainty], f->sums);
    for (int i = plain ? 0 : 1; i < f->equal_count; i++)
        wording_add(&t->at, "%s%s", i == !plain ? "; also " : ", ", f->equals[i]->name);
    if (plain || f->equal_count) {
        end(t, "equals");
        return;
    }
    if (f->in_words)
        wording_add(&t->at, "no unit that is known here; all of %d sums follow from the above",
                    f->sums);
    else
        wording_add(&t->at, "no unit that is known here");
    end(t, "equals");
    if (f->nearest.unit)
        tell_difference(t, f);
}

static void add_shape(struct hc_wording *t, struct hc_gemm_shape s)
{
    wording_add(t, "%d x %d by %d x %d", s.side, s.terms, s.terms, s.side);
}

/* What is otherwise in `o` than in `m`, apart from the order, the first grid and the place of C. */
static void add_changes(struct hc_wording *t, const struct hc_findings_of_shape *o,
                        const struct hc_findings_of_shape *m)
{
    if (!same_grid(&o->result, &m->result) && is_pieces(o)) {
        wording_add(t, "; result ");
        wording_grid(t, &o->result);
    }
    if (!same_grid(&o->addend, &m->addend) && o->c == HC_SUM_C_FUSED) {
        wording_add(t, "; C aligned ");
        wording_grid(t, &o->addend);
    }
    if (o->rounded != m->rounded)
        wording_add(t, "; %s rounded before it is added",
                    o->rounded ? "a product is" : "no product is seen to be");
    if (o->normalized != m->normalized)
        wording_add(t, "; %s the product's own leading bit", o->normalized ? "by" : "not by");
    if (o->raised != m->raised)
        wording_add(t, "; small factors %sraised", o->raised ? "" : "not ");
    if (!same_small(o, m)) {
        wording_add(t, "; subnormals: ");
        wording_small(t, o);
    }
    if (!same_nan(o, m)) {
        wording_add(t, "; NaN ");
        wording_nan(t, o);
    }
    if (o->overflow != m->overflow) {
        wording_add(t, "; ");
        wording_overflow(t, o);
    }
    if (!same_zero(o, m)) {
        wording_add(t, "; a zero ");
        wording_zero(t, o);
    }
}

static void add_other(struct hc_wording *t, const struct hc_found_other *other,
                      const struct hc_findings_of_shape *m)
{
    const struct hc_findings_of_shape *o = &other->found;
    bool equal = hc_findings_equal(o, m);
    if (other->same && other->compared)
        wording_add(t, "the same");
    else if (other->same)
        wording_add(t, "%s, but nothing is known to compare its sums with",
                    o->order == HC_SUM_UNKNOWN
                        ? "no order either, and the other findings are the same"
                        : "all findings are the same");
    else if (equal)
        wording_add(t, "otherwise: all findings are the same");
    else {
        wording_add(t, "otherwise: ");
        wording_order(t, true, o);
        wording_add(t, ", ");
        wording_grid(t, &o->products);
        wording_add(t, "; C %s", wording_c(o));
        add_changes(t, o, m);
    }
    if (other->different)
        wording_add(t, "%s %d of %d sums %s", equal ? ", but" : ";", other->different, other->sums,
                    other->different_numbers ? "are others" : "are other codes of NaN");
}

static void tell_shapes(struct telling *t, const struct hc_fingerprint *f)
{
    for (int i = 0; i < f->other_count; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "%d x %d x %d", f->other[i].shape.side,
                       f->other[i].shape.side, f->other[i].shape.terms);
        add_other(begin(t), &f->other[i], &f->main);
        end(t, name);
    }
}

void hc_fingerprint_tell(const struct hc_fingerprint *f, hc_tell *tell, void *context)
{
    struct telling t = {.tell = tell, .context = context};
    add_shape(begin(&t), f->main.shape);
    end(&t, "probed");
    tell_sums(&t, &f->main);
    tell_ends(&t, &f->main);
    tell_models(&t, f);
    tell_shapes(&t, f);
}

/* Changed bits alone are a change, too: the digest is of all answers. */
void hc_fingerprint_text(const struct hc_fingerprint *f, char text[HC_FINGERPRINT_TEXT])
{
    struct hc_wording t = {text, HC_FINGERPRINT_TEXT};
    const struct hc_findings_of_shape *m = &f->main;
    uint64_t trace = m->trace;
    text[0] = '\0';
    if (hc_fingerprint_is_plain(f))
        wording_add(&t, "plain fp32, in order");
    else if (f->equal_count)
        wording_add(&t, "%s", f->equals[0]->name);
    else {
        wording_order(&t, true, m);
        wording_add(&t, ", ");
        wording_grid(&t, &m->products);
        if (is_pieces(m)) {
            wording_add(&t, "; result ");
            wording_grid(&t, &m->result);
        }
        if (m->factors == HC_SMALL_FLUSHED || m->small_c == HC_SMALL_FLUSHED ||
            m->small_results == HC_SMALL_FLUSHED)
            wording_add(&t, "; small ones flushed");
    }
    for (int i = 0; i < f->other_count; i++) {
        trace = (trace ^ f->other[i].found.trace) * 0x100000001b3u;
        if (!f->other[i].same)
            wording_add(&t, "; not at %d x %d x %d", f->other[i].shape.side, f->other[i].shape.side,
                        f->other[i].shape.terms);
    }
    wording_add(&t, "; bits %08" PRIx32, (uint32_t)(trace >> 32));
}
