/* What fastai 1.0.61 makes of a step that overflowed: no gradient is copied, but the optimizer runs on what
   the masters hold: nothing at the first step, or new memory where they are flat; later the zeros that
   the step before has left. Momenta decay, weights go on by momentum and decay. */
#include "cases/fate.h"

#include <math.h>
#include <string.h>

/* A weight that the optimizer works on, and its momenta. */
struct weight {
    double w;
    double m;
    double v;
};

static float number(const struct hc_injection_state *state, enum hc_state_tensor piece, size_t index)
{
    float x;
    memcpy(&x, state->piece[piece].data + index * sizeof x, sizeof x);
    return x;
}

static struct weight weight(const struct hc_injection_state *state, size_t index)
{
    return (struct weight){(double)number(state, HC_STATE_MASTER, index),
                           (double)number(state, HC_STATE_M, index),
                           (double)number(state, HC_STATE_V, index)};
}

static bool near(double want, double got, double error)
{
    return fabs(got - want) <= error * (1 + 0x1p-20) + 0x1p-149;
}

/* AdamW with the decay before it, in fp64; each operation of fp32 is off by u of its result.
   Decay: its factor and product, 2 u. Of m one term is 0: a coefficient and a product, 2 u; of v a
   coefficient and up to two products, 3 u. The way: m's 2 u, half of v's, the root, the correction and
   the quotient, eps and the sum, m over it, the step's coefficient and product: 10.5 u. Then w's own. */
static bool stepped(const struct hc_experiment *s, const struct weight *was, const struct weight *is,
                    double g, double decay)
{
    const struct hc_recipe *r = &s->injection->recipe;
    const double u = 0x1p-24;
    double rate = (double)(float)(1e-2 / (1 + s->batch));
    double beta1 = (double)0.9F;
    double t = s->before.counters.taken + 1;
    double kept = was->w * (1 - rate * decay);
    double m = beta1 * was->m + (1 - beta1) * g;
    double v = r->beta2 * was->v + (1 - r->beta2) * g * g;
    double way = rate / (1 - pow(beta1, t)) * m / (sqrt(v / (1 - pow(r->beta2, t))) + r->eps);
    return near(m, is->m, 2 * u * fabs(m)) && near(v, is->v, 3 * u * v) &&
           near(kept - way, is->w, u * (2 * fabs(kept) + 10.5 * fabs(way) + fabs(kept - way)));
}

static bool decayed(const struct hc_experiment *s, const struct weight *was, const struct weight *is,
                    double decay)
{
    double rate = (double)(float)(1e-2 / (1 + s->batch));
    double kept = was->w * (1 - rate * decay);
    return is->m == was->m && is->v == was->v &&
           near(kept, is->w, decay > 0 ? 0x1p-23 * fabs(kept) : 0);
}

int64_t hc_overflow_unlike_fastai(const struct hc_experiment *s, bool none)
{
    static const unsigned char garbage[] = {0xcd, 0xcd, 0xcd, 0xcd}; /* as the row's defects say */
    const struct hc_recipe *r = &s->injection->recipe;
    float g = 0;
    int64_t wrong = 0;
    size_t index = 0;
    size_t bytes = 0; /* of the model's copies before */
    if (s->before.counters.steps == 0)
        memcpy(&g, garbage, sizeof g);
    for (int i = 0; i < hc_net_plan(s->injection->net)->parameters; i++) {
        struct hc_tensor model = hc_update_tensor(s->injection->update, HC_STATE_MODEL, i);
        size_t width = (size_t)hc_formats[model.format].bytes;
        bool plain = hc_net_parameters(s->injection->net)[i]->role == HC_ROLE_WEIGHT;
        double decay = plain || r->decay_norm ? r->weight_decay : 0;
        for (int64_t e = 0; e < hc_tensor_count(&model); e++, index++, bytes += width) {
            struct weight was = weight(&s->before, index);
            struct weight is = weight(&s->after, index);
            bool right =
                none ? decayed(s, &was, &is, decay) : stepped(s, &was, &is, (double)g, decay);
            struct hc_tensor one =
                hc_tensor1(model.format, 1, s->after.piece[HC_STATE_MODEL].data + bytes);
            wrong +=
                !right || hc_tensor_bits(&one, 0) != hc_encode(model.format, is.w, 0, HC_NEAREST);
        }
    }
    return wrong;
}
