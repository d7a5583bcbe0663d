/* A parameter's identity and its storage: references taken before to_fp16. */
#include "cases/fixture/batchnorm.h"

enum { CHANNELS = 4 };

/* model2half: half() of the model, then float() of its batch norms. */
static enum hc_status model2half(struct hc_parameter *parameter)
{
    enum hc_status status = hc_parameter_to(parameter, HC_FP16);
    return status == HC_OK ? hc_parameter_to(parameter, HC_FP32) : status;
}

static enum hc_status add_one(struct hc_storage *storage)
{
    float values[CHANNELS];
    enum hc_status status = hc_storage_read(storage, values);
    for (int c = 0; c < CHANNELS; c++)
        values[c] += 1;
    return status == HC_OK ? hc_storage_write(storage, values) : status;
}

static enum hc_status show(struct hc_check *check, const char *what, struct hc_storage *storage,
                           float values[CHANNELS])
{
    enum hc_status status = hc_storage_read(storage, values);
    hc_say(check, "%-34s [%g, %g, %g, %g]", what, (double)values[0], (double)values[1],
           (double)values[2], (double)values[3]);
    return status;
}

/* The layer's output for x = 1 with the present gamma (mean 0, variance 1, beta 0, eps 0: y =
   gamma). */
static bool layer_sees(struct hc_check *check, const struct hc_parameter *gamma, double want,
                       const char *what)
{
    struct hc_batchnorm norm = hc_batchnorm_new(check, HC_FP32, HC_FP32, 1, CHANNELS);
    norm.params.eps = 0;
    for (int c = 0; c < CHANNELS; c++)
        hc_tensor_set(&norm.x, c, 1);
    if (!hc_check_ok(check, hc_storage_read(gamma->storage, norm.gamma.data)) ||
        hc_batchnorm_infer(&norm) != HC_OK)
        return false;
    for (int c = 0; c < CHANNELS; c++)
        hc_claim_value(check, what, want, hc_tensor_get(&norm.y, c));
    return true;
}

/* The forum's session: bn_w = mdl[1].weight, bn_d = bn_w.data, model2half(mdl), bn_d += 1. Buggy
   arm: the edit goes to bn_d. Fixed arm: to bn_w.data as it is now. */
static void session(struct hc_check *check, struct hc_parameter *gamma)
{
    struct hc_parameter *bn_w = gamma;
    struct hc_storage *bn_d = hc_storage_hold(bn_w->storage);
    float before[CHANNELS];
    float now[CHANNELS];
    enum hc_status status = model2half(gamma);
    if (status == HC_OK) {
        hc_say(check, "bn_w is bn_w2: %s; bn_d is bn_d2: %s", bn_w == gamma ? "True" : "False",
               bn_d == bn_w->storage ? "True" : "False");
        hc_claim_true(check, "bn_d is not bn_d2: another storage", bn_d != bn_w->storage);
        status = add_one(bn_d);
    }
    if (status == HC_OK)
        status = show(check, "bn_d, taken before, after bn_d += 1", bn_d, before);
    if (status == HC_OK)
        status = show(check, "bn_d2 = bn_w.data", bn_w->storage, now);
    for (int c = 0; c < CHANNELS && status == HC_OK; c++) {
        hc_claim_value(check, "bn_d", 2, (double)before[c]);
        hc_claim_value(check, "bn_d2", 1, (double)now[c]);
    }
    if (status == HC_OK && layer_sees(check, gamma, 1, "the layer, bn_d edited")) {
        status = add_one(bn_w->storage);
        if (status == HC_OK)
            (void)layer_sees(check, gamma, 2, "the layer, bn_w.data edited");
    }
    (void)hc_check_ok(check, status);
    hc_storage_drop(bn_d);
}

/* Two references to the present storage are edited together ("but they get updated together?"), and
   float() of an fp32 parameter is no conversion. */
static void together(struct hc_check *check, struct hc_parameter *gamma)
{
    struct hc_storage *bn_d = hc_storage_hold(gamma->storage);
    float values[CHANNELS];
    enum hc_status status = hc_parameter_to(gamma, HC_FP32);
    hc_claim_true(check, "float() of fp32 keeps the storage", bn_d == gamma->storage);
    if (status == HC_OK)
        status = add_one(bn_d);
    if (status == HC_OK)
        status = show(check, "bn_w.data after bn_d += 1", gamma->storage, values);
    for (int c = 0; c < CHANNELS && status == HC_OK; c++)
        hc_claim_value(check, "bn_w.data", 2, (double)values[c]);
    (void)hc_check_ok(check, status);
    hc_storage_drop(bn_d);
}

/* Flattening also makes new storage; an edit of the arena is an edit of the parameter. */
static void flattened(struct hc_check *check, struct hc_parameter *gamma)
{
    struct hc_parameter *const list[] = {gamma};
    struct hc_storage *bn_d = hc_storage_hold(gamma->storage);
    struct hc_storage *arena = NULL;
    float values[CHANNELS];
    enum hc_status status = hc_parameter_flatten(list, 1, &arena);
    if (status == HC_OK) {
        hc_claim_true(check, "flattening gives another storage", bn_d != gamma->storage);
        status = add_one(bn_d);
    }
    if (status == HC_OK)
        status = add_one(arena);
    if (status == HC_OK)
        status = add_one(arena);
    if (status == HC_OK)
        status = show(check, "bn_w.data: bn_d + 1, arena + 2", gamma->storage, values);
    for (int c = 0; c < CHANNELS && status == HC_OK; c++)
        hc_claim_value(check, "bn_w.data", 3, (double)values[c]);
    (void)hc_check_ok(check, status);
    hc_storage_drop(arena);
    hc_storage_drop(bn_d);
}

typedef void on_gamma(struct hc_check *check, struct hc_parameter *gamma);

static void with_gamma(struct hc_check *check, on_gamma *run)
{
    const float ones[CHANNELS] = {1, 1, 1, 1};
    struct hc_device device = hc_case_device(check);
    struct hc_tensor as = hc_tensor1(HC_FP32, CHANNELS, NULL);
    struct hc_parameter gamma;
    if (!hc_check_ok(check, hc_parameter_open(&gamma, &device, "gamma", HC_ROLE_NORM, &as)))
        return;
    if (hc_check_ok(check, hc_storage_write(gamma.storage, ones)))
        run(check, &gamma);
    hc_parameter_close(&gamma);
    hc_device_end(&device);
}

static void stale(struct hc_check *check)
{
    with_gamma(check, session);
}

static void shared(struct hc_check *check)
{
    with_gamma(check, together);
}

static void flat(struct hc_check *check)
{
    with_gamma(check, flattened);
}

static const char forum[] = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'";

static const struct hc_case cases[] = {
    {.name = "batchnorm/flattening-replaces-storage",
     .title = "moving parameters into a flat arena keeps their identity and kills old references",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
               "get_master(flat_master=True)",
     .run = flat},
    {.name = "batchnorm/same-storage-is-edited-together",
     .title = "two references to the present storage see the same edit",
     .source = forum,
     .run = shared},
    {.name = "batchnorm/stale-reference",
     .title = "a reference to .data from before to_fp16 is dead: bn_d += 1 gives [2, 2, 2, 2] "
              "there and [1, 1, 1, 1] in the parameter",
     .source = forum,
     .run = stale},
};

HC_CASES(batchnorm_stale, cases);
