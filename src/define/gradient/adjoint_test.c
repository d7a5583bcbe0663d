/* The derived gradient of every definition of the library against central differences: h is 2^-40,
   and values are right to 2^-100, so that a difference is right to some 2^-60. */
#include "define/gradient/adjoint.h"

#include <stdio.h>
#include <string.h>

#include "define/library.h"
#include "define/testing.h"

enum { VALUES = 4096 };

/* All elements of all results, one behind the other. */
static int64_t all_values(const struct hc_instance *in, struct hc_exact value[VALUES])
{
    struct hc_evaluator *evaluator = hc_evaluator_new(in);
    int64_t count = 0;
    for (int r = 0; r < in->definition->results; r++)
        for (int64_t i = 0; i < hc_instance_count(in, in->definition->result[r]); i++) {
            cr_assert_lt(count, VALUES);
            value[count++] = value_at(evaluator, in->definition->result[r], i).want;
        }
    hc_evaluator_free(evaluator);
    return count;
}

/* The gradients dy of the results, in the same order. An input that the gradient's text has lost
   since nothing depends on it is 0. */
static void given_gradients(const struct hc_instance *in, const struct hc_instance *gradient,
                            double dy[VALUES])
{
    const struct hc_definition *d = in->definition;
    int64_t count = 0;
    for (int r = 0; r < d->results; r++) {
        char name[HC_LONGEST_DEFINED_NAME + 2];
        (void)snprintf(name, sizeof name, "d%s", d->tensor[d->result[r]].name);
        int given = hc_definition_tensor(gradient->definition, name);
        for (int64_t i = 0; i < hc_instance_count(in, d->result[r]); i++)
            dy[count++] = given < 0 ? 0 : hc_tensor_get(&gradient->input[given], i);
    }
}

/* Where a root or a logarithm is no number, all inputs become positive. */
static void keep_in_domain(struct hc_instance *in)
{
    static struct hc_exact value[VALUES];
    int64_t count = all_values(in, value);
    bool outside = false;
    for (int64_t i = 0; i < count; i++)
        outside = outside || isnan(value[i].hi);
    for (int i = 0; outside && i < in->definition->inputs; i++)
        for (int64_t e = 0; e < hc_tensor_count(&in->input[i]); e++)
            if (!in->definition->tensor[i].index)
                hc_tensor_set(&in->input[i], e, fabs(hc_tensor_get(&in->input[i], e)));
}

static double by_differences(const struct hc_instance *in, double *x, const double *dy)
{
    static struct hc_exact above[VALUES];
    static struct hc_exact below[VALUES];
    const double h = 0x1p-40;
    double kept = *x;
    double slope = 0;
    *x = kept + h;
    int64_t count = all_values(in, above);
    *x = kept - h;
    (void)all_values(in, below);
    *x = kept;
    /* A row in which everything is masked has no number, and no slope. */
    for (int64_t i = 0; i < count; i++)
        slope +=
            isnan(above[i].hi)
                ? 0
                : dy[i] * (((above[i].hi - below[i].hi) + (above[i].lo - below[i].lo)) / (2 * h));
    return slope;
}

/* Gives the gradient's inputs the numbers that the definition has under the same names. */
static void share_inputs(const struct hc_instance *in, struct hc_instance *gradient)
{
    for (int i = 0; i < gradient->definition->inputs; i++) {
        int same = hc_definition_tensor(in->definition, gradient->definition->tensor[i].name);
        if (same >= 0 && same < in->definition->inputs)
            memcpy(gradient->input[i].data, in->input[same].data,
                   hc_tensor_bytes(&gradient->input[i]));
    }
}

static void check_gradient(const char *name, const char *text)
{
    static double dy[VALUES];
    struct hc_definition *d = defined(text);
    char *gradient_text = NULL;
    bool steps = false; /* a rounding to a format has steps, through which its gradient looks */
    for (int i = 0; i < d->expressions; i++)
        steps = steps || (d->expression[i]->kind == HC_EXPRESSION_STORE &&
                          d->expression[i]->format != HC_FORMAT_COUNT);
    cr_assert_eq(hc_adjoint_text(d, &gradient_text), HC_OK, "%s: %s", name, hc_message());
    struct hc_definition *g = defined(gradient_text);
    struct hc_instance in = drawn_instance(d, HC_FP64, NULL);
    struct hc_instance gradient = drawn_instance(g, HC_FP64, &in);
    keep_in_domain(&in);
    share_inputs(&in, &gradient);
    given_gradients(&in, &gradient, dy);
    struct hc_evaluator *evaluator = hc_evaluator_new(&gradient);
    int result = 0;
    int64_t compared = 0;
    for (int i = 0; i < d->inputs; i++) {
        if (d->tensor[i].index)
            continue;
        int tensor = g->result[result++];
        for (int64_t e = 0; e < hc_tensor_count(&in.input[i]); e++) {
            double want = by_differences(&in, (double *)in.input[i].data + e, dy);
            double got = value_at(evaluator, tensor, e).want.hi;
            compared += want != 0;
            cr_expect(steps || fabs(got - want) <= 1e-9 * (fabs(want) + 1),
                      "%s, %s[%d]: want %.12g, got %.12g", name, g->tensor[tensor].name, (int)e,
                      want, got);
        }
    }
    cr_expect(steps || compared > 0, "%s: no element has a slope", name);
    hc_evaluator_free(evaluator);
    free_inputs(&in);
    free_inputs(&gradient);
    hc_definition_free(d);
    hc_definition_free(g);
    free(gradient_text);
}

Test(adjoint, the_gradient_of_every_definition_is_that_of_central_differences)
{
    for (const struct hc_library_text *row = hc_library; row->name; row++)
        check_gradient(row->name, row->text);
}

/* Each has something of its own: places that a read names otherwise, affine indices, gathers,
   conditions, the same tensor twice, axes that have to make way. */
Test(adjoint, gradients_follow_indices_conditions_and_sums)
{
    static const char *const texts[] = {
        "op gram(x[t, d])\ng[t] = sum(d: x[t,d] * x[T-1-t,d])\nreturn g",
        "op conv(x[n, l], w[k])\naxis i = L - K + 1\n"
        "y[n,i] = sum(k: x[n, i + k] * w[k])\nreturn y",
        "op padded(x[l], w[k])\naxis i = L\ny[i] = sum(k: x[2*i + k - 1] * w[k])\nreturn y",
        "op decay(x[t], w[t], s)\nh[-1] = s * s\n"
        "scan t: h[t] = w[t] * h[t-1]^2 / (1 + h[t-1]^2) + tanh(x[t] + h[t-1])\n"
        "y = sum(t: h[t] * x[t])\nreturn y, h",
        "op gather(x[v, d], at[t]: index v)\ny[t,d] = x[at[t], d]\nreturn y",
        "op causal(x[t])\naxis u = T\ny[t] = sum(u: x[u] * x[t] where u <= t)\nreturn y",
        "op outer(a[i], b[j])\ny[i,j] = a[i] * b[j] / (1 + a[i]^2)\nreturn y",
        "op cubed(x[n])\ny = sum(n: x[n]^3) / prod(n: x[n])\nreturn y",
        "op functions(x[n])\ny[n] = tanh(x[n]) * erf(x[n]) + sin(x[n]) / cos(x[n]) - "
        "log1p(exp(-x[n])) + sqrt(1 + x[n]*x[n]) * log(2 + x[n]^2)\nreturn y",
        "op rectified(x[n])\ny[n] = max(x[n], 0) + abs(x[n]) + select(x[n] > 0, x[n]^2, 3*x[n])\n"
        "return y",
        "op largest(x[n, c])\nm[n] = max(c: x[n,c])\ny[n] = m[n] * m[n]\nreturn y, m",
        "op over_two(x[i, j], w)\ny = w * max(i, j: x[i,j])^2\n"
        "z = min(i, j: x[i,j] where i > 0) * w\nreturn y, z",
        "op present(x[t])\naxis u = T\ns[t,u] = x[t] * x[u] where u <= t\n"
        "m[t] = sum(u: s[t,u]) / count(u: u <= t)\nreturn m",
        "op rotate(x[t, d], a[t, d])\n"
        "y[t,d] = x[t,d] * cos(a[t,d]) + x[t, (d + D - 1) mod D] * sin(a[t,d])\nreturn y",
        "op nested(x[t, d], w[d])\naxis j = D\nq[t] = sum(d: x[t,d] * w[d])\n"
        "y[t,d] = x[t,d] / sum(j: x[0,j]^2) + q[t]\nreturn y",
        "op counted(x[n])\nr[n] = x[n]^2\n"
        "y = select(count(n: x[n] > 0) == 0, 0, sum(n: r[n]))\nreturn y, r",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_gradient("a text", texts[i]);
}

/* Texts whose gradient would be wrong, or long, are refused in a sentence. */
Test(adjoint, what_it_cannot_say_it_refuses)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"op f(x[t], s)\nh[-1] = s\nscan t: h[t] = x[t] * h[t-1]\ny[t] = h[t-1]^2\nreturn y",
         "f: its gradient would need that of what a scan starts from, which is read outside of it"},
        {"op f(x[t])\naxis u = T\ns[t,u] = x[u] where u <= t\nm[t] = mean(u: s[t,u])\nreturn m",
         "f: its gradient needs the condition of a mean in the mean"},
        {"op f(x[i])\ny[i] = x[i]^2 where i > 1\nz[i] = y[i] + x[i]\nreturn z",
         "f: its gradient needs `where` on each equation with absent elements"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_definition *d = defined(rows[i].text);
        char *text;
        cr_expect_eq(hc_adjoint_text(d, &text), HC_UNSUPPORTED, "%s", rows[i].text);
        cr_expect_str_eq(hc_message(), rows[i].why, "want %s, got %s", rows[i].why, hc_message());
        hc_definition_free(d);
    }
}

/* At a kink every slope between those of the two sides is right, and of numbers that are all the
   largest each may have any share. */
Test(adjoint, a_kink_has_every_slope_between_its_sides)
{
    static const struct {
        const char *text;
        double least;
        double most;
    } rows[] = {
        {"op f(x[i])\ny[i] = max(x[i], 0)\nreturn y", 0, 1},
        {"op f(x[i])\ny[i] = abs(x[i])\nreturn y", -1, 1},
        {"op f(x[i])\ny[i] = min(x[i], 0) - log1p(exp(-abs(x[i])))\nreturn y", 0.5, 0.5},
        {"op f(x[i])\ny = max(i: x[i])\nreturn y", 0, 1},
        {"op f(x[i])\ny = prod(i: x[i])\nreturn y", -1e9, 1e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_definition *d = defined(rows[i].text);
        char *text = NULL;
        cr_assert_eq(hc_adjoint_text(d, &text), HC_OK);
        struct hc_definition *g = defined(text);
        struct hc_instance in = drawn_instance(g, HC_FP64, NULL);
        for (int t = 0; t < g->inputs; t++)
            for (int64_t e = 0; e < hc_tensor_count(&in.input[t]); e++)
                hc_tensor_set(&in.input[t], e, strcmp(g->tensor[t].name, "x") == 0 ? 0 : 1);
        struct hc_evaluator *evaluator = hc_evaluator_new(&in);
        struct hc_defined_value v = value_at(evaluator, g->result[0], 0);
        cr_expect(v.want.hi - v.rad <= rows[i].least && v.want.hi + v.rad >= rows[i].most,
                  "%s: got %g within %g", rows[i].text, v.want.hi, v.rad);
        hc_evaluator_free(evaluator);
        free_inputs(&in);
        hc_definition_free(d);
        hc_definition_free(g);
        free(text);
    }
}

static void check_text(const char *text, const char *want)
{
    struct hc_definition *d = defined(text);
    char *got = NULL;
    cr_assert_eq(hc_adjoint_text(d, &got), HC_OK);
    cr_expect_str_eq(got, want, "want\n%s\ngot\n%s", want, got);
    free(got);
    hc_definition_free(d);
}

Test(adjoint, softmax_comes_out_as_in_a_paper)
{
    check_text(hc_library_find("softmax"), "op softmax_grad(x[n,c], dy[n,c]: gradient)\n"
                                           "m[n]    = shift max(c: x[n,c])\n"
                                           "e[n, c] = exp(x[n,c] - m[n])\n"
                                           "l[n]    = sum(c: e[n,c])\n"
                                           "y[n, c] = e[n,c] / l[n]\n"
                                           "sum_l[n] = sum(c: dy[n,c] * y[n,c])\n"
                                           "dx[n,c] = (dy[n,c] - sum_l[n]) * y[n,c]\n"
                                           "return dx\n");
}

/* dr is the gradient of the reciprocal root, whose slope is r^3: as Liger-Kernel and
   TransformerEngine write it down. */
Test(adjoint, rms_norm_comes_out_as_in_its_kernels)
{
    check_text(hc_library_find("rms_norm"),
               "op rms_norm_grad(x[t,d], w[d], dy[t,d]: gradient; eps = 1e-6)\n"
               "r[t] = 1 / sqrt(mean(d: x[t,d] * x[t,d]) + eps)\n"
               "dr[t] = sum(d: dy[t,d] * w[d] * x[t,d])\n"
               "dx[t,d] = r[t] * (dy[t,d] * w[d] - dr[t] * x[t,d] * r[t] * r[t] / D)\n"
               "dw[d] = sum(t: dy[t,d] * x[t,d] * r[t])\n"
               "return dx, dw\n");
}

/* What is multiplied and divided by in two steps is rounded twice. Where tanh's slope is 1 in fp32,
   autograd's dy * 30 / 30 is two units below dy. */
Test(adjoint, what_a_chain_of_slopes_multiplies_and_divides_by_is_in_the_bound)
{
    check_text(hc_library_find("softcap"),
               "op softcap_grad(x[i], dy[i]: gradient; cap = 30.0)\n"
               "dx[i] = dy[i] * cap * (1 - tanh(x[i] / cap) * tanh(x[i] / cap)) / cap\n"
               "return dx\n");
    struct hc_definition *d = defined(hc_library_find("softcap"));
    char *text = NULL;
    const double x = 0x1p-17;
    const double dy = 0x1.2295bp+0;
    const float chain = (float)dy * 30.0F / 30.0F;
    cr_assert_eq(hc_adjoint_text(d, &text), HC_OK);
    cr_expect_float_eq(chain, dy - 0x1p-23, 0);
    cr_expect_eq(judged(element_of(text, HC_FP32, 1, &x, &dy), HC_FP32, (double)chain), RIGHT);
    free(text);
    hc_definition_free(d);
    check_text("op f(x[i])\ny[i] = 4 * tanh(x[i] / 4)\nreturn y",
               "op f_grad(x[i], dy[i]: gradient)\n"
               "dx[i] = dy[i] * (1 - tanh(x[i] / 4) * tanh(x[i] / 4))\n"
               "return dx\n");
}

/* What an option chooses comes out once, if both ways to it are the same; a mean over two axes has
   no deviation. */
Test(adjoint, what_is_chosen_is_written_once)
{
    static const char text[] =
        "op f(x[i, j]; mode = 0)\n"
        "m = mean(i, j: x[i,j])\n"
        "d[i,j] = x[i,j] - m\n"
        "v = mean(i, j: d[i,j] * d[i,j])\n"
        "h[i,j] = select(mode == 0, store(d[i,j]), select(mode == 1, x[i,j], x[i,j]))\n"
        "y[i,j] = select(x[i,j] > 0, h[i,j]^2, -h[i,j])\n"
        "return y, v\n";
    check_text(text, "op f_grad(x[i,j], dy[i,j]: gradient, dv: gradient; mode = 0)\n"
                     "m = mean(i, j: x[i,j])\n"
                     "d[i,j] = x[i,j] - m\n"
                     "h[i,j] = select(mode == 0, store(d[i,j]), "
                     "select(mode == 1, x[i,j], x[i,j]))\n"
                     "dh[i,j] = select(x[i,j] > 0, 2 * dy[i,j] * h[i,j], -dy[i,j])\n"
                     "dd[i,j] = select(mode == 0, dh[i,j], 0) + 2 * dv * d[i,j] / (I * J)\n"
                     "sum_m = sum(i, j: dd[i,j])\n"
                     "dx[i,j] = select(not (mode == 0), dh[i,j], 0) + dd[i,j] - sum_m / (I * J)\n"
                     "return dx\n");
    check_gradient("a text", text);
    check_text("op v(x[i, j])\n"
               "m = mean(i, j: x[i,j])\n"
               "v = mean(i, j: (x[i,j] - m)^2)\n"
               "return v\n",
               "op v_grad(x[i,j], dv: gradient)\n"
               "m = mean(i, j: x[i,j])\n"
               "dx[i,j] = 2 * dv * (x[i,j] - m) / (I * J)\n"
               "return dx\n");
}
