/* Inputs are found whose results have one right number each, and nothing else passes there. */
#include <stdio.h>

#include "define/draw.h"
#include "define/judge.h"
#include "define/testing.h"

/* The share of elements that are settled, of those that were looked at; and what became of input
   `input`. */
static double share(const char *text, enum hc_format io, int input, char what[32])
{
    struct hc_definition *d = defined(text);
    struct hc_instance in = drawn_instance(d, io, NULL);
    struct hc_settled settled;
    for (int i = 0; i < HC_MAX_AXES; i++)
        in.extent[i] = i < d->axes ? in.extent[i] : 0;
    cr_assert_eq(hc_define_settle(&in, in.extent, 1, &settled), HC_OK, "%s", hc_message());
    cr_assert_gt(settled.looked, 0);
    (void)snprintf(what, 32, "%s", settled.what[input] ? settled.what[input] : "");
    free_inputs(&in);
    hc_definition_free(d);
    return (double)settled.settled / (double)settled.looked;
}

Test(settle, products_are_settled_by_whole_numbers_and_weights_by_scores_of_0)
{
    char what[32];
    cr_expect_eq(share("op f(a[m, k], b[k, n])\ny[m, n] = sum(k: a[m,k] * b[k,n])\nreturn y\n",
                       HC_FP32, 0, what),
                 1);
    cr_expect_str_neq(what, "0");
    /* Rows of four: weights are quarters. */
    static const char attention[] = "op f(q[t, d], k[u, d], v[u, d]; scale = 1/sqrt(D))\n"
                                    "s[t, u] = sum(d: q[t,d] * k[u,d]) * scale\n"
                                    "m[t]    = shift max(u: s[t,u])\n"
                                    "p[t, u] = store exp(s[t,u] - m[t])\n"
                                    "l[t]    = sum(u: exp(s[t,u] - m[t]))\n"
                                    "y[t, d] = sum(u: p[t,u] * v[u,d])\n"
                                    "return y, l: fp32\n";
    cr_expect_eq(share(attention, HC_FP32, 2, what), 1);
    cr_expect_str_neq(what, "0");
    cr_expect_eq(share(attention, HC_BF16, 0, what), 1);
    cr_expect_eq(share("op f(x[i])\ny[i] = 1 / sqrt(x[i] + 3)\nreturn y\n", HC_FP32, 0, what), 0);
    cr_expect_str_eq(what, "small whole numbers");
}

Test(settle, a_sum_that_is_kept_in_bf16_is_seen)
{
    struct hc_definition *d = defined("op f(p[u, t], g[t, d])\n"
                                      "y[u, d] = sum(t: p[u,t] * g[t,d])\n"
                                      "return y: fp32\n");
    struct hc_instance in = {.definition = d, .io = HC_BF16, .freedoms = hc_usual_freedoms};
    int64_t extent[HC_MAX_AXES] = {0};
    for (int i = 0; i < d->axes; i++)
        extent[i] = 192;
    hc_define_shape_inputs(&in, extent);
    for (int i = 0; i < d->inputs; i++)
        in.input[i].data = malloc(hc_tensor_bytes(&in.input[i]));
    hc_define_fill_inputs(&in, extent, HC_FAMILY_SETTLED, 0);
    cr_assert_eq(hc_instance_bind(&in), HC_OK);
    struct hc_tensor got = hc_instance_tensor(&in, d->result[0]);
    got.data = malloc(hc_tensor_bytes(&got));
    for (int right = 0; right < 2; right++) {
        struct hc_defined_output output;
        for (int64_t e = 0; e < hc_tensor_count(&got); e++) {
            double sum = 0;
            for (int64_t t = 0; t < 192; t++) {
                sum += hc_tensor_get(&in.input[0], e / 192 * 192 + t) *
                       hc_tensor_get(&in.input[1], t * 192 + e % 192);
                sum = right ? sum : hc_round(HC_BF16, sum);
            }
            hc_tensor_set(&got, e, sum);
        }
        cr_assert_eq(hc_define_judge(&in, d->result[0], &got, false, &output), HC_OK);
        cr_expect_eq(output.single, output.judged);
        cr_expect(right ? output.wrong == 0 : output.wrong > 0);
    }
    free(got.data);
    free_inputs(&in);
    hc_definition_free(d);
}
