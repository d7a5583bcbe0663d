#include "train/net/torch_names.h"

#include <criterion/criterion.h>
#include <string.h>

static int layer_named(const struct hc_plan *plan, const char *name)
{
    int l = 0;
    while (l < plan->layers && strcmp(plan->layer[l].name, name) != 0)
        l++;
    cr_assert_lt(l, plan->layers, "%s", name);
    return l;
}

static void expect_modules(const struct hc_network *network, const char *const (*want)[2], int n)
{
    struct hc_plan plan;
    hc_plan_make(network, 10, &plan);
    for (int i = 0; i < n; i++) {
        char got[HC_TORCH_NAME];
        hc_torch_module(&plan, layer_named(&plan, want[i][0]), got);
        cr_expect_str_eq(got, want[i][1], "%s: %s", want[i][0], got);
    }
}

/* nn.Sequential(conv, then conv and residual layers for each of [1, 2, 2, 2, 2], AdaptiveAvgPool2d,
   Flatten, Linear), counted by hand. */
Test(torch_names, modules_of_darknet16_are_counted_as_in_its_sequential)
{
    static const char *const want[][2] = {
        {"stem", "0"},           {"g0", "1"},     {"g0.0a", "2.inner.0"},  {"g0.0b", "2.inner.1"},
        {"g0.0", "2"},           {"g1", "3"},     {"g1.0", "4"},           {"g1.1b", "5.inner.1"},
        {"g1.1", "5"},           {"g2", "6"},     {"g2.1", "8"},           {"g3", "9"},
        {"g3.0a", "10.inner.0"}, {"g4", "12"},    {"g4.1b", "14.inner.1"}, {"g4.1", "14"},
        {"pool", "15"},          {"linear", "17"}};
    expect_modules(&hc_darknet16, want, sizeof want / sizeof *want);
}

Test(torch_names, modules_of_the_tiny_network_are_counted_as_in_its_sequential)
{
    static const char *const want[][2] = {{"stem", "0"}, {"g0", "1"},   {"g0.0", "2"},
                                          {"g1", "3"},   {"g1.0", "4"}, {"g2.0b", "6.inner.1"},
                                          {"g2.0", "6"}, {"pool", "7"}, {"linear", "9"}};
    expect_modules(&hc_darknet_tiny, want, sizeof want / sizeof *want);
}

/* The order is that of torch's parameters(), so that an optimizer's state can be told by number. */
Test(torch_names, parameters_and_statistics_have_the_names_of_a_state_dict)
{
    static const char *const parameters[] = {
        "0.0.weight",       "0.1.weight",         "0.1.bias",           "1.0.weight",
        "1.1.weight",       "1.1.bias",           "2.inner.0.0.weight", "2.inner.0.1.weight",
        "2.inner.0.1.bias", "2.inner.1.0.weight", "2.inner.1.1.weight", "2.inner.1.1.bias",
        "3.0.weight"};
    static const char *const statistics[] = {"0.1.running_mean", "0.1.running_var",
                                             "1.1.running_mean", "1.1.running_var",
                                             "2.inner.0.1.running_mean"};
    struct hc_plan plan;
    char got[HC_TORCH_NAME];
    hc_plan_make(&hc_darknet_tiny, 10, &plan);
    for (int p = 0; p < (int)(sizeof parameters / sizeof *parameters); p++) {
        hc_torch_parameter(&plan, p, got);
        cr_expect_str_eq(got, parameters[p], "%s", got);
    }
    for (int s = 0; s < (int)(sizeof statistics / sizeof *statistics); s++) {
        hc_torch_statistic(&plan, s, got);
        cr_expect_str_eq(got, statistics[s], "%s", got);
    }
    hc_torch_parameter(&plan, plan.parameters - 2, got);
    cr_expect_str_eq(got, "9.weight");
    hc_torch_parameter(&plan, plan.parameters - 1, got);
    cr_expect_str_eq(got, "9.bias");
    hc_torch_statistic(&plan, plan.statistics - 1, got);
    cr_expect_str_eq(got, "6.inner.1.1.running_var");
}
