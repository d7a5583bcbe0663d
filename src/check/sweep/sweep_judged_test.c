#include "check/sweep/sweep_judged.h"

#include <criterion/criterion.h>
#include <string.h>

#include "check/selftest/fault.h"
#include "check/check_inner.h"

static const struct hc_case what = {.name = "test"};
static const struct hc_fault *planted;
static struct hc_backend emulated;
static hc_kernel *right;

/* The emulated device's memory is the host's, so that the planted conversions can work in it. */
static enum hc_status wrong_cast(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_fault_site sound = {right, planted, queue};
    return hc_fault_run(&sound, call);
}

static enum hc_status no_cast(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    return HC_OK;
}

static void prepare(void)
{
    emulated = *hc_backend_by_name("cuda-emulated");
    right = emulated.kernel[HC_OP_cast];
}

TestSuite(judged, .init = prepare);

/* Where conversions into fp16 turn: zeros, 2^-25, subnormals, 1, 65504 and beyond, infinity,
   NaN. */
static const uint32_t places[] = {0,          0x33000000, 0x38000000, 0x3f800000, 0x477f0000,
                                  0x7f800000, 0x80000000, 0xb3000000, 0xff800000};

enum { SIZE = 65536 };

static struct hc_result run(const struct hc_parts *parts, struct hc_miss *miss)
{
    struct hc_check check = {.what = &what, .backend = &emulated, .seed = 5};
    cr_assert_eq(emulated.open(&emulated, &check.queue, 1), HC_OK);
    (void)hc_parts_run(&check, parts, miss);
    emulated.close(check.queue);
    hc_check_end(&check);
    return check.result;
}

static struct hc_result convert(enum hc_format from, enum hc_direction direction,
                                struct hc_miss *miss)
{
    struct hc_parts parts = hc_parts_of_all(HC_OP_cast, from, HC_FP16, direction);
    parts.count = sizeof places / sizeof places[0];
    parts.size = SIZE;
    parts.first = places;
    *miss = (struct hc_miss){0};
    return run(&parts, miss);
}

Test(judged, sound_conversions_pass_in_all_directions)
{
    struct hc_miss miss;
    for (int d = 0; d < HC_DIRECTION_COUNT; d++) {
        cr_assert_eq(convert(HC_FP32, (enum hc_direction)d, &miss).verdict, HC_PASS);
        cr_assert_eq(miss.wrong, 0);
        cr_assert_eq(miss.checked, (int64_t)(sizeof places / sizeof places[0]) * SIZE);
        cr_assert_eq(convert(HC_I32, (enum hc_direction)d, &miss).verdict, HC_PASS);
        cr_assert_eq(miss.wrong, 0);
    }
}

Test(judged, sound_pairs_pass)
{
    static const uint32_t rows[] = {0x00010000, 0x3c010000, 0x7bff0000, 0xfc000000};
    static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul, HC_OP_div};
    for (size_t i = 0; i < 4; i++)
        for (int f = 0; f < 2; f++) {
            enum hc_format format = f ? HC_BF16 : HC_FP16;
            struct hc_parts parts = hc_parts_of_all(ops[i], format, format, HC_NEAREST);
            struct hc_miss miss = {0};
            parts.count = 4;
            parts.size = SIZE;
            parts.first = rows;
            cr_assert_eq(run(&parts, &miss).verdict, HC_PASS);
            cr_assert_eq(miss.wrong, 0);
        }
}

Test(judged, every_planted_conversion_from_fp32_is_found_by_the_judge_alone)
{
    int found = 0;
    struct hc_miss miss;
    emulated.kernel[HC_OP_cast] = wrong_cast;
    for (int i = 0; i < hc_fault_count(); i++) {
        planted = hc_fault_at(i);
        if (planted->place != HC_PLACE_EXACT ||
            strcmp(planted->patterns, "rounding/fp32-to-fp16/nearest") != 0)
            continue;
        struct hc_result result = convert(HC_FP32, HC_NEAREST, &miss);
        cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
        cr_assert_gt(miss.wrong, 0, "%s", planted->title);
        cr_assert_neq(miss.want, miss.got);
        found++;
    }
    cr_assert_eq(found, 10);
}

Test(judged, results_that_are_not_written_are_wrong)
{
    struct hc_miss miss;
    emulated.kernel[HC_OP_cast] = no_cast;
    (void)convert(HC_FP32, HC_NEAREST, &miss);
    cr_assert_gt(miss.wrong, 500000);
    cr_assert_eq(miss.got, HC_UNWRITTEN);
}

static enum hc_status idle(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                           struct hc_judged *judged)
{
    (void)queue;
    (void)call;
    (void)first;
    (void)judged;
    return HC_OK;
}

static enum hc_status content(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                              struct hc_judged *judged)
{
    (void)queue;
    (void)first;
    judged->checked += (uint32_t)hc_tensor_count(&call->out[HC_OUT]);
    return HC_OK;
}

/* Condemns the third result of a part, which is right. */
static enum hc_status severe(struct hc_queue *queue, const struct hc_call *call, uint32_t first,
                             struct hc_judged *judged)
{
    judged->wrong = 1;
    judged->from_end = (uint32_t)hc_tensor_count(&call->out[HC_OUT]) - 2;
    return content(queue, call, first, judged);
}

Test(judged, a_judge_that_looks_away_is_an_error)
{
    struct hc_miss miss;
    emulated.judge = idle;
    struct hc_result result = convert(HC_FP32, HC_NEAREST, &miss);
    cr_assert_eq(result.verdict, HC_ERROR);
    cr_assert(strstr(result.note, "the judge saw 0 results"), "%s", result.note);
}

Test(judged, a_judge_that_passes_everything_is_an_error)
{
    struct hc_miss miss;
    emulated.judge = content;
    struct hc_result result = convert(HC_FP32, HC_NEAREST, &miss);
    cr_assert_eq(result.verdict, HC_ERROR);
    cr_assert(strstr(result.note, "16 wrong results were injected"), "%s", result.note);
}

Test(judged, a_judge_that_condemns_what_mpfr_finds_right_is_an_error)
{
    struct hc_miss miss;
    emulated.judge = severe;
    struct hc_result result = convert(HC_FP32, HC_NEAREST, &miss);
    cr_assert_eq(result.verdict, HC_ERROR);
    cr_assert(strstr(result.note, "by MPFR as well"), "%s", result.note);
}
