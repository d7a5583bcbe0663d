/* Parameter groups on the trainer's update path. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/fixture/training/update_fixture.h"

/* Layer groups with learning rates and decays of their own, on the trainer's update path. */

enum { GROUPS = 3, STEPS = 3 };

/* Four layers in three layer groups, counted by hand: floor(3 l / 4). */
static const int part_of[HC_FIXTURE_LAYERS] = {0, 0, 1, 2};
static const double rates[GROUPS] = {0.01, 0.3, 1};
static const double decays[GROUPS] = {0.5, 0, 0.1};
static const double lr = 0.01;
static const double beta1 = 0.9;

static struct hc_recipe grouped(const char *name)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.group_rates.n = GROUPS;
    recipe.group_decays.n = GROUPS;
    memcpy(recipe.group_rates.value, rates, sizeof rates);
    memcpy(recipe.group_decays.value, decays, sizeof decays);
    if (hc_round(recipe.arithmetic, recipe.eps) == 0)
        recipe.eps = 1e-4;
    return recipe;
}

/* The optimizer's call for parameter i alone, on host memory: from its state and gradient, and with
   its group's own rate and decay. */
struct wanted {
    struct hc_call call;
    float hyper[HC_HYPER_COUNT];
    bool adam;
};

static struct hc_tensor copied(struct hc_fixture *fixture, enum hc_state_tensor which, int i)
{
    struct hc_tensor t = hc_update_tensor(fixture->update, which, i);
    t = hc_check_vector(fixture->check, t.format, hc_tensor_count(&t));
    for (int64_t e = 0; e < hc_tensor_count(&t); e++)
        hc_tensor_set(&t, e, hc_fixture_get(fixture, which, i, e));
    return t;
}

static struct hc_tensor like(struct hc_fixture *fixture, const struct hc_tensor *t)
{
    return hc_check_vector(fixture->check, t->format, hc_tensor_count(t));
}

/* True weight decay of fastai 1.0.61, before the optimizer's step: the product of two fp32 numbers
   is exact in fp64 and rounded once. */
static void decay_first(struct hc_tensor *w, double rate, double decay)
{
    double keep = (double)(float)(1 - (double)(float)rate * decay);
    for (int64_t e = 0; e < hc_tensor_count(w) && decay > 0; e++)
        hc_tensor_set(w, e, hc_tensor_get(w, e) * keep);
}

static void want(struct hc_fixture *fixture, const struct hc_recipe *r, int i, int step,
                 struct wanted *wanted)
{
    int part = part_of[i / 2];
    enum hc_role role = fixture->parameter[i].role;
    double rate = lr * (r->rate > 0 ? r->rate : 1) * rates[part];
    double decay = role == HC_ROLE_WEIGHT || r->decay_norm ? decays[part] : 0;
    bool step_on_overflow = r->scaler.rule == HC_SCALER_FASTAI;
    struct hc_tensor w = copied(fixture, HC_STATE_MASTER, i);
    struct hc_tensor m = copied(fixture, HC_STATE_M, i);
    struct hc_tensor g = copied(fixture, HC_STATE_GRADIENT, i);
    struct hc_tensor unscaled = hc_check_vector(fixture->check, HC_FP32, hc_tensor_count(&g));
    double scale = (double)hc_fixture_counters(fixture).scale;
    for (int64_t e = 0; e < hc_tensor_count(&g); e++)
        hc_tensor_set(&unscaled, e, hc_tensor_get(&g, e) / scale);
    if (step_on_overflow)
        decay_first(&w, rate, decay);
    wanted->hyper[HC_HYPER_LR] = (float)rate;
    wanted->hyper[HC_HYPER_BETA1] = (float)beta1;
    wanted->hyper[HC_HYPER_STEP] = (float)step;
    wanted->adam = r->optimizer == HC_OPTIMIZER_ADAM;
    struct hc_tensor hyper = hc_tensor1(HC_FP32, HC_HYPER_COUNT, wanted->hyper);
    double inside = step_on_overflow ? 0 : decay;
    enum hc_format arithmetic = hc_slot_plan(r, role, part).arithmetic;
    if (wanted->adam) {
        struct hc_tensor v = copied(fixture, HC_STATE_V, i);
        wanted->call = (struct hc_call){.op = HC_OP_adamw,
                                        .in = {[HC_ADAM_W] = w,
                                               [HC_ADAM_G] = unscaled,
                                               [HC_ADAM_M] = m,
                                               [HC_ADAM_V] = v,
                                               [HC_ADAM_HYPER] = hyper},
                                        .out = {[HC_ADAM_NEW_W] = like(fixture, &w),
                                                [HC_ADAM_NEW_M] = like(fixture, &m),
                                                [HC_ADAM_NEW_V] = like(fixture, &v)}};
        wanted->call.params.adam = (struct hc_adam){
            .beta2 = r->beta2, .eps = r->eps, .weight_decay = inside, .arithmetic = arithmetic};
    } else {
        wanted->call = (struct hc_call){
            .op = HC_OP_sgd,
            .in = {[HC_SGD_W] = w,
                   [HC_SGD_G] = unscaled,
                   [HC_SGD_MOMENTUM] = m,
                   [HC_SGD_HYPER] = hyper},
            .out = {[HC_SGD_NEW_W] = like(fixture, &w), [HC_SGD_NEW_MOMENTUM] = like(fixture, &m)}};
        wanted->call.params.sgd = (struct hc_sgd){.weight_decay = inside,
                                                  .nesterov = r->nesterov,
                                                  .rate_inside = r->rate_inside,
                                                  .arithmetic = arithmetic};
    }
}

/* The op itself is held to its bound; then the step must have the op's bits. */
static void compare(struct hc_fixture *fixture, const char *name, int step, struct wanted *wanted)
{
    static const enum hc_state_tensor states[] = {HC_STATE_MASTER, HC_STATE_M, HC_STATE_V};
    for (int i = 0; i < fixture->n && !fixture->failed; i++) {
        struct hc_comparisons c = {.what = "weights by group"};
        if (hc_claim_call_met(fixture->check, &wanted[i].call) != HC_OK)
            return;
        for (int p = 0; p < (wanted[i].adam ? 3 : 2); p++) {
            const struct hc_tensor *t = &wanted[i].call.out[p];
            for (int64_t e = 0; e < hc_tensor_count(t); e++, c.checked++) {
                double x = hc_tensor_get(t, e);
                double got = hc_fixture_get(fixture, states[p], i, e);
                if (hc_fp64_bits(x) != hc_fp64_bits(got))
                    hc_comparisons_wrong(&c, "%s, step %d, %s of %s [%lld]: want %.9g, got %.9g",
                                         name, step, hc_state_tensor_names[states[p]],
                                         fixture->parameter[i].name, (long long)e, x, got);
            }
        }
        hc_claim_comparisons(fixture->check, &c);
    }
}

static void own_rates(struct hc_check *check)
{
    static const char *const names[] = {"fp32",          "amp",           "fastai-004b-flat",
                                        "bf16-pure",     "fastai-1.0.61", "sum-loss-fp16",
                                        "fastai2-native"};
    for (size_t k = 0; k < 2 * sizeof names / sizeof names[0]; k++) {
        struct hc_recipe recipe = grouped(names[k / 2]);
        struct wanted wanted[2 * HC_FIXTURE_LAYERS] = {0};
        struct hc_fixture fixture;
        recipe.split_bn_bias = k % 2 == 1;
        hc_fixture_open_layers(&fixture, check, &recipe);
        for (int step = 1; step <= STEPS && !fixture.failed; step++) {
            hc_fixture_random_gradients(&fixture, (uint64_t)step, 1e-3);
            for (int i = 0; i < fixture.n && !fixture.failed; i++)
                want(&fixture, &recipe, i, step, &wanted[i]);
            hc_fixture_step(&fixture, lr, beta1);
            compare(&fixture, names[k / 2], step, wanted);
        }
        if (!hc_fixture_close(&fixture))
            return;
    }
    hc_say(check, "4 layers in 3 groups, rates 0.01, 0.3 and 1 of %g, decays 0.5, 0 and 0.1", lr);
}

/* Bytes of a state tensor over the first `parameters` parameters. */
static size_t bytes_of(struct hc_fixture *fixture, enum hc_state_tensor which, int parameters)
{
    size_t bytes = 0;
    for (int i = 0; i < parameters; i++) {
        struct hc_tensor t = hc_update_tensor(fixture->update, which, i);
        bytes += hc_tensor_bytes(&t);
    }
    return bytes;
}

static void frozen(struct hc_check *check)
{
    static const char *const names[] = {"amp",       "fastai-004b",   "fastai-1.0.61",
                                        "bf16-pure", "sum-loss-fp16", "bf16-sr",
                                        "bf16-kahan"};
    static const enum hc_state_tensor states[] = {HC_STATE_MASTER, HC_STATE_MODEL};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        struct hc_recipe recipe = grouped(names[k]);
        struct hc_bytes before[2];
        struct hc_fixture fixture;
        recipe.group_rates.value[0] = 0;
        hc_fixture_open_layers(&fixture, check, &recipe);
        for (int p = 0; p < 2; p++)
            before[p] = hc_fixture_bytes(&fixture, states[p]);
        for (int step = 0; step < 10; step++) {
            hc_fixture_random_gradients(&fixture, (uint64_t)step, 1e-3);
            hc_fixture_step(&fixture, 0.1, beta1);
        }
        for (int p = 0; p < 2 && !fixture.failed; p++) {
            struct hc_bytes after = hc_fixture_bytes(&fixture, states[p]);
            size_t still = bytes_of(&fixture, states[p], 4);
            hc_claim_true(check, "a group of rate 0 keeps its bytes",
                          !fixture.failed && memcmp(before[p].data, after.data, still) == 0);
            hc_claim_true(check, "the others do not",
                          !fixture.failed && memcmp(before[p].data + still, after.data + still,
                                                    after.count - still) != 0);
        }
        bool moved = hc_fixture_get(&fixture, HC_STATE_M, 0, 0) != 0;
        hc_say(check, "%-14s ten steps; rate 0 for layers a and b, whose momentum %s", names[k],
               moved ? "moves" : "stays 0");
        hc_claim_true(check, "its momentum moves, if it does not hold the rate",
                      moved != recipe.rate_inside);
        if (!hc_fixture_close(&fixture))
            return;
    }
}

/* All groups share one scaler. */
static void skipped(struct hc_check *check)
{
    static const enum hc_state_tensor state[] = {HC_STATE_MASTER, HC_STATE_MODEL, HC_STATE_M,
                                                 HC_STATE_V};
    struct hc_recipe recipe = grouped("amp");
    for (int i = 0; i < 2 * HC_FIXTURE_LAYERS; i++) {
        struct hc_bytes before[4];
        struct hc_fixture fixture;
        bool same = true;
        recipe.split_bn_bias = true;
        hc_fixture_open_layers(&fixture, check, &recipe);
        hc_fixture_random_gradients(&fixture, 1, 1e-3);
        hc_fixture_step(&fixture, lr, beta1);
        for (int p = 0; p < 4; p++)
            before[p] = hc_fixture_bytes(&fixture, state[p]);
        hc_fixture_random_gradients(&fixture, 2, 1e-3);
        hc_fixture_set(&fixture, HC_STATE_GRADIENT, i, 0, (double)INFINITY);
        hc_fixture_step(&fixture, lr, beta1);
        for (int p = 0; p < 4 && !fixture.failed; p++) {
            struct hc_bytes after = hc_fixture_bytes(&fixture, state[p]);
            same = same && !fixture.failed && hc_bytes_equal(&before[p], &after);
        }
        bool failed = fixture.failed;
        hc_claim_true(check, "an infinity in one parameter: no group moves", same || failed);
        hc_claim_value(check, "steps skipped", 1, (double)hc_fixture_counters(&fixture).skipped);
        if (!hc_fixture_close(&fixture))
            return;
    }
}

/* Norm parameters and biases as groups of their own (split_bn_bias), and flat masters by group. */

static const enum hc_state_tensor state[] = {HC_STATE_MASTER, HC_STATE_MODEL, HC_STATE_M,
                                             HC_STATE_V};

enum { STATES = sizeof state / sizeof state[0], MAX = 2 * HC_FIXTURE_LAYERS };

/* 100 steps of lr 0.01 at zero gradients, decay 0.1. The factor 1 - 1e-3 is rounded once and each
   of the 100 products once, 2^-24 relative each; and 2^-24 for second-order terms. */
static void undecayed(struct hc_check *check)
{
    static const char *const names[] = {"fp32", "amp", "fastai-1.0.61", "fastai-004b-flat"};
    for (size_t k = 0; k < 2 * sizeof names / sizeof names[0]; k++) {
        struct hc_recipe recipe = *hc_recipe_by_name(names[k / 2]);
        double start[MAX] = {0};
        struct hc_fixture fixture;
        recipe.split_bn_bias = true;
        recipe.decay_norm = k % 2 == 1;
        recipe.weight_decay = 0.1;
        hc_fixture_open_layers(&fixture, check, &recipe);
        for (int i = 0; i < fixture.n; i++)
            start[i] = hc_fixture_get(&fixture, HC_STATE_MASTER, i, 0);
        for (int step = 0; step < 100 && !fixture.failed; step++) {
            hc_fixture_gradients(&fixture, 0);
            hc_fixture_step(&fixture, 0.01, 0.9);
        }
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            double got = hc_fixture_get(&fixture, HC_STATE_MASTER, i, 0);
            bool norm = fixture.parameter[i].role != HC_ROLE_WEIGHT;
            hc_claim_true(check, "it begins with a number that is not 0", isnormal(start[i]));
            double decayed = start[i] * pow(1 - 0.01 * 0.1, 100);
            if (norm && !recipe.decay_norm)
                hc_claim_value(check, "undecayed", start[i], got);
            else
                hc_claim_within(check, "decayed", decayed, got, 201 * 0x1p-24 * fabs(decayed));
        }
        hc_say(check, "%-17s decay_norm %-6s filters keep %.5f, gammas %.5f", names[k / 2],
               recipe.decay_norm ? "true:" : "false:",
               hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0) / start[0],
               hc_fixture_get(&fixture, HC_STATE_MASTER, 1, 0) / start[1]);
        if (!hc_fixture_close(&fixture))
            return;
    }
}

/* Makes ten steps and claims that they move the model. */
static void ten_steps(struct hc_fixture *fixture, struct hc_bytes bytes[STATES])
{
    struct hc_bytes before = hc_fixture_bytes(fixture, HC_STATE_MODEL);
    for (int step = 0; step < 10; step++) {
        hc_fixture_random_gradients(fixture, (uint64_t)step, 1e-3);
        hc_fixture_step(fixture, 1e-3, 0.9);
    }
    for (int p = 0; p < STATES; p++)
        bytes[p] = hc_fixture_bytes(fixture, state[p]);
    struct hc_bytes after = hc_fixture_bytes(fixture, HC_STATE_MODEL);
    if (!fixture->failed)
        hc_claim_true(fixture->check, "ten steps move the model", !hc_bytes_equal(&before, &after));
}

/* With one rate and one decay for all, the grouping makes no difference. (bf16-sr is left out: its
   random numbers depend on the place in memory.) */
static void no_bit(struct hc_check *check)
{
    static const char *const names[] = {"fp32",           "amp",       "fastai-004b",
                                        "fastai-1.0.61",  "bf16-pure", "fastai-004b-flat",
                                        "fastai2-native", "adamw16",   "bf16-kahan"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        char what[64];
        struct hc_bytes bytes[2][STATES];
        bool failed = false;
        for (int split = 0; split < 2 && !failed; split++) {
            struct hc_recipe recipe = *hc_recipe_by_name(names[k]);
            struct hc_fixture fixture;
            recipe.split_bn_bias = split != 0;
            recipe.group_rates = (struct hc_per_layer_group){split ? 3 : 0, {1, 1, 1}};
            hc_fixture_open_layers(&fixture, check, &recipe);
            ten_steps(&fixture, bytes[split]);
            failed = !hc_fixture_close(&fixture);
        }
        if (failed)
            return;
        hc_say(check, "%-18s in one group, and in three layer groups with norms apart", names[k]);
        for (int p = 0; p < STATES; p++) {
            (void)snprintf(what, sizeof what, "the bytes of %s are the same in both",
                           hc_state_tensor_names[state[p]]);
            hc_claim_true(check, what, hc_bytes_equal(&bytes[0][p], &bytes[1][p]));
        }
    }
}

/* The memory that the optimizer's calls cover, and how often gradients are copied to the
   masters. */
struct seen {
    int copies;
    int calls;
    const unsigned char *from[MAX];
    const unsigned char *to[MAX];
};

static void see(const struct hc_call *call, void *context)
{
    struct seen *seen = context;
    seen->copies += call->op == HC_OP_unscale;
    if (call->op != HC_OP_adamw || seen->calls == MAX)
        return;
    const unsigned char *w = call->in[HC_ADAM_W].data;
    seen->from[seen->calls] = w;
    seen->to[seen->calls++] = w + hc_tensor_bytes(&call->in[HC_ADAM_W]);
}

/* The call that covers parameter i, or -1. */
static int call_of(struct hc_fixture *fixture, const struct seen *seen, int i)
{
    const unsigned char *at = hc_update_tensor(fixture->update, HC_STATE_MASTER, i).data;
    for (int c = 0; c < seen->calls; c++)
        if (at >= seen->from[c] && at < seen->to[c])
            return c;
    return -1;
}

/* Layers a and b, c, linear; in each the weights, then the norms and biases. Everything is in half,
   so that the model's gradients lie in one block: what separates their copies is the masters'
   vectors. */
static void vectors(struct hc_check *check)
{
    static const int want[2][MAX] = {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 2, 3, 4, 5}};
    for (int groups = 0; groups < 2; groups++) {
        struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
        struct seen seen = {0};
        struct hc_fixture fixture;
        recipe.norm = HC_FP16;
        recipe.split_bn_bias = groups != 0;
        recipe.group_rates = (struct hc_per_layer_group){groups ? 3 : 0, {0.25, 0.5, 1}};
        hc_fixture_open_layers(&fixture, check, &recipe);
        hc_fixture_gradients(&fixture, 1e-3);
        struct hc_bytes before = hc_fixture_bytes(&fixture, HC_STATE_MASTER);
        fixture.device.observe = see;
        fixture.device.context = &seen;
        hc_fixture_step(&fixture, 1e-3, 0.9);
        fixture.device.observe = NULL;
        struct hc_bytes after = hc_fixture_bytes(&fixture, HC_STATE_MASTER);
        hc_say(check, "%-43s %d calls of the optimizer",
               groups ? "three layer groups, norms and biases apart:" : "one group:", seen.calls);
        hc_claim_value(check, "calls of the optimizer", groups ? 6 : 1, seen.calls);
        hc_claim_value(check, "vectors of gradients", groups ? 6 : 1, seen.copies);
        for (int i = 0; i < fixture.n && !fixture.failed; i++) {
            char what[64];
            (void)snprintf(what, sizeof what, "the call that takes %s", fixture.parameter[i].name);
            hc_claim_value(check, what, want[groups][i], call_of(&fixture, &seen, i));
        }
        bool failed = fixture.failed;
        if (!failed)
            hc_claim_true(check, "the step moves the masters", !hc_bytes_equal(&before, &after));
        if (!hc_fixture_close(&fixture))
            return;
    }
}

static const struct hc_case cases[] = {
    {"groups/rates-and-decays",
     "each parameter is stepped with its layer group's learning rate and decay, bit for bit as the "
     "optimizer's op alone",
     "fastai 1.0.61 fastai/basic_train.py, Learner.lr_range: slice(lr/9, lr) gives each layer "
     "group its own rate; fastai/callback.py, OptimWrapper.step: zip(self._lr, self._wd, ...)",
     .run = own_rates},
    {"groups/rate-0-freezes",
     "a layer group with a rate of 0 keeps every byte of its weights, decay or not; its momenta "
     "move unless they hold the rate",
     "fastai 1.0.61 fastai/basic_train.py, Learner.lr_range; torch.optim.SGD, Adam: every change "
     "of a weight has lr for a factor; davidcpage/cifar10-fast @f79e8b89 torch_backend.py, "
     "nesterov_update: every change of a velocity has it",
     .run = frozen},
    {"groups/overflow-skips-all",
     "an infinity in any parameter's gradient skips the step of all groups",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: one found_inf for all param_groups of an optimizer",
     .run = skipped},
    {"groups/split-bn-bias-leaves-norms-undecayed",
     "with norms and biases split from the rest and bn_wd off, they keep their value for 100 steps "
     "of decay; with bn_wd on they decay like the rest",
     "fastai1 fastai/torch_core.py @1.0.61, split_no_wd_params; fastai/callback.py, "
     "OptimWrapper.step: if self.bn_wd",
     .run = undecayed},
    {"groups/split-changes-no-bit",
     "splitting parameters that have one rate and one decay into groups changes no bit",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: get_master over "
     "split_bn_bias(layer_groups)",
     .run = no_bit},
    {"groups/flat-masters-by-group",
     "flat masters are one vector for each group, which the optimizer sees as one",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, get_master: 'for lg in "
     "model_params: mp = parameters_to_vector(...)'",
     .run = vectors},
};

HC_CASES(groups_rates, cases);
