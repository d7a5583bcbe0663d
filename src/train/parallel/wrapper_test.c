#include "train/parallel/wrapper.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/update/recipe_fields.h"

static struct hc_recipe recipe;
static char name[HC_RECIPE_NAME];

static struct hc_wrapper wrapper_of(const char *text)
{
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    return hc_wrapper_of(&recipe);
}

static struct hc_all_reduce how(const char *text, enum hc_format held, int parts)
{
    struct hc_wrapper wrapper = wrapper_of(text);
    return hc_wrapper_all_reduce(&wrapper, held, parts, false);
}

Test(wrapper, every_row_has_a_name_a_title_and_a_source_and_is_no_contradiction)
{
    int n;
    const struct hc_wrapper *rows = hc_wrappers(&n);
    for (int i = 0; i < n; i++) {
        char text[64];
        cr_assert_str_eq(rows[i].name, hc_wrapper_names[i]);
        cr_assert(rows[i].title && rows[i].source);
        cr_assert(rows[i].reduces & 1U << rows[i].reduce, "%s", rows[i].name);
        cr_assert_eq(rows[i].predivides, rows[i].division == HC_DIVIDE_SPLIT, "%s", rows[i].name);
        (void)snprintf(text, sizeof text, "amp+wrapper=%s", rows[i].name);
        cr_assert_str_eq(wrapper_of(text).name, rows[i].name);
    }
    cr_assert_null(hc_wrapper_names[n]);
}

Test(wrapper, a_recipe_that_says_nothing_adds_in_fp32_by_a_tree_and_divides_once)
{
    struct hc_all_reduce got = how("apex-O3", HC_FP16, 12);
    cr_expect_eq(got.algorithm, HC_COLLECTIVE_TREE);
    cr_expect_eq(got.sum, HC_FP32);
    cr_expect_eq(got.before, 1);
    cr_expect_eq(got.after, 12);
    cr_expect_not(got.multiplies);
    cr_expect_eq(how("fp64", HC_FP64, 12).sum, HC_FP64);
}

Test(wrapper, apex_divides_by_predivide_before_and_by_the_rest_after)
{
    struct hc_all_reduce got = how("apex-O2+wrapper=apex-ddp+predivide=32", HC_FP16, 1024);
    cr_expect_eq(got.algorithm, HC_COLLECTIVE_RING);
    cr_expect_eq(got.sum, HC_FP16);
    cr_expect_eq(got.before, 32);
    cr_expect_eq(got.after, 32);
    cr_expect(got.multiplies);
    cr_expect_eq(how("apex-O2+wrapper=apex-ddp", HC_FP16, 1024).before, 1);
    cr_expect_eq(how("apex-O2+wrapper=apex-ddp", HC_FP16, 1024).after, 1024);
    cr_expect_eq(how("apex-O2+wrapper=apex-ddp", HC_FP32, 1024).sum, HC_FP32);
    cr_expect_eq(how("apex-O2+wrapper=apex-ddp+reduce=fp32", HC_FP16, 8).sum, HC_FP32);
    got = how("apex-O2+wrapper=apex-ddp+algorithm=halving+predivide=0.5", HC_FP16, 8);
    cr_expect_eq(got.algorithm, HC_COLLECTIVE_HALVING);
    cr_expect_eq(got.before, 0.5);
    cr_expect_eq(got.after, 16);
}

Test(wrapper, torch_divides_before_the_sum_and_compresses_before_it_divides)
{
    struct hc_all_reduce got = how("fp32+wrapper=torch-ddp", HC_FP32, 6);
    cr_expect_eq(got.sum, HC_FP32);
    cr_expect_eq(got.before, 6);
    cr_expect_eq(got.after, 1);
    cr_expect_eq(how("fp32+wrapper=torch-ddp+reduce=fp16", HC_FP32, 6).sum, HC_FP16);
    cr_expect_eq(how("fp32+wrapper=torch-ddp+reduce=bf16", HC_FP32, 6).before, 6);
}

/* What torch's loop gives for n: 1 while n is no power of two below it, and so on. */
Test(wrapper, fsdp_divides_by_the_power_of_two_that_torch_takes)
{
    static const struct {
        int n;
        double before;
    } rows[] = {{1, 1},   {2, 2},    {3, 2},    {4, 2},    {5, 2},    {6, 4},
                {7, 2},   {8, 4},    {16, 4},   {24, 8},   {32, 8},   {64, 8},
                {100, 8}, {128, 16}, {256, 16}, {384, 32}, {512, 32}, {1024, 32}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_all_reduce got = how("amp+wrapper=fsdp", HC_FP16, rows[i].n);
        cr_expect_eq(got.before, rows[i].before, "%d: %g", rows[i].n, got.before);
        cr_expect_eq(got.after, rows[i].n / rows[i].before, "%d", rows[i].n);
        got = how("amp+wrapper=fsdp2", HC_FP16, rows[i].n);
        cr_expect_eq(got.before, rows[i].before, "%d: %g", rows[i].n, got.before);
        got = how("amp-bf16+wrapper=fsdp2", HC_BF16, rows[i].n);
        cr_expect_eq(got.before, rows[i].n);
        cr_expect_eq(got.after, 1);
    }
    cr_expect_eq(how("amp+wrapper=fsdp2+reduce=fp32", HC_FP16, 8).before, 8);
    cr_expect_eq(how("amp-bf16+wrapper=fsdp2+reduce=fp16", HC_BF16, 8).before, 4);
    cr_expect_eq(how("amp-bf16+wrapper=fsdp", HC_BF16, 8).before, 4);
}

/* autocast's parameters are fp32, and so are their gradients; FSDP's own copies are not. */
Test(wrapper, what_a_wrapper_holds_is_the_gradient_of_the_parameter_or_of_its_copy)
{
    static const struct {
        const char *recipe;
        enum hc_format held; /* of an fp16 gradient */
    } rows[] = {{"amp+wrapper=torch-ddp", HC_FP32},
                {"amp+wrapper=fsdp", HC_FP16},
                {"amp+wrapper=apex-ddp", HC_FP32},
                {"apex-O1+wrapper=apex-ddp", HC_FP32},
                {"amp", HC_FP32},
                {"apex-O2+wrapper=apex-ddp", HC_FP16},
                {"apex-O2", HC_FP16},
                {"fp16-pure+wrapper=torch-ddp", HC_FP16}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)wrapper_of(rows[i].recipe);
        cr_expect_eq(hc_wrapper_held(&recipe, HC_FP16), rows[i].held, "%s", rows[i].recipe);
        cr_expect_eq(hc_wrapper_held(&recipe, HC_FP32), HC_FP32);
    }
    (void)wrapper_of("fp64");
    cr_expect_eq(hc_wrapper_held(&recipe, HC_FP64), HC_FP64);
}

Test(wrapper, a_bucket_of_another_size_is_the_size_of_the_first_too)
{
    struct hc_wrapper got = wrapper_of("fp32+wrapper=torch-ddp");
    cr_expect_eq(got.first_bucket, 1 << 20);
    cr_expect_eq(got.bucket, 25 << 20);
    got = wrapper_of("fp32+wrapper=torch-ddp+bucket=4096");
    cr_expect_eq(got.first_bucket, 4096);
    cr_expect_eq(got.bucket, 4096);
}

Test(wrapper, a_loss_that_is_a_sum_is_divided_by_nothing)
{
    struct hc_wrapper wrapper = wrapper_of("sum-loss-fp16+wrapper=apex-ddp");
    struct hc_all_reduce got = hc_wrapper_all_reduce(&wrapper, HC_FP16, 8, true);
    cr_expect_eq(got.before, 1);
    cr_expect_eq(got.after, 1);
}

Test(wrapper, contradictions_are_refused_in_one_line)
{
    static const struct {
        const char *text;
        const char *line;
    } rows[] = {
        {"amp+wrapper=ddp",
         "wrapper is one of none, apex-ddp, apex-ddp-delayed, torch-ddp, fsdp, fsdp2, horovod, "
         "not 'ddp'"},
        {"amp+algorithm=rings", "algorithm is one of wrapper, tree, ring, halving, library, not"},
        {"amp+reduce=tf32", "reduce is one of wrapper, gradient, fp32, bf16, fp16, not 'tf32'"},
        {"amp+predivide=0",
         "predivide is a number above 0, up to fp32's 3.4e38, or 'wrapper', not '0'"},
        {"amp+predivide=-0", "predivide is a number above 0"},
        {"amp+predivide=-32", "predivide is a number above 0"},
        {"amp+predivide=nan", "predivide is a number above 0"},
        {"amp+predivide=inf", "predivide is a number above 0"},
        {"amp+predivide=1e39", "predivide is a number above 0"},
        {"amp+predivide=1e-39", ": predivide is so small or so large that fp32"},
        {"amp+predivide=1e-33", ": predivide is so small or so large that fp32"},
        {"amp+predivide=1e-300", ": predivide is so small or so large that fp32"},
        {"amp+wrapper=apex-ddp+bucket=0",
         "bucket is a whole number from 1 to 2^30, or 'wrapper', not '0'"},
        {"amp+wrapper=apex-ddp+bucket=-1", "bucket is a whole number"},
        {"amp+wrapper=apex-ddp+bucket=1.5", "bucket is a whole number"},
        {"amp+wrapper=apex-ddp+bucket=nan", "bucket is a whole number"},
        {"amp+wrapper=apex-ddp+bucket=2147483648", "bucket is a whole number"},
        {"amp+bucket=1", ": its wrapper has no buckets of a size"},
        {"amp+wrapper=apex-ddp-delayed+bucket=1", ": its wrapper has no buckets of a size"},
        {"amp+wrapper=fsdp+bucket=1", ": its wrapper has no buckets of a size"},
        {"amp+wrapper=torch-ddp+predivide=2", ": its wrapper has no predivide factor"},
        {"amp+wrapper=fsdp+predivide=2", ": its wrapper has no predivide factor"},
        {"amp+wrapper=apex-ddp+reduce=bf16", ": its wrapper has no option to reduce in that"},
        {"amp+wrapper=torch-ddp+reduce=fp32", ": its wrapper has no option to reduce in that"},
        {"amp+wrapper=horovod+reduce=bf16", ": its wrapper has no option to reduce in that"},
        {"fp64+reduce=fp32", ": fp64 is reduced in fp64"},
        {"fp64+wrapper=torch-ddp+reduce=bf16", ": fp64 is reduced in fp64"},
        {"sum-loss-fp16+wrapper=apex-ddp+predivide=2", ": a loss that is a sum is not averaged"},
        {"sum-loss-fp16+wrapper=torch-ddp", "and its wrapper always averages"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(hc_recipe_read(&recipe, name, rows[i].text, strlen(rows[i].text)), HC_INVALID,
                     "%s is accepted", rows[i].text);
        cr_expect_not_null(strstr(hc_message(), rows[i].line), "%s: %s", rows[i].text,
                           hc_message());
    }
}

/* An infinite divisor would make every average 0. */
Test(wrapper, what_is_left_after_predivide_is_a_divisor_for_every_number_of_shards)
{
    static const char *const ends[] = {"apex-O2+wrapper=apex-ddp+predivide=3.2e-30",
                                       "apex-O2+wrapper=apex-ddp+predivide=3e38"};
    for (int i = 0; i < 2; i++)
        for (int n = 1; n > 0 && n <= 1 << 30; n = n < 1 << 30 ? 2 * n : 0) {
            struct hc_all_reduce got = how(ends[i], HC_FP16, n);
            cr_expect(isfinite((float)got.after) && isfinite(1 / (float)got.after), "%s, %d",
                      ends[i], n);
        }
}

/* What text cannot set, a row could. */
Test(wrapper, a_row_of_impossible_numbers_is_refused)
{
    struct hc_recipe rows[7];
    for (int i = 0; i < 7; i++)
        rows[i] = *hc_recipe_by_name("amp");
    rows[0].wrapper = 1000;
    rows[1].wrapper = -1;
    rows[2].algorithm = HC_COLLECTIVE_COUNT + 1;
    rows[3].reduce = HC_REDUCE_CHOICES;
    rows[4].predivide = (double)NAN;
    rows[5].predivide = -1;
    rows[6].bucket = -1;
    for (int i = 0; i < 7; i++)
        cr_expect_eq(hc_recipe_check(&rows[i]), HC_INVALID, "%d", i);
}

Test(wrapper, what_is_left_to_the_wrapper_can_be_left_to_it_again)
{
    (void)wrapper_of("amp+wrapper=apex-ddp+predivide=4+bucket=7+reduce=fp32+algorithm=tree+"
                     "predivide=wrapper+bucket=wrapper+reduce=wrapper+algorithm=wrapper");
    cr_expect_eq(recipe.predivide, 0);
    cr_expect_eq(recipe.bucket, 0);
    cr_expect_eq(recipe.reduce, 0);
    cr_expect_eq(recipe.algorithm, 0);
}
