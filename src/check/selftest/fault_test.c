#include "check/selftest/fault.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "cases/registry.h"
#include "check/selftest/hunt.h"
#include "check/runner.h"

Test(faults, have_names_of_their_own)
{
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        cr_expect_eq(hc_fault_by_name(fault->name), fault, "%s is there twice", fault->name);
        for (const char *c = fault->name; *c; c++)
            cr_expect(islower(*c) || isdigit(*c) || *c == '-' || *c == '^', "%s", fault->name);
    }
    cr_expect_null(hc_fault_by_name("no-such-fault"));
}

static int words_of(const char *text)
{
    int n = *text != 0;
    for (; *text; text++)
        n += *text == ' ';
    return n;
}

Test(faults, have_sentences_for_titles)
{
    for (int i = 0; i < hc_fault_count(); i++) {
        const char *title = hc_fault_at(i)->title;
        size_t length = strlen(title);
        cr_expect(words_of(title) >= 3 && length <= 100, "%s", title);
        cr_expect(title[length - 1] != '.' && !strstr(title, "  "), "%s", title);
    }
    for (int c = 0; c < HC_FAULT_CLASSES; c++)
        cr_expect(words_of(hc_fault_classes[c].title) >= 3, "%s", hc_fault_classes[c].name);
}

static bool a_case_matches(const char *pattern)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++)
        if (!cases[i]->once && cases[i]->level <= HC_STANDARD &&
            hc_matches(&pattern, 1, cases[i]->name))
            return true;
    return false;
}

Test(faults, name_cases_that_run_at_level_standard)
{
    char pattern[HC_GLOB];
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        int n = 0;
        for (; hc_fault_glob(fault->patterns, n, pattern); n++)
            cr_expect(a_case_matches(pattern), "%s: no case is %s", fault->name, pattern);
        cr_expect(n >= 1 && n <= HC_HUNT_PATTERNS, "%s has %d patterns", fault->name, n);
    }
}

Test(faults, say_in_one_way_what_goes_wrong)
{
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        int ways = (fault->wrong != NULL) + (fault->after != NULL) + (fault->after_by != NULL) +
                   (fault->change != NULL) + (fault->change_by != NULL) +
                   (fault->parameter != NULL) + (fault->inputs != NULL) + (fault->outputs != NULL) +
                   (fault->like != NULL);
        cr_expect(ways == 1 || (ways == 0 && fault->rebuild), "%s says it in %d ways", fault->name,
                  ways);
        const struct hc_fault *other = fault->like ? hc_fault_by_name(fault->like) : fault;
        cr_expect(other && (!fault->like || other != fault), "%s is like %s", fault->name,
                  fault->like);
    }
}

Test(faults, make_ops_of_their_backend_wrong)
{
    for (int i = 0; i < hc_fault_count(); i++) {
        const struct hc_fault *fault = hc_fault_at(i);
        struct hc_fault_backends plant = hc_fault_plant(fault);
        const struct hc_backend *sound = hc_backend_by_name(hc_fault_home(fault));
        cr_assert_not_null(sound, "%s: no %s", fault->name, hc_fault_home(fault));
        int wrong = 0;
        for (int op = 0; op < HC_OP_COUNT; op++)
            wrong += plant.subject->kernel[op] != sound->kernel[op];
        cr_expect(wrong > 0 || fault->rebuild, "%s makes nothing wrong", fault->name);
        cr_expect_eq(plant.exact == hc_backend_by_name("exact"), fault->place != HC_PLACE_BOTH);
    }
}

static enum hc_status right(const struct hc_fault_site *planted, const struct hc_call *call)
{
    return hc_right(planted, call);
}

static enum hc_status dies(const struct hc_fault_site *planted, const struct hc_call *call)
{
    (void)planted;
    (void)call;
    _exit(3);
}

static enum hc_status aborts(const struct hc_fault_site *planted, const struct hc_call *call)
{
    (void)planted;
    (void)call;
    abort();
}

static struct hc_hunt_result hunt(const struct hc_fault *fault)
{
    int n;
    struct hc_hunt hunt;
    const struct hc_case *const *cases = hc_all_cases(&n);
    cr_assert_eq(hc_hunt_begin(&hunt, fault, cases, n, 0, NULL), HC_OK);
    return hc_hunt_end(&hunt);
}

Test(hunt, catches_nothing_where_nothing_is_wrong)
{
    struct hc_fault fault = {"none", "nothing is wrong",  HC_FAULT_ROUNDING,
                             "*",    "clipping/* data/*", .wrong = right};
    struct hc_hunt_result outcome = hunt(&fault);
    cr_expect_eq(outcome.status, HC_OK);
    cr_expect_eq(outcome.patterns, 2);
    cr_expect_gt(outcome.ran, 2);
    cr_expect(!hc_hunt_caught(&fault, &outcome));
}

Test(hunt, asks_every_pattern_for_a_case_that_fails)
{
    struct hc_fault fault = *hc_fault_by_name("clip-without-epsilon");
    fault.patterns = "clipping/factor data/*";
    struct hc_hunt_result outcome = hunt(&fault);
    cr_expect_geq(outcome.caught_by[0], 0);
    cr_expect_eq(outcome.caught_by[1], -1);
    cr_expect(!hc_hunt_caught(&fault, &outcome));
    fault.patterns = "clipping/factor";
    outcome = hunt(&fault);
    cr_expect(hc_hunt_caught(&fault, &outcome));
}

/* Wrong in one call of the process and never again, as a kernel is that one fill in many shows. */
static enum hc_status once(const struct hc_fault_site *planted, const struct hc_call *call)
{
    static int calls;
    enum hc_status status = hc_right(planted, call);
    if (status == HC_OK && calls++ == 0)
        hc_tensor_set(&call->out[HC_OUT], 0, -7);
    return status;
}

Test(hunt, counts_the_results_that_catch_a_fault_and_finds_one_too_few)
{
    struct hc_fault fault = {"once", "one call is wrong", HC_FAULT_SPARSE,
                             "add",  "op/add/fp32/*",     .wrong = once};
    struct hc_hunt_result outcome = hunt(&fault);
    cr_expect(hc_hunt_caught(&fault, &outcome));
    cr_expect_eq(outcome.results, 1);
    cr_expect(hc_hunt_by_luck(&fault, &outcome));
    fault = *hc_fault_by_name("add-flushes");
    outcome = hunt(&fault);
    cr_expect_eq(outcome.results, HC_HUNT_RESULTS);
    cr_expect(hc_hunt_caught(&fault, &outcome) && !hc_hunt_by_luck(&fault, &outcome));
    fault = *hc_fault_by_name("unscale-looks-after-writing"); /* one case, with other seeds */
    outcome = hunt(&fault);
    cr_expect_eq(outcome.results, HC_HUNT_RESULTS);
}

Test(hunt, takes_a_death_for_a_catch_only_where_the_row_says_so)
{
    struct hc_fault fault = {"dead",         "the kernel ends the program",
                             HC_FAULT_CHEAT, "clip",
                             "clipping/*",   .wrong = aborts};
    struct hc_hunt_result outcome = hunt(&fault);
    cr_expect(outcome.crashed && strstr(outcome.message, "signal"), "%s", outcome.message);
    cr_expect(!hc_hunt_caught(&fault, &outcome));
    fault.crashes = true;
    cr_expect(hc_hunt_caught(&fault, &outcome));
    fault.wrong = dies;
    outcome = hunt(&fault);
    cr_expect(!outcome.crashed && strstr(outcome.message, "status 3"), "%s", outcome.message);
    cr_expect(!hc_hunt_caught(&fault, &outcome));
}
