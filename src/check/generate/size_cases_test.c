/* No format of an op is without a large call. */
#include "check/generate/cases.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/defined.h"
#include "op/descriptor.h"

static bool has_case(enum hc_op op, const struct hc_format_set *set)
{
    const struct hc_case_table *table = hc_size_cases();
    char begin[96];
    (void)snprintf(begin, sizeof begin, "size/%s/%s/", hc_ops[op].name, set->name);
    bool found = false;
    for (int i = 0; i < table->count; i++)
        found |= strncmp(table->cases[i].name, begin, strlen(begin)) == 0 &&
                 table->cases[i].level <= HC_STANDARD;
    return found;
}

static bool is_taken(enum hc_op op, const struct hc_format_set *set)
{
    bool taken = false;
    for (const struct hc_variant *v = hc_opspace(op).variants; v->name; v++)
        taken |= hc_format_set_allowed(op, set, v);
    return taken;
}

/* Tables of rows and one number are never large. */
static bool is_small(enum hc_op op)
{
    return op == HC_OP_rates || op == HC_OP_step_log || op == HC_OP_clip;
}

Test(size_cases, every_format_of_every_op_has_a_large_call_at_level_standard)
{
    int sets = 0;
    for (int o = 0; o < HC_OP_COUNT; o++) {
        enum hc_op op = (enum hc_op)o;
        if (is_small(op))
            continue;
        for (const struct hc_format_set *s = hc_opspace(op).sets; s->name; s++)
            if (is_taken(op, s)) {
                cr_expect(has_case(op, s), "%s has no large call in %s", hc_ops[op].name, s->name);
                sets++;
            }
    }
    cr_assert_geq(sets, 330, "%d sets", sets);
}

/* What a definition says of elements alone takes no axis above 2^24. */
Test(size_cases, a_large_call_is_one_that_its_op_takes)
{
    const struct hc_case_table *table = hc_size_cases();
    for (int i = 0; i < table->count; i++) {
        const struct hc_case *c = &table->cases[i];
        struct hc_op_shape shape = {.name = "large"};
        char name[64];
        long long n;
        char end;
        if (sscanf(c->name, "size/%63[^/]/fp32/%lld%c", name, &n, &end) != 2)
            continue;
        enum hc_op op = hc_op_by_name(name);
        if (hc_ops[op].class_ != HC_CLASS_DEFINED)
            continue;
        shape.d[0] = n;
        struct hc_opspace space = hc_opspace(op);
        struct hc_call call = hc_op_call(op, space.sets, &shape, space.variants);
        for (int t = 0; t < hc_slot_count(op); t++)
            hc_slot_tensor(&call, t)->data = calloc(1, hc_tensor_bytes(hc_slot_tensor(&call, t)));
        cr_expect_eq(hc_call_check(&call), HC_OK, "%s: %s", c->name, hc_message());
        for (int t = 0; t < hc_slot_count(op); t++)
            free(hc_slot_tensor(&call, t)->data);
    }
}

/* Plain and added, in tiles of 128 and of 256 wide, one more, and two of them. */
Test(size_cases, products_fill_tiles_with_a_c_and_without)
{
    static const char *const formats[] = {"fp32", "fp16", "bf16"};
    static const char *const shapes[] = {"257x257x257", "512x512x256"};
    static const char *const variants[] = {"-plain", "-added"};
    const struct hc_case_table *table = hc_size_cases();
    for (int i = 0; i < 12; i++) {
        char name[96];
        (void)snprintf(name, sizeof name, "size/gemm/%s/%s%s", formats[i % 3], shapes[i / 3 % 2],
                       variants[i / 6]);
        bool found = false;
        for (int k = 0; k < table->count; k++)
            found |= strcmp(table->cases[k].name, name) == 0;
        cr_expect(found, "%s", name);
    }
}
