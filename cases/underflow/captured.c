/* What half makes of the gradients of a small training. */
#include "cases/fixture/scaling.h"
#include "cases/fixture/tiny_training.h"

#include <math.h>

/* All gradients of the tiny network that the last step left, as one fp32 vector. */
static struct hc_tensor capture(struct hc_tiny *tiny)
{
    int n = hc_update_parameters(tiny->update);
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
        total += hc_tensor_count(&t);
    }
    struct hc_tensor all = hc_check_vector(tiny->check, HC_FP32, total);
    unsigned char *to = all.data;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
        if (!hc_check_ok(tiny->check, hc_update_read(tiny->update, HC_STATE_GRADIENT, i, to)))
            tiny->failed = true;
        to += hc_tensor_bytes(&t);
    }
    return all;
}

/* What half would lose of these gradients at each scale. The last scale is the largest without an
   overflow, which a dynamic scale would reach. *lost becomes the number of zeros without a scale.
   False if the backend failed. */
static bool captured_shares(struct hc_check *check, const struct hc_tensor *g, const char *look,
                            struct hc_picture *picture, int64_t *lost)
{
    enum { SCALES = 6 };
    const double scales[SCALES] = {1, 8, 128, 512, 65536, hc_largest_scale(g)};
    struct hc_tensor half = hc_check_vector(check, HC_FP16, hc_tensor_count(g));
    double percent = 100 / (double)hc_tensor_count(g);
    struct hc_comparisons tally = {0};
    struct hc_stored s[SCALES];
    for (int i = 0; i < SCALES; i++) {
        if (hc_scale_into(check, g, scales[i], &half) != HC_OK)
            return false;
        s[i] = hc_stored_count(g, scales[i], &half, &tally);
        hc_say(check, "scale 2^%-2.0f zeros %8.4f %%, subnormal %8.4f %%, infinite %lld%s",
               log2(scales[i]), percent * (double)s[i].zero, percent * (double)s[i].subnormal,
               (long long)s[i].infinite, i == SCALES - 1 ? "  (dynamic)" : "");
        hc_point(check, picture, look, scales[i], percent * (double)s[i].zero);
        if (i > 0 && scales[i] > scales[i - 1])
            hc_claim_true(check, "a larger scale loses no more", s[i].zero <= s[i - 1].zero);
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "dynamic: infinite", 0, (double)s[SCALES - 1].infinite);
    hc_claim_value(check, "dynamic: zeros", 0, (double)s[SCALES - 1].zero);
    *lost = s[0].zero;
    return true;
}

/* Gradients of a small training, computed in fp32; it is always the same training. */
static void captured(struct hc_check *check)
{
    static const int looks[] = {1, 10, 40};
    static const char *const names[] = {"step 1", "step 10", "step 40"};
    static const struct hc_frame frame = {.title = "Gradients of a training that are zero in half",
                                          .x = "loss scale",
                                          .y = "% of the gradients",
                                          .log_x = true,
                                          .marks = {{512, "static 512"}}};
    enum { LOOKS = sizeof looks / sizeof looks[0] };
    int64_t lost[LOOKS] = {0};
    int look = 0;
    struct hc_tiny tiny;
    struct hc_picture *shares = hc_picture_new(check, &frame);
    struct hc_picture *exponents = hc_exponents_picture(check);
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, hc_recipe_by_name("fp32"));
    for (int step = 1; look < LOOKS && !tiny.failed; step++) {
        double loss = hc_tiny_step(&tiny, step, 1e-2);
        if (step != looks[look] || tiny.failed)
            continue;
        struct hc_tensor g = capture(&tiny);
        hc_say(check, "step %d, loss %.4g", step, loss);
        if (tiny.failed)
            break;
        hc_exponents_draw(check, exponents, names[look], &g, 1);
        if (!captured_shares(check, &g, names[look], shares, &lost[look]))
            break;
        look++;
    }
    hc_tiny_close(&tiny);
    if (look == LOOKS)
        hc_claim_true(check, "more is lost at step 40 than at step 1", lost[LOOKS - 1] > lost[0]);
}

static const struct hc_case cases[] = {
    {.name = "underflow/share-of-captured-gradients",
     .title = "gradients of a small training: the share that half loses falls with the scale, and "
              "rises as the training learns",
     .source =
         "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, figure 3",
     .level = HC_STANDARD,
     .run = captured},
};

HC_CASES(underflow_captured, cases);
