#include <criterion/criterion.h>
#include <math.h>

#include "num/bits.h"
#include "train/net/parameter.h"

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
