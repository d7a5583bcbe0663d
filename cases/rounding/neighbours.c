/* What comes after 1 in half precision. */
#include "case.h"

static void after_one(struct hc_check *check)
{
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, "1.0009765625");
    hc_claim_bits(check, "1 + 2^-10", HC_FP16, 0x3c01, hc_real_bits(x, HC_FP16, HC_NEAREST));
    hc_real_free(x);
}

static const struct hc_case cases[] = {
    {.name = "rounding/after-one",
     .title = "after 1 come 1 + 2^-10 and 1 + 2^-9, not 1 + 2e-10",
     .source = "seeds/001 (nb_004b)",
     .once = true,
     .run = after_one},
};

const struct hc_case_table hc_cases_rounding_neighbours;
const struct hc_case_table hc_cases_rounding_neighbours = {cases, 1};
