/* What a training begins with: the weights that the optimizer works on, and the norms. */
#include "cases/fixture/update_fixture.h"

#include <string.h>

/* Restated from the systems' own sources: the narrowest format that a weight and a norm's parameter
   have passed through when the first step begins. */
static const struct {
    const char *recipe;
    enum hc_format weight; /* as the optimizer has it */
    enum hc_format norm;
} begins[] = {
    {"fp32", HC_FP32, HC_FP32},
    {"tf32", HC_FP32, HC_FP32},
    {"fp64", HC_FP32, HC_FP32},
    {"fp16-pure", HC_FP16, HC_FP16},
    {"fp16-pure-fused", HC_FP16, HC_FP16},
    {"fp16-bn32", HC_FP16, HC_FP16}, /* half() of all, then float() of the norms */
    {"adamw16", HC_FP16, HC_FP16},
    {"sum-loss-fp16", HC_FP16, HC_FP32}, /* Network.half() passes over BatchNorm2d */
    {"apex-O0", HC_FP32, HC_FP32},
    {"apex-O1", HC_FP32, HC_FP32},
    {"apex-O2", HC_FP16, HC_FP32}, /* convert_network leaves batch norms alone */
    {"apex-O3", HC_FP16, HC_FP16},
    {"apex-fp16opt-static", HC_FP16, HC_FP16}, /* network_to_half does not */
    {"apex-fp16opt-dynamic", HC_FP16, HC_FP16},
    {"fastai-004b", HC_FP16, HC_FP16}, /* model2half: model.half(), bn2float */
    {"fastai-004b-flat", HC_FP16, HC_FP16},
    {"fastai-1.0.61", HC_FP16, HC_FP16},
    {"fastai-1.0.61-flat", HC_FP16, HC_FP16},
    {"fastai-1.0.61-static", HC_FP16, HC_FP16},
    {"fastai-1.0.61-clip", HC_FP16, HC_FP16},
    {"fastai2-nonnative", HC_FP16, HC_FP32}, /* convert_network, as Apex's */
    {"fastai2-native", HC_FP32, HC_FP32},
    {"amp", HC_FP32, HC_FP32},
    {"amp-bf16", HC_FP32, HC_FP32},
    {"bf16-pure", HC_BF16, HC_BF16},
    {"bf16-sr", HC_BF16, HC_BF16},
    {"bf16-kahan", HC_BF16, HC_BF16},
    {"fp8-te-delayed", HC_FP32, HC_FP32}, /* quantised from fp32 parameters */
    {"fp8-te-current", HC_FP32, HC_FP32},
    {"fp8-torchao-tensor", HC_FP32, HC_FP32},
    {"fp8-torchao-rowwise", HC_FP32, HC_FP32},
    {"fp8-torchao-rowwise-gw-hp", HC_FP32, HC_FP32},
    {"fp8-te-block", HC_FP32, HC_FP32},
    {"fp8-deepgemm", HC_FP32, HC_FP32},
    {"mxfp8-rp", HC_FP32, HC_FP32},
    {"mxfp8-floor", HC_FP32, HC_FP32},
    {"nvfp4", HC_FP32, HC_FP32},
};

enum { BEGINS = sizeof begins / sizeof begins[0] };

static int row_of(const char *recipe)
{
    for (int i = 0; i < BEGINS; i++)
        if (strcmp(begins[i].recipe, recipe) == 0)
            return i;
    return -1;
}

/* 0.1 in fp32 is neither a half nor a bfloat16. */
static void one_recipe(struct hc_check *check, const struct hc_recipe *recipe, int row,
                       int kinds[HC_FORMAT_COUNT][HC_FORMAT_COUNT])
{
    struct hc_fixture fixture;
    double x = (double)0.1F;
    hc_fixture_open(&fixture, check);
    hc_fixture_add(&fixture, "weight", HC_ROLE_WEIGHT, 3, x);
    hc_fixture_add(&fixture, "gamma", HC_ROLE_NORM, 3, x);
    hc_fixture_start(&fixture, recipe);
    double weight = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1);
    double norm = hc_fixture_get(&fixture, HC_STATE_MODEL, 1, 1);
    double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 1, 1);
    if (!hc_fixture_close(&fixture))
        return;
    kinds[begins[row].weight][begins[row].norm]++;
    hc_claim_value(check, "the weight that the optimizer works on", hc_round(begins[row].weight, x),
                   weight);
    hc_claim_value(check, "a norm's parameter", hc_round(begins[row].norm, x), norm);
    hc_claim_value(check, "as the optimizer has it", hc_round(begins[row].norm, x), master);
}

static void first(struct hc_check *check)
{
    int n;
    int kinds[HC_FORMAT_COUNT][HC_FORMAT_COUNT] = {0};
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        int row = row_of(recipes[r].name);
        hc_claim_true(check, "the recipe has its statement in master/first.c", row >= 0);
        if (row >= 0)
            one_recipe(check, &recipes[r], row, kinds);
    }
    hc_say(check, "0.1 begins as a weight          as a norm's parameter   in");
    for (int w = 0; w < HC_FORMAT_COUNT; w++)
        for (int p = 0; p < HC_FORMAT_COUNT; p++)
            if (kinds[w][p])
                hc_say(check, "%-5s %-24.9g  %-5s %-16.9g  %2d recipes", hc_formats[w].name,
                       hc_round((enum hc_format)w, (double)0.1F), hc_formats[p].name,
                       hc_round((enum hc_format)p, (double)0.1F), kinds[w][p]);
}

static const struct hc_case cases[] = {
    {.name = "master/first-values",
     .title =
         "every recipe: the weights that the optimizer begins with, and the norms, have passed "
         "through the formats that the system's conversion takes them through",
     .source = "fastai 1.0.61 fastai/torch_core.py, model2half, and fastai/callbacks/fp16.py, "
               "get_master; NVIDIA/apex @e13873de apex/fp16_utils/fp16util.py, network_to_half and "
               "convert_network; PyTorch forums 11815",
     .run = first},
};

HC_CASES(master_first, cases);
