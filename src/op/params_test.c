#include "op/params.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/later.h"
#include "op/testing.h"

/* The second statement of the structs: the bytes of all members of each, without padding. A new
   member changes the size, and then somebody comes by here. */
enum { STOCHASTIC = sizeof(bool) + sizeof(uint64_t) + sizeof(int64_t) };

static const struct {
    const char *ops[5];
    size_t members;
    size_t size; /* of the struct on a machine of 64 bits */
} structs[] = {
    {{"cast"}, sizeof(int) + sizeof(bool), 8},
    {{"axpy"}, sizeof(double), 8},
    {{"unscale"}, sizeof(bool), 1},
    {{"sum", "dot", "sum_squares"}, sizeof(int), 4},
    {{"gemm"},
     2 * sizeof(double) + 4 * sizeof(bool),
     32}, /* as_given is for references and bounds alone, */
    {{"conv2d", "conv2d_bwd_data", "conv2d_bwd_filter"}, 2 * sizeof(int) + sizeof(bool), 12},
    {{"bn_leaky_train"}, 3 * sizeof(double), 32},           /* here, too, */
    {{"leaky_relu", "leaky_relu_bwd"}, sizeof(double), 16}, /* and here */
    {{"avg_pool", "avg_pool_bwd"}, sizeof(int), 4},
    {{"im2col", "col2im"}, 3 * sizeof(int), 12},
    {{"xent", "xent_bwd"}, sizeof(bool), 1},
    {{"sgd"}, sizeof(double) + 3 * sizeof(bool) + sizeof(int) + STOCHASTIC, 40},
    {{"adam", "adamw"}, 3 * sizeof(double) + sizeof(bool) + 2 * sizeof(int) + STOCHASTIC, 64},
    {{"scaler_update", "overflow_verdict"},
     5 * sizeof(float) + 5 * sizeof(int) + 5 * sizeof(bool),
     48},
    {{"clip"}, sizeof(double), 8},
    {{"augment"},
     sizeof(uint64_t) + sizeof(int64_t) + sizeof(int) + sizeof(bool) + 6 * sizeof(double),
     72},
    {{"all_reduce"}, 2 * sizeof(double) + 2 * sizeof(int) + sizeof(bool), 32},
    {{"quantize"}, 2 * sizeof(int) + 3 * sizeof(int64_t) + 2 * sizeof(bool) + sizeof(uint64_t), 48},
    {{"dequantize"}, 2 * sizeof(int64_t), 16},
    {{"delayed_scale"}, 3 * sizeof(int) + sizeof(bool), 16},
    {{"gemm_q"}, 5 * sizeof(int64_t), 40},
    {{"stochastic_cast"}, sizeof(int) + sizeof(bool), 8},
};

static size_t real_size(enum hc_op op)
{
    switch (op) {
#define SIZE(name, member)                                                                         \
    case HC_OP_##name:                                                                             \
        return sizeof(((union hc_params *)0)->member);
        SIZE(cast, cast)
        SIZE(axpy, axpy)
        SIZE(unscale, unscale)
        SIZE(sum, reduce)
        SIZE(gemm, gemm)
        SIZE(conv2d, conv)
        SIZE(bn_leaky_train, bn)
        SIZE(leaky_relu, leaky)
        SIZE(avg_pool, pool)
        SIZE(im2col, columns)
        SIZE(xent, xent)
        SIZE(sgd, sgd)
        SIZE(adam, adam)
        SIZE(scaler_update, scaler)
        SIZE(clip, clip)
        SIZE(augment, augment)
        SIZE(all_reduce, all_reduce)
        SIZE(quantize, quantize)
        SIZE(dequantize, dequantize)
        SIZE(delayed_scale, delayed_scale)
        SIZE(gemm_q, gemm_q)
        SIZE(stochastic_cast, stochastic_cast)
#undef SIZE
    default:
        return 0;
    }
}

Test(params, every_byte_of_every_struct_of_parameters_is_in_one_row)
{
    for (size_t s = 0; s < sizeof structs / sizeof structs[0]; s++)
        for (int o = 0; structs[s].ops[o]; o++) {
            enum hc_op op = hc_op_by_name(structs[s].ops[o]);
            char seen[sizeof(union hc_params)] = {0};
            size_t bytes = 0;
            cr_assert_neq(op, HC_OP_COUNT, "%s", structs[s].ops[o]);
            cr_expect(o > 0 || real_size(op) == structs[s].size,
                      "%s: the struct has %zu bytes: a member is new", structs[s].ops[o],
                      real_size(op));
            for (const struct hc_param *p = hc_op_params(op); p->name; p++) {
                size_t size = hc_param_size(p) * (size_t)(p->count ? p->count : 1);
                cr_assert_leq(p->offset + size, structs[s].size, "%s", p->name);
                for (size_t i = p->offset; i < p->offset + size; i++)
                    cr_expect_eq(seen[i]++, 0, "%s: %s", structs[s].ops[o], p->name);
                bytes += size;
            }
            cr_expect_eq(bytes, structs[s].members, "%s: %zu bytes of %zu", structs[s].ops[o],
                         bytes, structs[s].members);
        }
}

/* Those of a definition are its options: define/op_test.c. */
Test(params, an_op_whose_calls_have_no_parameters_has_no_rows)
{
    static const enum hc_op without[] = {HC_OP_add,         HC_OP_sub,        HC_OP_mul,
                                         HC_OP_div,         HC_OP_sqrt,       HC_OP_fma,
                                         HC_OP_scale,       HC_OP_rates,      HC_OP_master_to_model,
                                         HC_OP_step_log,    HC_OP_bn_moments, HC_OP_bn_bwd_sums,
                                         HC_OP_bn_bwd_apply};
    int found = 0;
    for (int op = 0; op < HC_OP_COUNT; op++)
        found += hc_ops[op].class_ != HC_CLASS_DEFINED && !hc_op_params((enum hc_op)op)->name;
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
        cr_expect_null(hc_op_params(without[i])->name, "%s", hc_ops[without[i]].name);
    cr_expect_eq(found, sizeof without / sizeof without[0]);
}

static void reads(enum hc_op op, union hc_params *params, const char *name, const char *text)
{
    cr_assert_eq(hc_param_read(op, params, name, text), HC_OK, "%s", hc_message());
}

Test(params, what_is_written_is_read_again_bit_for_bit)
{
    for (int i = 0; i < HC_OP_COUNT; i++) {
        enum hc_op op = (enum hc_op)i;
        union hc_params params;
        union hc_params again;
        hc_params_usual(op, &params);
        memset(&again, 0, sizeof again);
        for (const struct hc_param *p = hc_op_params(op); p->name; p++) {
            char text[HC_PARAM_TEXT];
            hc_param_text(p, &params, text);
            reads(op, &again, p->name, text);
        }
        cr_expect_arr_eq(&again, &params, sizeof params, "%s", hc_ops[i].name);
    }
}

Test(params, values_keep_their_bits_as_text_and_as_json)
{
    static const struct {
        enum hc_op op;
        const char *name, *typed, *text, *json;
    } rows[] = {
        {HC_OP_adamw, "beta2", "0.999", "0x1.ff7ced916872bp-1", "\"0x1.ff7ced916872bp-1\""},
        {HC_OP_adamw, "eps", "-nan", "nan", "\"nan\""},
        {HC_OP_adamw, "eps", "1e999", "inf", "\"inf\""},
        {HC_OP_adamw, "order", "torch-loop", "torch-loop", "\"torch-loop\""},
        {HC_OP_adamw, "eps_inside", "1", "true", "true"},
        {HC_OP_adamw, "arithmetic", "bf16", "bf16", "\"bf16\""},
        {HC_OP_adamw, "seed", "18446744073709551615", "0xffffffffffffffff",
         "\"0xffffffffffffffff\""},
        {HC_OP_adamw, "first", "-9223372036854775808", "-9223372036854775808",
         "-9223372036854775808"},
        {HC_OP_conv2d, "pad", "-3", "-3", "-3"},
        {HC_OP_cast, "direction", "toward-zero", "toward-zero", "\"toward-zero\""},
        {HC_OP_scaler_update, "backoff", "0.1", "0x1.99999ap-4", "\"0x1.99999ap-4\""},
        {HC_OP_scaler_update, "cap", "clamp", "clamp", "\"clamp\""},
        {HC_OP_augment, "mean", "1,0x1p-1,-inf", "0x1p+0,0x1p-1,-inf",
         "[\"0x1p+0\", \"0x1p-1\", \"-inf\"]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        union hc_params params;
        char text[HC_PARAM_TEXT];
        hc_params_usual(rows[i].op, &params);
        reads(rows[i].op, &params, rows[i].name, rows[i].typed);
        hc_param_text(hc_op_param(rows[i].op, rows[i].name), &params, text);
        cr_expect_str_eq(text, rows[i].text, "%s: %s", rows[i].name, text);
        hc_param_json(hc_op_param(rows[i].op, rows[i].name), &params, text);
        cr_expect_str_eq(text, rows[i].json, "%s: %s", rows[i].name, text);
    }
}

Test(params, what_is_no_value_is_refused_with_what_is_expected)
{
    static const struct {
        enum hc_op op;
        const char *name, *text, *line;
    } rows[] = {
        {HC_OP_conv2d, "padd", "1",
         "conv2d has no parameter 'padd'; did you mean 'pad'? it has stride, pad, tf32"},
        {HC_OP_add, "alpha", "1", "add has no parameters, so no 'alpha'"},
        {HC_OP_conv2d, "pad", "1.5", "conv2d: pad is a whole number, not '1.5'"},
        {HC_OP_conv2d, "pad", "", "conv2d: pad is a whole number, not ''"},
        {HC_OP_conv2d, "pad", "2147483648", "conv2d: pad is a whole number, not '2147483648'"},
        {HC_OP_conv2d, "tf32", "yes", "conv2d: tf32 is true or false, not 'yes'"},
        {HC_OP_adam, "eps", " 1", "adam: eps is a number, not ' 1'"},
        {HC_OP_adam, "eps", "1,2", "adam: eps is a number, not '1,2'"},
        {HC_OP_adam, "seed", "-1", "adam: seed is a number from 0 to 2^64 - 1, not '-1'"},
        {HC_OP_adam, "order", "torch",
         "adam: order is one of ours, torch-fused, torch-loop, apex, not 'torch'"},
        {HC_OP_quantize, "rule", "foo",
         "quantize: rule is one of given, te-current, te-current-pow2, te-reference, "
         "te-reference-pow2, te-block, te-block-fp32, torchao, torchao-pow2, deepgemm, "
         "deepseek-v3-ue8m0, ..., not 'foo'"},
        {HC_OP_augment, "mean", "1,2", "augment: mean is 3 numbers with commas between, not '1,2'"},
        {HC_OP_augment, "mean", "1,2,3,4",
         "augment: mean is 3 numbers with commas between, not '1,2,3,4'"},
        {HC_OP_augment, "mean", "1,x,3",
         "augment: mean is 3 numbers with commas between, not '1,x,3'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        union hc_params params;
        union hc_params before;
        hc_params_usual(rows[i].op, &params);
        before = params;
        cr_expect_eq(hc_param_read(rows[i].op, &params, rows[i].name, rows[i].text), HC_INVALID,
                     "%s %s", rows[i].name, rows[i].text);
        cr_expect_str_eq(hc_message(), rows[i].line, "%s", hc_message());
        cr_expect_arr_eq(&params, &before, sizeof params, "%s", rows[i].name);
    }
}
