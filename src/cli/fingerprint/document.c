#include "cli/fingerprint/document.h"

#include <inttypes.h>

#include "check/record/json.h"

static void add(const char *name, const char *fact, void *context)
{
    (void)json_object_set_new(context, name, hc_json_text(fact));
}

static json_t *accumulator(const struct hc_fingerprint *f)
{
    struct hc_accumulator a;
    if (!hc_fingerprint_accumulator(f, &a))
        return json_null();
    return json_pack("{s:i, s:i, s:i, s:b, s:b, s:b}", "precision", a.precision, "block", a.block,
                     "extra_bits", a.extra_bits, "truncates", a.truncates, "flushes", a.flushes,
                     "aligns_subnormals", a.aligns_subnormals);
}

static json_t *nearest(const struct hc_fingerprint *f)
{
    const struct hc_nearest_model *n = &f->nearest;
    if (f->equal_count || hc_fingerprint_is_plain(f) || !n->unit)
        return json_null();
    json_t *terms = json_array();
    for (int i = 0; i < n->terms && i < 8; i++)
        (void)json_array_append_new(terms,
                                    json_pack("{s:i, s:o, s:o}", "index", n->index[i], "a",
                                              hc_json_real(n->a[i]), "b", hc_json_real(n->b[i])));
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:o, s:o}", "model", n->unit->name, "different", n->different,
                  "products", n->terms, "terms", terms, "c", hc_json_real(n->c));
    (void)json_object_set_new(o, "want", json_sprintf("0x%08" PRIx32, n->want));
    (void)json_object_set_new(o, "got", json_sprintf("0x%08" PRIx32, n->got));
    return o;
}

json_t *hc_fingerprint_document(const char *backend, const struct hc_fingerprint *f)
{
    char text[HC_FINGERPRINT_TEXT];
    json_t *findings = json_object();
    json_t *equals = json_array();
    hc_fingerprint_text(f, text);
    hc_fingerprint_tell(f, add, findings);
    for (int i = 0; i < f->equal_count; i++)
        (void)json_array_append_new(equals, json_string(f->equals[i]->name));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:i, s:b, s:o, s:o, s:I}", "backend",
                     hc_json_text(backend), "format", hc_formats[f->format].name, "text",
                     hc_json_text(text), "findings", findings, "equals", equals, "sums", f->sums,
                     "follows", f->in_words, "nearest", nearest(f), "accumulator", accumulator(f),
                     "calls", (json_int_t)f->calls);
}
