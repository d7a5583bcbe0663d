#include "train/update/intent.h"

#include <math.h>

struct hc_intent hc_intent_make(const struct hc_recipe *recipe, const struct hc_slot_plan *plan,
                                int64_t taken, double lr, double beta1)
{
    bool decoupled = recipe->decay == HC_DECAY_DECOUPLED;
    bool l2 = recipe->decay == HC_DECAY_L2;
    lr *= plan->rate;
    return (struct hc_intent){.recipe = recipe,
                              .lr = lr,
                              .beta1 = beta1,
                              .l2 = l2 ? plan->decay : 0,
                              .decay = decoupled ? lr * plan->decay : 0,
                              .first = 1 - pow(beta1, (double)taken),
                              .second = 1 - pow(recipe->beta2, (double)taken),
                              .eps = hc_round(plan->arithmetic, recipe->eps)};
}

double hc_intent_update(const struct hc_intent *intent, double w, double g, double m, double v)
{
    const struct hc_recipe *recipe = intent->recipe;
    double inside = recipe->rate_inside ? intent->lr : 1;
    double step = recipe->nesterov ? inside * (g + intent->l2 * w) + intent->beta1 * m : m;
    if (recipe->optimizer == HC_OPTIMIZER_ADAM) {
        double second = v / intent->second;
        double root = recipe->eps_inside ? sqrt(second + intent->eps) : sqrt(second) + intent->eps;
        step = m / intent->first / root;
    }
    return (recipe->rate_inside ? 1 : intent->lr) * step + intent->decay * w;
}
