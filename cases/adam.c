#include "cases/adam.h"

#include "cases/unit.h"

static void on_backend(struct hc_adam_run *run, double g)
{
    enum hc_format format = run->params.arithmetic;
    uint64_t w = 0;
    uint64_t gradient = 0;
    uint64_t m = 0;
    uint64_t v = 0;
    float hyper[3] = {(float)run->lr, (float)run->beta1, (float)run->t};
    struct hc_call call = {.op = run->op, .params.adam = run->params};
    call.in[0] = hc_tensor1(format, 1, &w);
    call.in[1] = hc_tensor1(format, 1, &gradient);
    call.in[2] = hc_tensor1(format, 1, &m);
    call.in[3] = hc_tensor1(format, 1, &v);
    call.in[4] = hc_tensor1(HC_FP32, 3, hyper);
    call.in[5] = hc_tensor1(HC_FP32, 1, NULL);
    call.out[0] = call.in[0];
    call.out[1] = call.in[2];
    call.out[2] = call.in[3];
    hc_tensor_set(&call.in[0], 0, run->w);
    hc_tensor_set(&call.in[1], 0, g);
    hc_tensor_set(&call.in[2], 0, run->m);
    hc_tensor_set(&call.in[3], 0, run->v);
    if (run->failed || hc_do(run->check, &call) != HC_OK) {
        run->failed = true;
        return;
    }
    run->w = hc_tensor_get(&call.out[0], 0);
    run->m = hc_tensor_get(&call.out[1], 0);
    run->v = hc_tensor_get(&call.out[2], 0);
}

/* The coefficients of step t, as real numbers rounded once into the format. */
struct coefficients {
    double step;
    double rest1;
    double rest2;
    double correction;
    double keep;
};

static struct coefficients coefficients(const struct hc_adam_run *run)
{
    enum hc_format format = run->params.arithmetic;
    struct coefficients c;
    struct hc_real *one = hc_real_new(1);
    struct hc_real *x = hc_real_new((double)(float)run->beta1);
    struct hc_real *y = hc_real_new(0);
    hc_real_sub(y, one, x);
    c.rest1 = hc_decode(format, hc_real_bits(y, format, HC_NEAREST));
    hc_real_pow(x, x, (long)run->t);
    hc_real_sub(x, one, x);
    hc_real_set(y, (double)(float)run->lr);
    hc_real_div(y, y, x);
    c.step = hc_decode(format, hc_real_bits(y, format, HC_NEAREST));
    hc_real_set(x, run->params.beta2);
    hc_real_sub(y, one, x);
    c.rest2 = hc_decode(format, hc_real_bits(y, format, HC_NEAREST));
    hc_real_pow(x, x, (long)run->t);
    hc_real_sub(x, one, x);
    if (!run->params.eps_inside)
        hc_real_sqrt(x, x);
    c.correction = hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
    hc_real_set(x, (double)(float)run->lr);
    hc_real_set(y, run->params.weight_decay);
    hc_real_mul(x, x, y);
    hc_real_sub(x, one, x);
    c.keep = hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
    hc_real_free(one);
    hc_real_free(x);
    hc_real_free(y);
    return c;
}

static void by_definition(struct hc_adam_run *run, double g)
{
    enum hc_format format = run->params.arithmetic;
    struct hc_scalar u = {.format = format};
    struct coefficients c = coefficients(run);
    double beta1 = hc_round(format, (double)(float)run->beta1);
    double beta2 = hc_round(format, run->params.beta2);
    double eps = hc_round(format, run->params.eps);
    double wd = hc_round(format, run->params.weight_decay);
    double w = run->w;
    double d;
    g = hc_round(format, g);
    if (run->op == HC_OP_adamw)
        w = hc_scalar_mul(&u, w, c.keep);
    else
        g = hc_scalar_add(&u, g, hc_scalar_mul(&u, wd, w));
    run->m = hc_scalar_add(&u, hc_scalar_mul(&u, beta1, run->m), hc_scalar_mul(&u, c.rest1, g));
    run->v = hc_scalar_add(&u, hc_scalar_mul(&u, beta2, run->v),
                         hc_scalar_mul(&u, hc_scalar_mul(&u, c.rest2, g), g));
    if (run->params.eps_inside)
        d = hc_scalar_sqrt(&u, hc_scalar_add(&u, hc_scalar_div(&u, run->v, c.correction), eps));
    else
        d = hc_scalar_add(&u, hc_scalar_div(&u, hc_scalar_sqrt(&u, run->v), c.correction), eps);
    run->w = hc_scalar_sub(&u, w, hc_scalar_mul(&u, c.step, hc_scalar_div(&u, run->m, d)));
}

void hc_adam_run_step(struct hc_adam_run *run, double g)
{
    run->t++;
    if (run->check)
        on_backend(run, g);
    else
        by_definition(run, g);
}

double hc_decayed(double lr, double weight_decay, int64_t n)
{
    struct hc_real *x = hc_real_new((double)(float)lr);
    struct hc_real *y = hc_real_new(weight_decay);
    hc_real_mul(x, x, y);
    hc_real_set(y, 1);
    hc_real_sub(x, y, x);
    hc_real_pow(x, x, (long)n);
    double left = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    return left;
}
