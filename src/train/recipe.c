#include "train/recipe.h"

#include <math.h>
#include <string.h>

static const struct hc_recipe table[] = {
    {.name = "fp32",
     .title = "everything in single precision",
     .source = "fastai/fastai_old dev_nb/004b_mixed_precision.ipynb, the first run",
     .model = HC_FP32,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP32,
     .state = HC_FP32,
     .arithmetic = HC_FP32,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "tf32",
     .title = "single precision, products of matrices and convolutions in tf32",
     .source = "pytorch torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32",
     .model = HC_FP32,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP32,
     .state = HC_FP32,
     .arithmetic = HC_FP32,
     .tf32 = true,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "fp16-static",
     .title = "half model, batch norm in single, flat masters, static scale 512",
     .source =
         "fastai/fastai_old dev_nb/004b_mixed_precision.ipynb: MixedPrecision(flat_master=True)",
     .defects =
         "no overflow check: one infinity poisons the masters for ever; masters are made from "
         "rounded weights",
     .model = HC_FP16,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP32,
     .state = HC_FP32,
     .arithmetic = HC_FP32,
     .masters = HC_MASTERS_FROM_MODEL,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_STATIC, .initial = 512},
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "fp16-dynamic",
     .title = "half model, batch norm in single, fp32 weights kept, GradScaler's rule",
     .source = "pytorch torch/amp/grad_scaler.py with autocast",
     .model = HC_FP16,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP32,
     .state = HC_FP32,
     .arithmetic = HC_FP32,
     .masters = HC_MASTERS_FROM_FP32,
     .scaler = {HC_SCALER_TORCH, .initial = 65536, .growth = 2, .backoff = 0.5f, .interval = 2000},
     .reciprocal = true,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "bf16",
     .title = "bf16 model, batch norm in single, fp32 weights kept, no scaler",
     .source = "pytorch autocast(dtype=torch.bfloat16)",
     .model = HC_BF16,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP32,
     .state = HC_FP32,
     .arithmetic = HC_FP32,
     .masters = HC_MASTERS_FROM_FP32,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "fp16-bn32",
     .title = "half model and optimizer, batch norm in single, no masters, no scaler",
     .source = "PyTorch forums 11815, 'Training with Half Precision', post 2: model.half(), then "
               "float() of the batch norms; eps 1e-4 as thread 1765 advises",
     .defects =
         "updates below half an ulp are lost; eps 1e-4 makes steps for gradients below it too "
         "small",
     .model = HC_FP16,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP32,
     .gradient = HC_FP16,
     .state = HC_FP16,
     .arithmetic = HC_FP16,
     .norm_rounded = true,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-4,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "fp16-pure",
     .title = "half everywhere: model, batch norm and its statistics, loss, optimizer",
     .source = "PyTorch forums 1765, 'Adam+Half Precision = NaNs?': model.half(), eps 1e-8",
     .defects =
         "eps is 0 in half: a gradient that underflows makes the weight NaN at the first step",
     .model = HC_FP16,
     .norm = HC_FP16,
     .statistics = HC_FP16,
     .loss = HC_FP16,
     .gradient = HC_FP16,
     .state = HC_FP16,
     .arithmetic = HC_FP16,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-8,
     .weight_decay = 1e-2,
     .decay_norm = true},
    {.name = "fp16-pure-eps",
     .title = "half everywhere, with the eps of 1e-4 that the threads advise",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 with eps=1e-4",
     .defects = "no NaN, but updates below half an ulp are lost and steps have a wrong size",
     .model = HC_FP16,
     .norm = HC_FP16,
     .statistics = HC_FP16,
     .loss = HC_FP16,
     .gradient = HC_FP16,
     .state = HC_FP16,
     .arithmetic = HC_FP16,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-4,
     .weight_decay = 1e-2,
     .decay_norm = true},
};

enum { COUNT = sizeof table / sizeof table[0] };

const struct hc_recipe *hc_recipes(int *n)
{
    *n = COUNT;
    return table;
}

const struct hc_recipe *hc_recipe_by_name(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* A number that is 0 is the rule's own. */
static const char *wrong_scaler(const struct hc_scaler *s)
{
    if (s->rule == HC_SCALER_NONE && s->initial != 0 && s->initial != 1)
        return "a loss scale without a scaler";
    if (!(s->initial >= 0) || !isfinite(s->initial))
        return "the loss scale is not a positive number";
    if (s->growth != 0 && (!(s->growth > 1) || !isfinite(s->growth)))
        return "the scale's growth is not above 1";
    if (s->backoff != 0 && !(s->backoff > 0 && s->backoff < 1))
        return "the scale's backoff is not between 0 and 1";
    if (s->interval < 0)
        return "the scale's growth interval is not positive";
    if (hc_scalers[s->rule].on_found == HC_FOUND_STEPS)
        return "its scaler steps on what the masters hold, which training does not do yet";
    if (hc_scalers[s->rule].rule.raises)
        return "its scaler ends the run at its floor, which training does not do yet";
    return NULL;
}

/* The first contradiction, or NULL. */
static const char *wrong(const struct hc_recipe *r)
{
    const enum hc_format formats[] = {r->model,    r->norm,  r->statistics, r->loss,
                                      r->gradient, r->state, r->arithmetic};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i] != HC_FP32 && formats[i] != HC_BF16 && formats[i] != HC_FP16)
            return "a format is none of fp32, bf16, fp16";
    if (r->tf32 && r->model != HC_FP32)
        return "tf32 is a way to multiply fp32 numbers, and its model is not fp32";
    if (r->masters != HC_MASTERS_NONE && r->arithmetic != HC_FP32)
        return "masters are fp32, so the optimizer's arithmetic is";
    if (r->scaler.rule == HC_SCALER_TORCH && r->gradient != HC_FP32)
        return "GradScaler refuses to unscale 16-bit gradients";
    if (r->decay == HC_DECAY_SCALED && r->scaler.rule == HC_SCALER_NONE)
        return "decay before unscaling needs a loss scale";
    if (!(r->beta2 >= 0 && r->beta2 < 1))
        return "beta2 is not in [0, 1)";
    if (!(r->eps >= 0) || !(r->weight_decay >= 0))
        return "eps or weight decay is negative";
    return wrong_scaler(&r->scaler);
}

enum hc_status hc_recipe_check(const struct hc_recipe *recipe)
{
    const char *why = wrong(recipe);
    return why ? hc_fail(HC_INVALID, "recipe %s: %s", recipe->name, why) : HC_OK;
}

enum hc_format hc_recipe_format(const struct hc_recipe *recipe, enum hc_role role)
{
    if (role == HC_ROLE_NORM)
        return recipe->norm;
    return role == HC_ROLE_STATISTIC ? recipe->statistics : recipe->model;
}

enum hc_format hc_recipe_optimizes(const struct hc_recipe *recipe, enum hc_role role,
                                   enum hc_format format)
{
    bool own = recipe->masters == HC_MASTERS_NONE && hc_recipe_format(recipe, role) == HC_FP32;
    return own ? HC_FP32 : format;
}

bool hc_recipe_decays(const struct hc_recipe *recipe, enum hc_role role)
{
    return recipe->weight_decay > 0 && (role == HC_ROLE_WEIGHT || recipe->decay_norm);
}

enum hc_status hc_recipe_convert(const struct hc_recipe *recipe, struct hc_parameter *parameter)
{
    bool norm = parameter->role == HC_ROLE_NORM || parameter->role == HC_ROLE_STATISTIC;
    enum hc_status status = HC_OK;
    if (norm && recipe->norm_rounded)
        status = hc_parameter_to(parameter, recipe->model);
    if (status == HC_OK)
        status = hc_parameter_to(parameter, hc_recipe_format(recipe, parameter->role));
    return status;
}
