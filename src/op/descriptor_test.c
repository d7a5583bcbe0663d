/* Every descriptor is complete: what it leaves out would be left out of checks, of the generated
   cases and of the contract that people read. */
#include "op/descriptor.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "op/later.h"

static bool is_output(enum hc_op op, int slot)
{
    return slot >= hc_ops[op].inputs;
}

/* A lower-case identifier. */
static bool is_name(const char *name)
{
    for (const char *c = name; c && *c; c++)
        if (!islower((unsigned char)*c) && *c != '_' && !(c > name && isdigit((unsigned char)*c)))
            return false;
    return name && name[0];
}

Test(descriptor, every_op_has_one_with_as_many_slots_as_ops_def_says)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        const struct hc_descriptor *d = hc_descriptor((enum hc_op)op);
        cr_assert_not_null(d, "%s", hc_ops[op].name);
        for (int i = 0; i < HC_MAX_IN; i++)
            cr_expect_eq(d->in[i].name != NULL, i < hc_ops[op].inputs, "%s: input %d",
                         hc_ops[op].name, i);
        for (int o = 0; o < HC_MAX_OUT; o++)
            cr_expect_eq(d->out[o].name != NULL, o < hc_ops[op].outputs, "%s: output %d",
                         hc_ops[op].name, o);
    }
}

Test(descriptor, names_are_identifiers_and_those_of_an_op_are_unique)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int slot = 0; slot < hc_slot_count((enum hc_op)op); slot++) {
            const char *name = hc_slot((enum hc_op)op, slot)->name;
            cr_assert(is_name(name), "%s: '%s'", hc_ops[op].name, name ? name : "");
            for (int other = 0; other < slot; other++)
                cr_expect_neq(strcmp(name, hc_slot((enum hc_op)op, other)->name), 0, "%s: %s twice",
                              hc_ops[op].name, name);
        }
}

Test(descriptor, a_number_of_elements_belongs_to_fixed_slots_and_a_shape_to_those_of_a_rule)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            const struct hc_descriptor *d = hc_descriptor((enum hc_op)op);
            cr_expect_eq(s->count > 0, s->size == HC_SIZE_FIXED, "%s: %s", hc_ops[op].name,
                         s->name);
            bool first = i == HC_FIRST && s->size == HC_SIZE_FIRST && d->rule; /* of some ranks */
            cr_expect(first || (s->shape != NULL) == (s->size == HC_SIZE_RULE), "%s: %s",
                      hc_ops[op].name, s->name);
            cr_expect(!s->note || d->rule, "%s: no rule for %s", hc_ops[op].name, s->name);
            cr_expect(s->size != HC_SIZE_RULE || d->rule, "%s: no rule for %s", hc_ops[op].name,
                      s->name);
        }
}

Test(descriptor, inputs_say_what_generated_cases_fill_them_with_and_outputs_nothing)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            bool output = is_output((enum hc_op)op, i);
            cr_expect_eq(s->values == HC_VALUES_NONE, output, "%s: %s", hc_ops[op].name, s->name);
            cr_expect(!output || s->pass == HC_PASS_NOTHING, "%s: %s", hc_ops[op].name, s->name);
        }
}

/* Whether a line of the text explains the name: five blanks, then names separated by commas, one of
   them this, then two blanks. An output new_X may stand under X. */
static bool explains(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "     ", 5) != 0)
            continue;
        const char *end = line + 5 + strcspn(line + 5, "\n");
        const char *gap = strstr(line + 5, "  ");
        for (const char *at = line + 5; at < (gap && gap < end ? gap : end); at++) {
            size_t word = strcspn(at, ", \n");
            if (word == length && strncmp(at, name, length) == 0)
                return true;
            at += word;
        }
    }
    return strncmp(name, "new_", 4) == 0 && explains(text, name + 4);
}

Test(descriptor, the_contract_in_words_explains_every_slot_by_its_name)
{
    static char text[1 << 15];
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char path[4096];
        if (hc_ops[op].class_ == HC_CLASS_DEFINED)
            continue; /* its slots are those of its definition: define/op_test.c */
        (void)snprintf(path, sizeof path, "%s/%s", HC_SOURCE, hc_op_contract((enum hc_op)op));
        FILE *file = fopen(path, "r");
        cr_assert_not_null(file, "%s", path);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        (void)fclose(file);
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++)
            cr_expect(explains(text, hc_slot((enum hc_op)op, i)->name), "%s: %s", hc_ops[op].name,
                      hc_slot((enum hc_op)op, i)->name);
    }
}

/* Formats are equal where the one is the other's, or both follow the same rule; where that allows
   several, hc_call_check looks at the tensors before it lets them be one. */
Test(descriptor, an_output_in_place_has_the_format_and_the_size_of_its_input)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int o = 0; o < hc_ops[op].outputs; o++) {
            const struct hc_descriptor *d = hc_descriptor((enum hc_op)op);
            const struct hc_slot *out = &d->out[o];
            const struct hc_slot *in = &d->in[out->like];
            bool several = in->format == HC_ALLOW_FLOAT || in->format == HC_ALLOW_ANY;
            cr_expect(out->like >= 0 && out->like < hc_ops[op].inputs, "%s: %s", hc_ops[op].name,
                      out->name);
            if (!out->in_place)
                continue;
            cr_expect(out->format == HC_ALLOW_LIKE || out->format == in->format ||
                          (several && out->format == HC_ALLOW_FLOAT) ||
                          (in->format == HC_ALLOW_FP32 && out->format == HC_ALLOW_FLOAT),
                      "%s: the format of %s", hc_ops[op].name, out->name);
            bool first = out->size == HC_SIZE_FIRST && out->like == HC_FIRST;
            bool larger = in->size == HC_SIZE_RULE && out->size == HC_SIZE_FIXED; /* augment's steps
            */
            cr_expect(first || larger || (out->size == in->size && out->count == in->count),
                      "%s: the size of %s", hc_ops[op].name, out->name);
            for (int other = 0; other < o; other++)
                cr_expect(!d->out[other].in_place || d->out[other].like != out->like,
                          "%s: %s and %s in one place", hc_ops[op].name, out->name,
                          d->out[other].name);
        }
}

Test(descriptor, a_format_is_taken_from_an_input_that_is_never_absent_or_absent_together)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            const struct hc_slot *like = &hc_descriptor((enum hc_op)op)->in[s->like];
            if (s->format != HC_ALLOW_LIKE && s->format != HC_ALLOW_LIKE_OR_FP8 &&
                s->format != HC_ALLOW_LIKE_CODES)
                continue;
            cr_expect(like != s && (is_output((enum hc_op)op, i) || s->like < i), "%s: %s",
                      hc_ops[op].name, s->name);
            cr_expect(!like->optional || s->optional, "%s: %s", hc_ops[op].name, s->name);
        }
}

Test(descriptor, all_elements_of_hyperparameters_counts_and_verdicts_have_names)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            bool several = s->size == HC_SIZE_FIXED && s->count > 1;
            cr_expect_eq(s->elements != NULL, several, "%s: %s", hc_ops[op].name, s->name);
            for (int e = 0; s->elements && e < s->count; e++)
                cr_expect(s->elements[e] && is_name(s->elements[e]), "%s: %s[%d]", hc_ops[op].name,
                          s->name, e);
        }
}

/* The second statement of what may be absent: a kernel must look before it reads these, and no
   other. */
Test(descriptor, the_slots_that_may_be_absent_are_these)
{
    static const char *const optional[HC_OP_ROOM] = {
        [HC_OP_unscale] = " found_inf override",
        [HC_OP_sum_squares] = " partial",
        [HC_OP_gemm] = " c",
        [HC_OP_xent] = " correct",
        [HC_OP_sgd] = " found_inf compensation new_compensation",
        [HC_OP_adam] = " found_inf compensation new_compensation",
        [HC_OP_adamw] = " found_inf compensation new_compensation",
        [HC_OP_scaler_update] = " found_inf",
        [HC_OP_overflow_verdict] = " found_inf",
        [HC_OP_step_log] = " scalar0 scalar1 scalar2 scalar3",
        [HC_OP_clip] = " overflowed",
        [HC_OP_augment] = " order new_steps",
        [HC_OP_quantize] = " scale",
        [HC_OP_dequantize] = " tensor",
        [HC_OP_gemm_q] = " c a_tensor b_tensor",
    };
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char got[128] = "";
        for (int i = 0; i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            if (s->optional)
                (void)snprintf(got + strlen(got), sizeof got - strlen(got), " %s", s->name);
        }
        cr_expect_str_eq(got, optional[op] ? optional[op] : "", "%s:%s", hc_ops[op].name, got);
    }
}

/* A sum has a length, and it is not that of an op whose elements are on their own. */
Test(descriptor, sums_say_how_long_they_are)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        const struct hc_descriptor *d = hc_descriptor((enum hc_op)op);
        enum hc_op_class class_ = hc_ops[op].class_;
        bool sums = class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM ||
                    class_ == HC_CLASS_CONV || class_ == HC_CLASS_LOSS ||
                    class_ == HC_CLASS_COLLECTIVE;
        cr_expect(!sums || d->length, "%s", hc_ops[op].name);
        bool over_ranks = class_ == HC_CLASS_COLLECTIVE;
        cr_expect(!hc_op_settled((enum hc_op)op) || over_ranks || !d->length, "%s",
                  hc_ops[op].name);
        cr_expect(!d->through_fp32 || !d->length, "%s", hc_ops[op].name);
    }
}

/* Where fp64 is allowed, all of a network's op is in it, but for labels, hyperparameters, flags and
   numbers of elements. */
Test(descriptor, ops_in_fp64_begin_with_a_tensor_that_can_be_fp64)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        const struct hc_descriptor *d = hc_descriptor((enum hc_op)op);
        for (int i = 0; d->fp64 && i < hc_slot_count((enum hc_op)op); i++) {
            const struct hc_slot *s = hc_slot((enum hc_op)op, i);
            bool small = s->values == HC_VALUES_HYPER || s->values == HC_VALUES_FLAG ||
                         s->values == HC_VALUES_LABELS || s->values == HC_VALUES_SHARE;
            bool floats = s->format == HC_ALLOW_FLOAT || s->format == HC_ALLOW_FLOAT_OR_FP8;
            bool wide = floats || s->format == HC_ALLOW_WIDE || s->format == HC_ALLOW_LIKE ||
                        s->format == HC_ALLOW_LIKE_OR_FP8;
            cr_expect(i == 0 ? floats : wide || small, "%s: %s", hc_ops[op].name, s->name);
        }
        for (int i = 0; !d->fp64 && i < hc_slot_count((enum hc_op)op); i++)
            cr_expect_neq(hc_slot((enum hc_op)op, i)->format, HC_ALLOW_WIDE, "%s", hc_ops[op].name);
    }
}
