/* Matrix units as rows. */
#include <stdio.h>

#include "check/record/json.h"
#include "cli/lists.h"
#include "unit/unit.h"

static void put(json_t *o, const char *key, const char *text)
{
    (void)json_object_set_new(o, key, text ? hc_json_text(text) : json_null());
}

/* A column that is empty where the unit's rule does not read it. */
static void put_number(json_t *o, const char *key, bool has, int number)
{
    (void)json_object_set_new(o, key, has ? json_integer(number) : json_null());
}

static bool aligns(const struct hc_unit *u)
{
    return u->rule == HC_UNIT_FUSED || u->rule == HC_UNIT_GROUPED || u->rule == HC_UNIT_FLOORED ||
           u->rule == HC_UNIT_FLOORED_HALVES;
}

static json_t *description(const struct hc_unit *u)
{
    static const char *const inputs[] = {
        [HC_INPUTS_KEPT] = "kept",
        [HC_INPUTS_SIGNED_ZERO] = "zeros of their sign",
        [HC_INPUTS_POSITIVE_ZERO] = "+0",
    };
    static const char *const underflow[] = {
        [HC_UNDERFLOW_GRADUAL] = "gradual",
        [HC_UNDERFLOW_FLUSHED_AFTER] = "flushed after rounding",
        [HC_UNDERFLOW_FLUSHED_UNBOUNDED] = "flushed after rounding with unbounded exponent",
    };
    static const char *const nans[] = {
        [HC_NANS_CANONICAL] = "one code",
        [HC_NANS_ANY] = "any",
        [HC_NANS_FIRST] = "the first operand's",
    };
    static const char *const zeros[] = {
        [HC_ZERO_IGNORED] = "ignored",
        [HC_ZERO_FIXED] = "fixed",
        [HC_ZERO_OPERAND] = "of the operand",
    };
    json_t *o = json_object();
    char nan[16];
    (void)snprintf(nan, sizeof nan, "%0*x", hc_operands[u->d].bits / 4, u->nan);
    put(o, "machine", u->title);
    put(o, "instruction", u->instruction);
    put(o, "a", hc_operands[u->a].name);
    put(o, "b", hc_operands[u->b].name);
    put(o, "c", hc_operands[u->c].name);
    put(o, "d", hc_operands[u->d].name);
    put(o, "scale", u->scale == HC_OPERAND_NONE ? NULL : hc_operands[u->scale].name);
    put_number(o, "block", u->block > 0, u->block);
    put_number(o, "group", u->group > 0, u->group);
    put(o, "alignment", aligns(u) ? hc_unit_rounding_names[u->alignment] : NULL);
    put_number(o, "floor fraction", u->floor_fraction > 0, u->floor_fraction);
    put_number(o, "total fraction", u->total_fraction > 0, u->total_fraction);
    put(o, "zero product", aligns(u) ? zeros[u->zero] : NULL);
    put_number(o, "exponent of a zero C", aligns(u), u->zero_c_exponent);
    put(o, "subnormal operands", inputs[u->inputs]);
    put(o, "underflow", underflow[u->underflow]);
    put(o, "NaN", nans[u->nans]);
    put(o, "NaN code", nan);
    put(o, "variant of", u->variant_of);
    return o;
}

void hc_list_units(json_t *rows)
{
    int n;
    const struct hc_unit *units = hc_units(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_unit *u = &units[i];
        json_t *o = json_object();
        char operands[64];
        (void)snprintf(operands, sizeof operands, "%s*%s+%s=%s", hc_operands[u->a].name,
                       hc_operands[u->b].name, hc_operands[u->c].name, hc_operands[u->d].name);
        put(o, "name", u->name);
        put(o, "operands", operands);
        put(o, "rule", hc_unit_rule_names[u->rule]);
        put_number(o, "k", true, u->k);
        put_number(o, "piece", true, u->piece);
        put_number(o, "fraction bits", aligns(u), u->fraction);
        put(o, "rounding", hc_unit_rounding_names[u->output]);
        put_number(o, "bits of d", true, u->output_fraction);
        put_number(o, "zero exponent", aligns(u) && u->zero != HC_ZERO_IGNORED, u->zero_exponent);
        put(o, "certainty", hc_unit_certainty_names[u->certainty]);
        put(o, "source", u->source);
        (void)json_object_set_new(o, "description", description(u));
        (void)json_array_append_new(rows, o);
    }
}
