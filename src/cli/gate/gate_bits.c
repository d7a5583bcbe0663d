/* The bits that kernels gave, where they are promised: what passed on one machine holds on another
   that gives the same. Other bits are worse only if nothing else is another that may be the reason;
   otherwise nobody can tell. */
#include <stdio.h>
#include <string.h>

#include "check/record/parts.h"
#include "cli/gate/gate_rows.h"

static bool is_one_of(const char *const *names, const char *key)
{
    for (; *names; names++)
        if (strcmp(*names, key) == 0)
            return true;
    return false;
}

bool hc_gate_is_bits(const struct hc_record *record, const struct hc_row *row)
{
    const json_t *run = record->parts[row->part].run;
    return hc_row_is_bits(row) && json_is_true(json_object_get(run, "bits_only"));
}

static const json_t *environment_of(const struct hc_record *record, const struct hc_row *row)
{
    const json_t *own = record->parts[row->part].environment;
    return own ? own : record->environment;
}

/* Whether a member is the same in both; one that is null is as good as one that is absent. */
static bool same(const json_t *a, const json_t *b)
{
    bool none_a = !a || json_is_null(a);
    bool none_b = !b || json_is_null(b);
    return none_a || none_b ? none_a == none_b : json_equal((json_t *)a, (json_t *)b);
}

/* Appends "cpu" or ", cpu". */
static void append(char *text, size_t bytes, const char *word)
{
    size_t used = strlen(text);
    if (used + 1 < bytes)
        (void)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", word);
}

/* What of an environment says which machine it was. Everything else is a version of something that
   the bits may depend on, but for what only counts, orders or judges. */
static const char *const machines[] = {"cpu", "cpu_flags", "gpu", "capability", "os", NULL};
static const char *const harmless[] = {"date",    "cores",       "mpfr", "gmp",
                                       "jansson", "fingerprint", NULL};

static void add_other(const char *key, char *others, size_t bytes, enum hc_finding_kind *kind)
{
    append(others, bytes, key);
    if (*kind == HC_FINDING_BITS)
        *kind = is_one_of(machines, key) ? HC_FINDING_MACHINE : HC_FINDING_VERSION;
}

/* Adds the members that are other in `is` than in `was`, or gone, to the list of names. */
static void compare(const json_t *was, const json_t *is, char *others, size_t bytes,
                    enum hc_finding_kind *kind)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)is, key, value)
    {
        if (!is_one_of(harmless, key) && !same(json_object_get(was, key), value))
            add_other(key, others, bytes, kind);
    }
    json_object_foreach((json_t *)was, key, value)
    {
        if (!is_one_of(harmless, key) && !json_object_get(is, key) && !same(value, NULL))
            add_other(key, others, bytes, kind);
    }
}

static void find_other(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char others[300] = "";
    char text[HC_GATE_TEXT];
    enum hc_finding_kind kind = HC_FINDING_BITS;
    compare(environment_of(c->baseline, was), environment_of(c->record, is), others, sizeof others,
            &kind);
    compare(json_object_get(c->baseline->backends, was->backend),
            json_object_get(c->record->backends, is->backend), others, sizeof others, &kind);
    if (kind == HC_FINDING_BITS)
        (void)snprintf(text, sizeof text,
                       "other bits than before, on the same machine, with the "
                       "same versions");
    else
        (void)snprintf(text, sizeof text, "other bits; what else is another: %s", others);
    hc_gate_find(c, kind, is, 0, text);
}

void hc_gate_compare_bits(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    enum hc_bits bits = hc_row_compare_bits(was, is);
    if (bits == HC_BITS_OTHER)
        find_other(c, was, is);
    else if (bits == HC_BITS_UNKNOWN && was->digest_bits > 0)
        hc_gate_find(c, HC_FINDING_DIGEST, is, 0,
                     "the baseline has a digest of its bits, the "
                     "record has none");
    else if (bits == HC_BITS_UNKNOWN && hc_gate_is_bits(c->record, is))
        hc_gate_find(c, HC_FINDING_DIGEST, is, 0,
                     "the record holds bits alone, and the baseline "
                     "has no digest of them");
}

void hc_gate_compare_bits_alone(struct hc_gate *c, const struct hc_row *was,
                                const struct hc_row *is)
{
    if (hc_gate_same_inputs(c, was, is))
        hc_gate_compare_bits(c, was, is);
}
