/* Adam and SGD in fp64: the orders of kernels/element/adam.h and kernels/element/sgd.h, every operation rounded once to
   fp64, coefficients as they are computed. */
#include <math.h>

#include "kernels/exact/double.h"
#include "kernels/element/beta_power.h"

struct element {
    double w, g, m, v;
};

/* Of one step; `second` is 1 - beta2^t. */
struct coefficients {
    double lr, beta1, beta2, first, second, eps, wd;
    bool decoupled;
    bool eps_inside;
};

static void ours(const struct coefficients *s, struct element *e)
{
    double w = s->decoupled ? e->w * (1 - s->lr * s->wd) : e->w;
    double g = !s->decoupled && s->wd != 0 ? e->g + s->wd * w : e->g;
    e->m = s->beta1 * e->m + (1 - s->beta1) * g;
    e->v = s->beta2 * e->v + (1 - s->beta2) * g * g;
    double d =
        s->eps_inside ? sqrt(e->v / s->second + s->eps) : sqrt(e->v) / sqrt(s->second) + s->eps;
    e->w = w - s->lr / s->first * (e->m / d);
}

static void torch(const struct coefficients *s, struct element *e)
{
    double w = s->decoupled ? e->w * (1 - s->lr * s->wd) : e->w;
    double g = !s->decoupled && s->wd != 0 ? fma(s->wd, w, e->g) : e->g;
    double rest = 1 - s->beta1;
    e->m = rest < 0.5 ? fma(rest, g - e->m, e->m) : fma(rest - 1, g - e->m, g);
    e->v = fma((1 - s->beta2) * g, g, s->beta2 * e->v);
    double d = sqrt(e->v) / sqrt(s->second) + s->eps;
    e->w = w + -(s->lr / s->first) * e->m / d;
}

static void apex(const struct coefficients *s, struct element *e)
{
    double g = !s->decoupled && s->wd != 0 ? e->g + s->wd * e->w : e->g;
    e->m = s->beta1 * e->m + (1 - s->beta1) * g;
    e->v = s->beta2 * e->v + (1 - s->beta2) * g * g;
    double u = e->m / s->first / (sqrt(e->v / s->second) + s->eps);
    e->w -= s->lr * (s->decoupled ? u + s->wd * e->w : u);
}

void hc_double_adam(const struct hc_call *call, bool decoupled)
{
    static void (*const steps[])(const struct coefficients *s,
                                 struct element *e) = {[HC_ORDER_OURS] = ours,
                                                       [HC_ORDER_TORCH_FUSED] = torch,
                                                       [HC_ORDER_TORCH_LOOP] = torch,
                                                       [HC_ORDER_APEX] = apex};
    const struct hc_adam *p = &call->params.adam;
    const double *in[4] = {call->in[0].data, call->in[1].data, call->in[2].data, call->in[3].data};
    const float *hyper = call->in[4].data;
    double *out[3] = {call->out[0].data, call->out[1].data, call->out[2].data};
    struct coefficients s = {.lr = (double)hyper[0],
                             .beta1 = (double)hyper[1],
                             .beta2 =
                                 p->order == HC_ORDER_APEX ? (double)(float)p->beta2 : p->beta2,
                             .eps = p->eps,
                             .wd = p->weight_decay,
                             .decoupled = decoupled,
                             .eps_inside = p->eps_inside};
    s.first = 1 - hc_beta_power(s.beta1, hyper[2]);
    s.second = 1 - hc_beta_power(s.beta2, hyper[2]);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++) {
        struct element e = {in[0][i], in[1][i], in[2][i], in[3][i]};
        steps[p->order](&s, &e);
        out[0][i] = e.w;
        out[1][i] = e.m;
        out[2][i] = e.v;
    }
}

void hc_double_sgd(const struct hc_call *call)
{
    const struct hc_sgd *p = &call->params.sgd;
    const double *w = call->in[0].data;
    const double *g = call->in[1].data;
    const double *v = call->in[2].data;
    const float *hyper = call->in[3].data;
    double *out[2] = {call->out[0].data, call->out[1].data};
    double lr = (double)hyper[0];
    double beta1 = (double)hyper[1];
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++) {
        double weight = p->decoupled ? w[i] * (1 - lr * p->weight_decay) : w[i];
        bool coupled = !p->decoupled && p->weight_decay != 0;
        double grad = coupled ? g[i] + p->weight_decay * weight : g[i];
        double d = p->rate_inside ? lr * grad : grad;
        double velocity = beta1 * v[i] + d;
        double along = p->nesterov ? d + beta1 * velocity : velocity;
        out[0][i] = weight - (p->rate_inside ? along : lr * along);
        out[1][i] = velocity;
    }
}
