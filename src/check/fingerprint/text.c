/* A fingerprint as lines for people, and as the one line of a record. */
#include <inttypes.h>
#include <stdio.h>

#include "check/fingerprint/findings.h"
#include "check/fingerprint/wording.h"

struct teller {
    hc_tell *tell;
    void *context;
    char text[1024];
    struct hc_wording at;
};

static struct hc_wording *begin(struct teller *t)
{
    t->text[0] = '\0';
    t->at = (struct hc_wording){t->text, sizeof t->text};
    return &t->at;
}

static void end(struct teller *t, const char *name)
{
    t->tell(name, t->text, t->context);
}

static void tell_sums(struct teller *t, const struct hc_findings_of_shape *f)
{
    hc_wording_order(begin(t), false, f);
    end(t, "order");
    hc_wording_add(begin(t), "%s", hc_wording_c(f));
    end(t, "C");
    hc_wording_grid(begin(t), &f->products);
    hc_wording_add(&t->at, "%s%s", f->normalized ? ", by the product's own leading bit" : "",
                   f->rounded ? "; a product is rounded before it is added" : "");
    end(t, hc_is_pieces(f) ? "products" : "each addition");
    if (f->c == HC_SUM_C_FUSED && !hc_same_grid(&f->addend, &f->products)) {
        hc_wording_grid(begin(t), &f->addend);
        end(t, "C aligned");
    }
    if (!hc_is_pieces(f))
        return;
    begin(t);
    if (f->result.fraction < 0)
        hc_wording_add(&t->at, "not determined: more bits come through than were aligned");
    else
        hc_wording_grid(&t->at, &f->result);
    end(t, "result");
}

static void tell_ends(struct teller *t, const struct hc_findings_of_shape *f)
{
    hc_wording_small(begin(t), f);
    end(t, "subnormals");
    hc_wording_nan(begin(t), f);
    end(t, "NaN");
    if (f->overflow) {
        hc_wording_overflow(begin(t), f);
        end(t, "overflow");
    }
    hc_wording_zero(begin(t), f);
    end(t, "a zero");
}

static void tell_difference(struct teller *t, const struct hc_fingerprint *f)
{
    const struct hc_nearest_model *n = &f->nearest;
    hc_wording_add(begin(t), "%s: %d of %d sums are others", n->unit->name, n->different, f->sums);
    end(t, "nearest");
    begin(t);
    for (int i = 0; i < n->terms && i < 8; i++)
        hc_wording_add(&t->at, "%s[%d] %a * %a", i ? ", " : "", n->index[i], n->a[i], n->b[i]);
    hc_wording_add(&t->at, "%s%sC %a: want 0x%08" PRIx32 " (%.9g), got 0x%08" PRIx32 " (%.9g)",
                   n->terms > 8 ? ", ..." : "", n->terms ? ", " : "", n->c, n->want,
                   hc_decode(HC_FP32, n->want), n->got, hc_decode(HC_FP32, n->got));
    end(t, "difference");
}

static void tell_models(struct teller *t, const struct hc_fingerprint *f)
{
    begin(t);
    bool plain = hc_fingerprint_is_plain(f);
    if (plain)
        hc_wording_add(&t->at, "plain fp32 in that order, in all of %d sums", f->sums);
    else if (f->equal_count)
        hc_wording_add(&t->at, "%s (%s), in all of %d sums", f->equals[0]->name,
                       hc_unit_certainty_names[f->equals[0]->certainty], f->sums);
    for (int i = plain ? 0 : 1; i < f->equal_count; i++)
        hc_wording_add(&t->at, "%s%s", i == !plain ? "; also " : ", ", f->equals[i]->name);
    if (plain || f->equal_count) {
        end(t, "equals");
        return;
    }
    if (f->in_words)
        hc_wording_add(&t->at, "no unit that is known here; all of %d sums follow from the above",
                       f->sums);
    else
        hc_wording_add(&t->at, "no unit that is known here");
    end(t, "equals");
    if (f->nearest.unit)
        tell_difference(t, f);
}

static void add_shape(struct hc_wording *t, struct hc_gemm_shape s)
{
    hc_wording_add(t, "%d x %d by %d x %d", s.side, s.terms, s.terms, s.side);
}

/* What is otherwise in `o` than in `m`, apart from the order, the first grid and the place of C. */
static void add_changes(struct hc_wording *t, const struct hc_findings_of_shape *o,
                        const struct hc_findings_of_shape *m)
{
    if (!hc_same_grid(&o->result, &m->result) && hc_is_pieces(o)) {
        hc_wording_add(t, "; result ");
        hc_wording_grid(t, &o->result);
    }
    if (!hc_same_grid(&o->addend, &m->addend) && o->c == HC_SUM_C_FUSED) {
        hc_wording_add(t, "; C aligned ");
        hc_wording_grid(t, &o->addend);
    }
    if (o->rounded != m->rounded)
        hc_wording_add(t, "; %s rounded before it is added",
                       o->rounded ? "a product is" : "no product is seen to be");
    if (o->normalized != m->normalized)
        hc_wording_add(t, "; %s the product's own leading bit", o->normalized ? "by" : "not by");
    if (o->raised != m->raised)
        hc_wording_add(t, "; small factors %sraised", o->raised ? "" : "not ");
    if (!hc_same_small(o, m)) {
        hc_wording_add(t, "; subnormals: ");
        hc_wording_small(t, o);
    }
    if (!hc_same_nan(o, m)) {
        hc_wording_add(t, "; NaN ");
        hc_wording_nan(t, o);
    }
    if (o->overflow != m->overflow) {
        hc_wording_add(t, "; ");
        hc_wording_overflow(t, o);
    }
    if (!hc_same_zero(o, m)) {
        hc_wording_add(t, "; a zero ");
        hc_wording_zero(t, o);
    }
}

static void add_other(struct hc_wording *t, const struct hc_found_other *other,
                      const struct hc_findings_of_shape *m)
{
    const struct hc_findings_of_shape *o = &other->found;
    bool equal = hc_findings_equal(o, m);
    if (other->same && other->compared)
        hc_wording_add(t, "the same");
    else if (other->same)
        hc_wording_add(t, "%s, but nothing is known to compare its sums with",
                       o->order == HC_SUM_UNKNOWN
                           ? "no order either, and the other findings are the same"
                           : "all findings are the same");
    else if (equal)
        hc_wording_add(t, "otherwise: all findings are the same");
    else {
        hc_wording_add(t, "otherwise: ");
        hc_wording_order(t, true, o);
        hc_wording_add(t, ", ");
        hc_wording_grid(t, &o->products);
        hc_wording_add(t, "; C %s", hc_wording_c(o));
        add_changes(t, o, m);
    }
    if (other->different)
        hc_wording_add(t, "%s %d of %d sums %s", equal ? ", but" : ";", other->different,
                       other->sums,
                       other->different_numbers ? "are others" : "are other codes of NaN");
}

static void tell_shapes(struct teller *t, const struct hc_fingerprint *f)
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
    struct teller t = {.tell = tell, .context = context};
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
        hc_wording_add(&t, "plain fp32, in order");
    else if (f->equal_count)
        hc_wording_add(&t, "%s", f->equals[0]->name);
    else {
        hc_wording_order(&t, true, m);
        hc_wording_add(&t, ", ");
        hc_wording_grid(&t, &m->products);
        if (hc_is_pieces(m)) {
            hc_wording_add(&t, "; result ");
            hc_wording_grid(&t, &m->result);
        }
        if (m->factors == HC_SMALL_FLUSHED || m->small_c == HC_SMALL_FLUSHED ||
            m->small_results == HC_SMALL_FLUSHED)
            hc_wording_add(&t, "; small ones flushed");
    }
    for (int i = 0; i < f->other_count; i++) {
        trace = (trace ^ f->other[i].found.trace) * 0x100000001b3u;
        if (!f->other[i].same)
            hc_wording_add(&t, "; not at %d x %d x %d", f->other[i].shape.side,
                           f->other[i].shape.side, f->other[i].shape.terms);
    }
    hc_wording_add(&t, "; bits %08" PRIx32, (uint32_t)(trace >> 32));
}
