#include "check/record/outcomes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const double by_epoch[] = {0.5, 0.9435};

static struct hc_outcome sample(const char *recipe, uint64_t seed)
{
    return (struct hc_outcome){.recipe = recipe,
                               .backend = "host",
                               .seed = seed,
                               .settings = "CIFAR-10 airplane,dog",
                               .test_images = 2000,
                               .learned = true,
                               .reason = "",
                               .accuracy = 0.9435,
                               .test_loss = 0x1.23456789abcdp-3,
                               .train_loss = 1.0 / 3,
                               .accuracy_by_epoch = by_epoch,
                               .epochs = 2};
}

static struct hc_record record_of(json_t *document)
{
    struct hc_record record;
    cr_assert_eq(hc_record_of("test", document, &record), HC_OK, "%s", hc_message());
    return record;
}

static const char *refusal(json_t *document)
{
    struct hc_outcomes all;
    struct hc_record record = record_of(document);
    cr_expect_eq(hc_outcomes_read("r.json", &record, &all), HC_INVALID);
    cr_expect_eq(all.training_count + all.drift_count, 0);
    hc_record_free(&record);
    return hc_message();
}

static json_t *one(void)
{
    json_t *document = hc_record_new();
    struct hc_outcome outcome = sample("amp", 3);
    hc_outcomes_add(document, &outcome);
    return document;
}

Test(outcomes, trainings_come_back_in_order_to_the_bit)
{
    struct hc_outcomes all;
    json_t *document = hc_record_new();
    struct hc_outcome outcomes[] = {sample("fp32", 1), sample("amp", UINT64_MAX), sample("amp", 2)};
    outcomes[0].accuracy = NAN;
    outcomes[0].train_loss = NAN;
    outcomes[0].learned = false;
    outcomes[0].reason = "training loss nan";
    for (int i = 0; i < 3; i++)
        hc_outcomes_add(document, &outcomes[i]);
    struct hc_record record = record_of(document);
    cr_assert_eq(hc_outcomes_read("test", &record, &all), HC_OK, "%s", hc_message());
    cr_assert_eq(all.training_count, 3);
    cr_expect_eq(all.trainings[0].seed, 2);
    cr_expect_eq(all.trainings[1].seed, UINT64_MAX);
    cr_expect_eq(all.trainings[0].test_loss, 0x1.23456789abcdp-3);
    cr_expect_eq(all.trainings[0].train_loss, 1.0 / 3);
    cr_expect_eq(all.trainings[0].epochs, 2);
    cr_expect_eq(all.trainings[0].accuracy_by_epoch[1], 0.9435);
    cr_expect(isnan(all.trainings[2].accuracy) && !all.trainings[2].learned);
    cr_expect_str_eq(all.trainings[2].reason, "training loss nan");
    hc_outcomes_free(&all);
    hc_record_free(&record);
}

static json_t *drift(const char *seed)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:{s:s}, s:s, s:[{s:s, s:s}], s:[{s:s, s:s, s:s}]}",
                     "recipe", "amp", "backend", "exact", "seed", seed, "settings", "3 steps",
                     "all", "error", "0x1p-3", "free", "0.5", "layers", "layer", "conv 1", "error",
                     "0.25", "sources", "source", "weights", "gradient_alone", "0.125",
                     "free_alone", "0.0625");
}

/* The lines of a baseline read back to what the record had. */
Test(outcomes, lines_of_a_baseline_read_back_to_the_same_lines)
{
    char first[4096] = "";
    char second[4096] = "";
    char *texts[] = {first, second};
    json_t *document = one();
    struct hc_outcome nan = sample("\"od\\d\n", 9);
    nan.accuracy = NAN;
    hc_outcomes_add(document, &nan);
    (void)json_object_set_new(document, "drift", json_pack("[o, o]", drift("2"), drift("1")));
    for (int turn = 0; turn < 2; turn++) {
        int lines;
        const char *wrong = NULL;
        struct hc_record record = record_of(document);
        FILE *out = fmemopen(texts[turn], sizeof first, "w");
        cr_assert_eq(hc_outcomes_print(&record, out, &lines), HC_OK, "%s", hc_message());
        (void)fclose(out);
        cr_expect_eq(lines, 4);
        hc_record_free(&record);
        document = hc_record_new();
        char copy[4096];
        (void)strcpy(copy, texts[turn]);
        for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
            cr_expect(hc_outcomes_take_line(document, line, &wrong) && !wrong, "%s", line);
    }
    json_decref(document);
    cr_expect_str_eq(first, second);
    cr_expect_not_null(strstr(first, "\"gradient of conv 1\":\"0.25\""), "%s", first);
    cr_expect_not_null(strstr(first, "\"weights by weights\":\"0.0625\""), "%s", first);
}

Test(outcomes, a_line_of_another_kind_is_none_and_a_cut_one_is_wrong)
{
    const char *wrong = NULL;
    json_t *document = hc_record_new();
    cr_expect_not(hc_outcomes_take_line(document, "trainings {}", &wrong));
    cr_expect_not(hc_outcomes_take_line(document, "", &wrong));
    cr_expect(hc_outcomes_take_line(document, "training {\"recipe\": \"am", &wrong) && wrong);
    cr_expect(hc_outcomes_take_line(document, "drift [1]", &wrong) && wrong);
    json_decref(document);
}

Test(outcomes, what_is_no_training_is_refused_in_a_line)
{
    static const struct {
        const char *key;
        const char *value;
    } bad[] = {{"seed", "\"-1\""},         {"seed", "1"},           {"learned", "1"},
               {"accuracy", "\"1.5\""},    {"accuracy", "\"x\""},   {"test_images", "0"},
               {"test_images", "\"1\""},   {"recipe", "null"},      {"train_loss", "0.5"},
               {"accuracy_by_epoch", "1"}, {"settings", "[\"\"]"},  {"reason", "{}"},
               {"backend", "true"},        {"test_loss", "\"1 \""}, {"accuracy_by_epoch", "[1]"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *document = one();
        json_t *training = json_array_get(json_object_get(document, "trainings"), 0);
        (void)json_object_set_new(training, bad[i].key,
                                  json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        const char *message = refusal(document);
        cr_expect_not_null(strstr(message, "r.json: \"trainings\" 1: "), "%s", message);
        cr_expect_not_null(strstr(message, bad[i].key), "%s: %s", bad[i].key, message);
    }
    json_t *twice = one();
    struct hc_outcome again = sample("amp", 3);
    hc_outcomes_add(twice, &again);
    cr_expect_not_null(strstr(refusal(twice), "the training of amp, seed 3, is there twice"));
    json_t *drifts = hc_record_new();
    (void)json_object_set_new(drifts, "drift", json_pack("[o, o]", drift("2"), drift("2")));
    cr_expect_not_null(strstr(refusal(drifts), "the drift of amp, seed 2, is there twice"));
}

Test(outcomes, the_seed_of_a_training_is_in_its_name)
{
    cr_expect_eq(hc_outcome_seed("train/amp-seed2", 1), 2);
    cr_expect_eq(hc_outcome_seed("drift/amp-seed18446744073709551615-as-fp32", 1), UINT64_MAX);
    cr_expect_eq(hc_outcome_seed("drift/amp-gradients-explained", 1), 1);
    cr_expect_eq(hc_outcome_seed("train/amp-seeds", 1), 1);
    cr_expect_eq(hc_outcome_seed("data/words-seed7", 1), 1);
}

/* A drift that does not say how it was measured is an older halfcheck's. */
Test(outcomes, what_older_records_lack_is_no_error)
{
    struct hc_outcomes all;
    json_t *document = hc_record_new();
    (void)json_object_set_new(document, "drift", json_pack("[{s:s}]", "recipe", "amp"));
    struct hc_record record = record_of(document);
    cr_expect_eq(hc_outcomes_read("test", &record, &all), HC_OK);
    cr_expect_eq(all.training_count + all.drift_count, 0);
    hc_outcomes_free(&all);
    hc_record_free(&record);
}

Test(outcomes, decimals_are_short_and_read_back_to_the_same_bits)
{
    static const double values[] = {
        0, 0.1, 0.9435, 1.0 / 3, 0x1p-1074, 0x1.fffffffffffffp+1023, INFINITY, 95.88};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        json_t *text = hc_json_decimal(values[i]);
        cr_expect_eq(strtod(json_string_value(text), NULL), values[i]);
        json_decref(text);
    }
    json_t *text = hc_json_decimal(0.9435);
    cr_expect_str_eq(json_string_value(text), "0.9435");
    json_decref(text);
}
