#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num/bits.h"
#include "train/net/parameter.h"
#include "train/net/torch_names.h"

static struct hc_device device;

static void open_exact(void)
{
    device.backend = hc_backend_by_name("exact");
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
}

static void close_exact(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

TestSuite(parameter, .init = open_exact, .fini = close_exact);

static void open_filled(struct hc_parameter *p, const char *name, int64_t n, const float *values)
{
    struct hc_tensor as = hc_tensor1(HC_FP32, n, NULL);
    cr_assert_eq(hc_parameter_open(p, &device, name, HC_ROLE_NORM, &as), HC_OK);
    cr_assert_eq(hc_storage_write(p->storage, values), HC_OK);
}

/* The forum's session: bn_d += 1 shows [2,2,2,2] in the old reference and [1,1,1,1] in the layer.
   */
Test(parameter, a_reference_to_the_storage_is_dead_after_half_and_float)
{
    static const float ones[4] = {1, 1, 1, 1};
    static const float twos[4] = {2, 2, 2, 2};
    struct hc_parameter p;
    float seen[4];
    open_filled(&p, "gamma", 4, ones);
    struct hc_storage *old = hc_storage_hold(p.storage);

    cr_assert_eq(hc_parameter_to(&p, HC_FP16), HC_OK);
    cr_assert_eq(hc_parameter_to(&p, HC_FP32), HC_OK);
    cr_assert_neq(p.storage, old);
    cr_assert_eq(old->references, 1);
    cr_assert_eq(hc_storage_write(old, twos), HC_OK);

    cr_assert_eq(hc_storage_read(p.storage, seen), HC_OK);
    cr_assert_arr_eq(seen, ones, sizeof ones);
    cr_assert_eq(hc_storage_read(old, seen), HC_OK);
    cr_assert_arr_eq(seen, twos, sizeof twos);
    hc_storage_drop(old);
    hc_parameter_close(&p);
}

/* The codes are those of hc_encode, which is held against MPFR elsewhere. */
Test(parameter, a_conversion_goes_through_the_formats_rounding)
{
    static const float values[5] = {70000.0f, 1e-8f, 1234.567f, -0.0f, 0.1f};
    struct hc_parameter p;
    uint16_t half[5];
    float seen[5];
    open_filled(&p, "mean", 5, values);
    cr_assert_eq(hc_parameter_to(&p, HC_FP16), HC_OK);
    cr_assert_eq(hc_storage_read(p.storage, half), HC_OK);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(half[i], hc_encode(HC_FP16, (double)values[i], 0, HC_NEAREST));
    cr_assert_eq(hc_parameter_to(&p, HC_FP32), HC_OK);
    cr_assert_eq(hc_storage_read(p.storage, seen), HC_OK);
    cr_assert_eq(seen[0], (float)INFINITY);
    cr_assert_eq(seen[1], 0.0f);
    cr_assert_eq(seen[2], 1235.0f);
    cr_assert_eq(hc_fp32_bits(seen[3]), 0x80000000u);
    hc_parameter_close(&p);
}

Test(parameter, the_same_format_keeps_the_storage)
{
    static const float ones[4] = {1, 1, 1, 1};
    struct hc_parameter p;
    open_filled(&p, "gamma", 4, ones);
    const struct hc_storage *old = p.storage;
    cr_assert_eq(hc_parameter_to(&p, HC_FP32), HC_OK);
    cr_assert_eq(p.storage, old);
    hc_parameter_close(&p);
}

Test(parameter, flattening_keeps_values_and_identity_and_replaces_storage)
{
    static const float first[3] = {1, 2, 3};
    static const float second[2] = {4, 5};
    static const float want[5] = {1, 2, 3, 4, 5};
    struct hc_parameter a;
    struct hc_parameter b;
    struct hc_parameter *list[] = {&a, &b};
    struct hc_storage *arena;
    float seen[5];
    open_filled(&a, "a", 3, first);
    open_filled(&b, "b", 2, second);
    struct hc_storage *old = hc_storage_hold(b.storage);

    cr_assert_eq(hc_parameter_flatten(list, 2, &arena), HC_OK);
    cr_assert_eq(hc_storage_read(arena, seen), HC_OK);
    cr_assert_arr_eq(seen, want, sizeof want);
    ((float *)arena->data)[4] = 50; /* the exact backend's memory is the host's */
    cr_assert_eq(hc_storage_read(b.storage, seen), HC_OK);
    cr_assert_eq(seen[1], 50.0f);
    cr_assert_eq(hc_storage_read(old, seen), HC_OK);
    cr_assert_eq(seen[1], 5.0f);

    hc_storage_drop(arena); /* the views keep it alive */
    cr_assert_eq(hc_storage_read(a.storage, seen), HC_OK);
    cr_assert_arr_eq(seen, first, sizeof first);
    hc_storage_drop(old);
    hc_parameter_close(&a);
    hc_parameter_close(&b);
}

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
