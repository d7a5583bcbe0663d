/* AdamW all in half with eps 1e-8, in the two ways that PyTorch computes it: as a loop over
   tensors, where the denominator is a half tensor in which eps is 0; and fused, in fp32 on numbers
   stored in half. */
#include "cases/fixture/update_fixture.h"

#include <math.h>

static const double lr = 1e-3;
static const double beta1 = 0.9;

/* Three weights of 0.5 under fp16-pure-fused or in the other order, after a step with the gradients
   0, 1e-5, 5e-3 and after another step without gradients. */
static bool two_steps(struct hc_check *check, enum hc_adam_order order, double w[2][3])
{
    static const double g[3] = {0, 1e-5, 5e-3};
    struct hc_recipe recipe = *hc_recipe_by_name("fp16-pure-fused");
    struct hc_fixture fixture;
    recipe.weight_decay = 0;
    recipe.order = order;
    if (order == HC_ORDER_TORCH_LOOP)
        recipe.arithmetic = HC_FP16;
    hc_fixture_open_weights(&fixture, check, &recipe, 3, 0.5);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 3; i++)
            hc_fixture_gradient(&fixture, 0, i, step == 0 ? g[i] : 0);
        hc_fixture_step(&fixture, lr, beta1);
        for (int i = 0; i < 3; i++)
            w[step][i] = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, i);
        hc_say(check, "%-11s step %d: g = %-13s make w = %.7g, %.7g, %.7g",
               hc_adam_order_names[order], step + 1, step == 0 ? "0, 1e-5, 5e-3" : "0, 0, 0",
               w[step][0], w[step][1], w[step][2]);
    }
    return hc_fixture_close(&fixture);
}

/* Half of an ulp of half below 0.5, and what fp32 adds. */
static const double half_ulp = 0x1p-13 + 0x1p-22;

static void orders(struct hc_check *check)
{
    double w[2][3];
    if (!two_steps(check, HC_ORDER_TORCH_LOOP, w))
        return;
    hc_claim_true(check, "loop: g = 0 gives 0 / 0", isnan(w[0][0]));
    hc_claim_value(check, "loop: g = 1e-5, whose square is 0", (double)-INFINITY, w[0][1]);
    /* A tolerance of a tenth separates such a step from none and from an infinite one, and no more
       is claimed. */
    hc_claim_within(check, "loop: g = 5e-3 makes a step of about lr", 0.5 - lr, w[0][2], 0.1 * lr);
    if (!two_steps(check, HC_ORDER_TORCH_FUSED, w))
        return;
    hc_claim_value(check, "fused: g = 0 moves nothing", 0.5, w[0][0]);
    for (int i = 1; i < 3; i++)
        hc_claim_within(check, "fused: a step of lr, to eps / g", 0.5 - lr, w[0][i],
                        half_ulp + 1e-3 * lr);
}

/* m is 17 2^-24, which 1e-6 is in half; v is 0: u = lr / (1 - 0.9^2) * 0.9 m / eps. In fp32, whose
   v is 1e-12, it would be below lr. */
static void jumps(struct hc_check *check)
{
    double m = beta1 * 17 * 0x1p-24;
    double u = lr / (1 - beta1 * beta1) * m / 1e-8;
    double w[2][3];
    if (!two_steps(check, HC_ORDER_TORCH_FUSED, w))
        return;
    hc_claim_value(check, "no gradient in two steps moves nothing", 0.5, w[1][0]);
    hc_claim_within(check, "a weight whose v is 0 in half goes by m / eps", w[0][1] - u, w[1][1],
                    half_ulp);
    hc_claim_within(check, "a weight whose v half holds makes a step of less than lr",
                    w[0][2] - lr / 2, w[1][2], lr / 2);
}

static const struct hc_case cases[] = {
    {.name = "eps/loop-is-nan-fused-is-not",
     .title = "AdamW in half with eps 1e-8: as a loop over tensors a gradient of 0 gives NaN and a "
              "small one -inf, fused both are right",
     .source = "pytorch 2.15.0 torch/optim/adam.py, _single_tensor_adam, and "
               "aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4; PyTorch forums 1765",
     .level = HC_QUICK,
     .run = orders},
    {.name = "eps/fused-in-half-jumps",
     .title =
         "fused AdamW on state in half has no NaN, but where v underflows and the gradient goes "
         "the weight jumps by 500 times its step",
     .source = "pytorch aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4: exp_avg_sq is stored in "
               "the parameter's format",
     .level = HC_QUICK,
     .run = jumps},
};

HC_CASES(eps_orders, cases);
