/* What a definition asks for is found, and stands in the inputs. */
#include "define/ask.h"

#include <string.h>

#include "define/testing.h"

/* Whether something of the kind was found for this expression. */
static bool has(const struct hc_asked *asked, int found, const char *what, const char *text)
{
    for (int i = 0; i < found; i++)
        if (strcmp(asked[i].what, what) == 0 && asked[i].expression->length == (int)strlen(text) &&
            strncmp(asked[i].expression->at, text, strlen(text)) == 0)
            return true;
    return false;
}

static int ask(struct hc_instance *in, uint64_t seed, struct hc_asked *asked)
{
    int found = 0;
    cr_assert_eq(hc_define_ask(in, seed, asked, &found), HC_OK, "%s", hc_message());
    return found;
}

Test(ask, an_eps_is_as_large_as_what_it_is_added_to_in_some_row)
{
    struct hc_definition *d = defined("op norm(x[t, d]; eps = 1e-6)\n"
                                      "v[t] = mean(d: x[t,d] * x[t,d])\n"
                                      "y[t, d] = x[t,d] / sqrt(v[t] + eps)\n"
                                      "return y\n");
    struct hc_asked asked[HC_MAX_ASKED];
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct hc_instance in = drawn_instance(d, HC_BF16, NULL);
        int found = ask(&in, seed, asked);
        bool near = false;
        for (int64_t t = 0; t < in.input[0].shape[0]; t++) {
            double v = 0;
            for (int64_t k = 0; k < in.input[0].shape[1]; k++)
                v += pow(hc_tensor_get(&in.input[0], t * in.input[0].shape[1] + k), 2);
            v /= (double)in.input[0].shape[1];
            near = near || (v > 0.25e-6 && v < 4e-6);
        }
        cr_expect(has(asked, found, "is as large as the number beside it", "v[t] + eps"));
        cr_expect(near, "seed %d", (int)seed);
        free_inputs(&in);
    }
    hc_definition_free(d);
}

Test(ask, a_condition_meets_its_border_and_a_difference_cancels)
{
    struct hc_definition *d = defined("op loss(x[i], z[i]; delta = 1.0)\n"
                                      "e[i] = x[i] - z[i]\n"
                                      "y[i] = select(e[i] < delta, 0, e[i])\n"
                                      "return y\n");
    struct hc_asked asked[HC_MAX_ASKED];
    int borders = 0;
    int cancels = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
        int found = ask(&in, seed, asked);
        borders += has(asked, found, "is at its border", "e[i] < delta");
        cancels += has(asked, found, "cancels", "x[i] - z[i]");
        free_inputs(&in);
    }
    cr_expect_geq(borders, 16, "%d of 32", borders);
    cr_expect_geq(cancels, 4, "%d of 32", cancels);
    hc_definition_free(d);
}

Test(ask, signs_stay_as_they_are_and_a_seed_gives_the_same_inputs_again)
{
    struct hc_definition *d = defined("op root(v[i], g[i]; eps = 1e-8)\n"
                                      "y[i] = g[i] / (sqrt(v[i]) + eps)\n"
                                      "return y\n");
    struct hc_asked asked[HC_MAX_ASKED];
    struct hc_instance one = drawn_instance(d, HC_FP16, NULL);
    struct hc_instance other = drawn_instance(d, HC_FP16, NULL);
    struct hc_instance before = drawn_instance(d, HC_FP16, NULL);
    int found = ask(&one, 3, asked);
    cr_expect_gt(found, 0);
    cr_expect_eq(ask(&other, 3, asked), found);
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < hc_tensor_count(&one.input[k]); i++) {
            double x = hc_tensor_get(&one.input[k], i);
            cr_expect_eq(x, hc_tensor_get(&other.input[k], i));
            cr_expect_eq(signbit(x), signbit(hc_tensor_get(&before.input[k], i)));
        }
    free_inputs(&one);
    free_inputs(&other);
    free_inputs(&before);
    hc_definition_free(d);
}
