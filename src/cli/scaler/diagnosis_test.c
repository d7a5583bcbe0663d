/* The model behind verify's diagnosis, with a rule's own numbers, is the rule. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scaler/diagnosis.h"

enum { INTERVAL = 7 };

Test(scaler_model, with_the_rules_numbers_it_is_the_rule)
{
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        for (uint64_t seed = 0; seed < 2; seed++) {
            char name[64];
            struct hc_scaler_plan plan = {.seed = seed, .interval = INTERVAL};
            (void)snprintf(name, sizeof name, "scaler/%s", hc_scalers[rule].name);
            cr_assert_eq(hc_scaler_plan_for("test", name, &plan), 0);
            int length = hc_scaler_trace(&plan, NULL).length;
            unsigned char *sent = malloc((size_t)length);
            cr_assert_not_null(sent);
            (void)hc_scaler_trace(&plan, sent);
            struct hc_oracle oracle = hc_scaler_oracle(&plan);
            struct hc_scaler_model model = hc_scaler_model_of(&plan);
            hc_scaler_model_begin(&model);
            int wrong = 0;
            for (int i = 0; i < length && !oracle.gave_up; i++) {
                double scale = hc_scaler_model_step(&model, (enum hc_gradients)sent[i]);
                (void)hc_oracle_step(&oracle, sent[i] != HC_GRADIENTS_FINITE);
                wrong += model.raised != oracle.gave_up ||
                         (!model.raised && scale != hc_oracle_scale(&oracle));
            }
            cr_expect_eq(wrong, 0, "%s, seed %d: %d of %d steps", name, (int)seed, wrong, length);
            free(sent);
        }
}

/* A wrong answer with nothing behind it: no number explains that. */
Test(scaler_diagnosis, of_a_single_wrong_answer_there_is_none)
{
    struct hc_scaler_plan plan = {.rule = HC_SCALER_TORCH, .interval = INTERVAL, .initial = 16};
    unsigned char sent[2] = {HC_GRADIENTS_FINITE, HC_GRADIENTS_INF};
    double scale[2] = {16, 3};
    const struct hc_scaler_answers answers = {
        .plan = &plan, .sent = sent, .scale = scale, .length = 100, .count = 2, .wrong = 1};
    char text[HC_DIAGNOSIS] = "none";
    scale[1] = NAN;
    hc_scaler_diagnose(&answers, text);
    cr_assert_str_eq(text, "");
}

/* DeepSpeed's hysteresis, 2 by its engine and 1 by its class: the scale is halved at each overflow,
   or at each third. Counted here by hand: a clean step at 2^16 and three overflows in a row. */
Test(scaler_diagnosis, names_another_hysteresis)
{
    enum { STEPS = 4 };
    static const double halved[2][STEPS] = {{0x1p16, 0x1p15, 0x1p14, 0x1p13},
                                            {0x1p16, 0x1p16, 0x1p16, 0x1p15}};
    static const char *const said[2] = {"hysteresis 1 in place of 2", "hysteresis 3 in place of 2"};
    const struct hc_scaler_plan plan = {
        .rule = HC_SCALER_DEEPSPEED_0171, .interval = INTERVAL, .initial = 0x1p16};
    const unsigned char sent[STEPS] = {HC_GRADIENTS_FINITE, HC_GRADIENTS_INF, HC_GRADIENTS_NAN,
                                       HC_GRADIENTS_MINUS_INF};
    for (int i = 0; i < 2; i++) {
        double scale[STEPS];
        char text[HC_DIAGNOSIS];
        memcpy(scale, halved[i], sizeof scale);
        const struct hc_scaler_answers answers = {.plan = &plan,
                                                  .sent = sent,
                                                  .scale = scale,
                                                  .length = STEPS,
                                                  .count = STEPS,
                                                  .wrong = 1 + i};
        hc_scaler_diagnose(&answers, text);
        cr_expect_not_null(strstr(text, said[i]), "%s", text);
    }
}
