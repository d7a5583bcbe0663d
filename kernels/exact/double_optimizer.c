/* Adam and SGD in fp64: the orders of kernels/adam.h and kernels/sgd.h, every operation rounded once to
   fp64, coefficients as they are computed. */
#include <math.h>

#include "kernels/exact/double.h"
#include "kernels/power.h"

void hc_double_adam(const struct hc_call *call, bool decoupled)
{
    const struct hc_adam *p = &call->params.adam;
    const double *w = call->in[0].data;
    const double *g = call->in[1].data;
    const double *m = call->in[2].data;
    const double *v = call->in[3].data;
    const float *hyper = call->in[4].data;
    double *out[3] = {call->out[0].data, call->out[1].data, call->out[2].data};
    double lr = (double)hyper[0];
    double beta1 = (double)hyper[1];
    double step = lr / (1 - hc_power(beta1, hyper[2]));
    double corrected = 1 - hc_power(p->beta2, hyper[2]);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[0]); i++) {
        double weight = decoupled ? w[i] * (1 - lr * p->weight_decay) : w[i];
        bool coupled = !decoupled && p->weight_decay != 0;
        double grad = coupled ? g[i] + p->weight_decay * weight : g[i];
        double mean = beta1 * m[i] + (1 - beta1) * grad;
        double square = p->beta2 * v[i] + (1 - p->beta2) * grad * grad;
        double d = p->eps_inside ? sqrt(square / corrected + p->eps)
                                 : sqrt(square) / sqrt(corrected) + p->eps;
        out[0][i] = weight - step * (mean / d);
        out[1][i] = mean;
        out[2][i] = square;
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
