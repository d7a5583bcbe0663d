/* Parameters that share a call, and parameters that do not: the bits are the same. */
#include "train/update/testing.h"

TestSuite(update_spans, .init = open_exact, .fini = close_exact);

Test(update_spans, flat_and_per_tensor_masters_have_the_same_bits)
{
    static unsigned char flat[16384];
    static unsigned char apart[16384];
    size_t bytes[2];
    for (int way = 0; way < 2; way++) {
        struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
        recipe.apart = way != 0;
        recipe.flat = way == 0;
        recipe.decay_norm = false;
        begin(&recipe);
        for (int s = 0; s < 20; s++) {
            gradients(s);
            step(1e-3);
        }
        bytes[way] = all_bytes(way == 0 ? flat : apart);
        end();
    }
    cr_assert_eq(bytes[0], bytes[1]);
    cr_assert_arr_eq(flat, apart, bytes[0]);
}

static int calls[HC_OP_ROOM];

static void count_call(const struct hc_call *call, void *context)
{
    (void)context;
    calls[call->op]++;
}

/* Two fp16 weights with a norm between them, which is fp32: of each op one call for what has one
   format, and one optimizer for all masters that decay alike. */
Test(update_spans, neighbours_share_a_call_unless_the_recipe_keeps_them_apart)
{
    for (int apart = 0; apart < 2; apart++) {
        struct hc_recipe recipe = *hc_recipe_by_name("amp");
        recipe.apart = apart != 0;
        recipe.decay_norm = true;
        begin(&recipe);
        gradients(0);
        memset(calls, 0, sizeof calls);
        device.observe = count_call;
        step(1e-3);
        device.observe = NULL;
        cr_assert_eq(calls[HC_OP_rates], 1);
        cr_assert_eq(calls[HC_OP_scaler_update], 1);
        cr_assert_eq(calls[HC_OP_unscale], apart ? 3 : 2);
        cr_assert_eq(calls[HC_OP_adamw], apart ? 3 : 1);
        cr_assert_eq(calls[HC_OP_master_to_model], apart ? 3 : 2);
        end();
    }
}

static int64_t numbered[4 * MOST]; /* how often the number of an element was used */

static void count_numbers(const struct hc_call *call, void *context)
{
    const struct hc_stochastic *s = &call->params.adam.stochastic;
    (void)context;
    if (call->op != HC_OP_adamw)
        return;
    cr_assert_eq(s->on, call->in[HC_ADAM_W].format == HC_BF16);
    cr_assert_eq(s->seed, s->on ? 77 : 0);
    for (int64_t i = 0; s->on && i < hc_tensor_count(&call->in[HC_ADAM_W]); i++)
        numbered[s->first + i]++;
}

/* The fp32 norm comes first in memory and leaves numbers 0 to 63 to itself; of the weights 37 have
   64 to 100 and 16 have 128 to 143. */
Test(update_spans, stochastic_rounding_numbers_each_weight_once_however_the_calls_are_cut)
{
    for (int apart = 0; apart < 2; apart++) {
        struct hc_recipe recipe = *hc_recipe_by_name("bf16-sr");
        recipe.apart = apart != 0;
        begin(&recipe);
        hc_update_seed(update, 77);
        gradients(0);
        memset(numbered, 0, sizeof numbered);
        device.observe = count_numbers;
        step(1e-3);
        device.observe = NULL;
        for (int64_t i = 0; i < 4 * MOST; i++)
            if ((i >= 64 && i < 101) || (i >= 128 && i < 144))
                cr_assert_eq(numbered[i], 1, "%d", (int)i);
            else if (apart)
                cr_assert_eq(numbered[i], 0, "%d", (int)i);
        end();
    }
}

/* A parameter that got other storage is no neighbour any more, and the step still finds it. */
Test(update_spans, a_parameter_that_moved_is_stepped_where_it_is)
{
    static unsigned char stayed[16384];
    static unsigned char moved[16384];
    for (int way = 0; way < 2; way++) {
        begin(hc_recipe_by_name("fp32"));
        if (way == 1)
            cr_assert_eq(hc_parameter_place(list[2], hc_storage_new(&device, HC_FP32, sizes[2])),
                         HC_OK);
        for (int s = 0; s < 3; s++) {
            gradients(s);
            step(1e-3);
        }
        size_t bytes = all_bytes(way == 0 ? stayed : moved);
        if (way == 1)
            cr_assert_arr_eq(moved, stayed, bytes);
        end();
    }
}
