#include "cases/rig.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool ok(struct hc_fixture *fixture, enum hc_status status)
{
    if (!hc_check_ok(fixture->check, status))
        fixture->failed = true;
    return !fixture->failed;
}

void hc_fixture_open(struct hc_fixture *fixture, struct hc_check *check)
{
    *fixture = (struct hc_fixture){
        .check = check,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
}

void hc_fixture_close(struct hc_fixture *fixture)
{
    hc_update_close(fixture->update);
    for (int i = 0; i < fixture->n; i++)
        hc_parameter_close(&fixture->parameter[i]);
    hc_device_end(&fixture->device);
}

int hc_fixture_add(struct hc_fixture *fixture, const char *name, enum hc_role role, int64_t count, double value)
{
    struct hc_tensor as = hc_check_vector(fixture->check, HC_FP32, count);
    int i = fixture->n;
    assert(i < HC_FIXTURE_MAX && !fixture->update);
    for (int64_t e = 0; e < count; e++)
        hc_tensor_set(&as, e, value);
    if (fixture->failed ||
        !ok(fixture, hc_parameter_open(&fixture->parameter[i], &fixture->device, name, role, &as)))
        return i;
    fixture->list[i] = &fixture->parameter[i];
    fixture->n++;
    (void)ok(fixture, hc_storage_write(fixture->parameter[i].storage, as.data));
    return i;
}

void hc_fixture_layers(struct hc_fixture *fixture)
{
    static const char *const names[2 * HC_FIXTURE_LAYERS] = {
        "a.filter", "a.gamma", "b.filter", "b.gamma", "c.filter", "c.gamma", "linear", "bias"};
    uint64_t seed = hc_check_seed(fixture->check);
    for (int i = 0; i < 2 * HC_FIXTURE_LAYERS && !fixture->failed; i++) {
        enum hc_role second = i == 2 * HC_FIXTURE_LAYERS - 1 ? HC_ROLE_BIAS : HC_ROLE_NORM;
        int64_t count = i % 2 ? 3 : 7 + i;
        hc_fixture_add(fixture, names[i], i % 2 ? second : HC_ROLE_WEIGHT, count, 0);
        fixture->parameter[i].layer = i / 2;
        for (int64_t e = 0; e < count; e++)
            hc_fixture_set_parameter(fixture, i, e,
                       0.5 + 0.1 * hc_random_normal(seed, 20 + (uint64_t)i, (uint64_t)e));
    }
}

void hc_fixture_random_gradients(struct hc_fixture *fixture, uint64_t step, double size)
{
    uint64_t seed = hc_check_seed(fixture->check);
    for (int i = 0; i < fixture->n && !fixture->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_gradient(fixture, i, e,
                            size * hc_random_normal(seed, 40 + step, (uint64_t)(64 * i + e)));
}

void hc_fixture_set_parameter(struct hc_fixture *fixture, int i, int64_t index, double value)
{
    if (fixture->failed)
        return;
    struct hc_storage *storage = fixture->parameter[i].storage;
    struct hc_tensor t = hc_check_vector(fixture->check, storage->format, storage->count);
    if (!ok(fixture, hc_storage_read(storage, t.data)))
        return;
    hc_tensor_set(&t, index, value);
    (void)ok(fixture, hc_storage_write(storage, t.data));
}

void hc_fixture_start(struct hc_fixture *fixture, const struct hc_recipe *recipe)
{
    if (fixture->failed)
        return;
    hc_update_close(fixture->update);
    (void)ok(fixture, hc_update_open(&fixture->update, &fixture->device, recipe, fixture->list, fixture->n));
}

struct hc_counters hc_fixture_counters(struct hc_fixture *fixture)
{
    struct hc_counters counters = {0};
    if (!fixture->failed)
        (void)ok(fixture, hc_update_counters(fixture->update, &counters));
    return counters;
}

void hc_fixture_gradient(struct hc_fixture *fixture, int i, int64_t index, double g)
{
    if (fixture->failed)
        return;
    hc_fixture_set(fixture, HC_STATE_GRADIENT, i, index, g * (double)hc_fixture_counters(fixture).scale);
}

void hc_fixture_gradients(struct hc_fixture *fixture, double g)
{
    for (int i = 0; i < fixture->n; i++)
        for (int64_t e = 0; e < hc_parameter_count(&fixture->parameter[i]); e++)
            hc_fixture_gradient(fixture, i, e, g);
}

void hc_fixture_step(struct hc_fixture *fixture, double lr, double beta1)
{
    if (!fixture->failed)
        (void)ok(fixture, hc_update_step(fixture->update, lr, beta1));
}

double hc_fixture_get(struct hc_fixture *fixture, enum hc_state_tensor piece, int i, int64_t index)
{
    double value = (double)NAN;
    if (!fixture->failed)
        (void)ok(fixture, hc_update_get(fixture->update, piece, i, index, &value));
    return value;
}

void hc_fixture_set(struct hc_fixture *fixture, enum hc_state_tensor piece, int i, int64_t index, double value)
{
    if (!fixture->failed)
        (void)ok(fixture, hc_update_set(fixture->update, piece, i, index, value));
}

struct hc_bytes hc_fixture_bytes(struct hc_fixture *fixture, enum hc_state_tensor piece)
{
    struct hc_bytes bytes = {0};
    size_t at = 0;
    if (fixture->failed)
        return bytes;
    for (int i = 0; i < fixture->n; i++) {
        struct hc_tensor t = hc_update_tensor(fixture->update, piece, i);
        bytes.count += hc_tensor_bytes(&t);
    }
    bytes.data = hc_check_memory(fixture->check, bytes.count);
    for (int i = 0; i < fixture->n; i++) {
        struct hc_tensor t = hc_update_tensor(fixture->update, piece, i);
        (void)ok(fixture, hc_update_read(fixture->update, piece, i, bytes.data + at));
        at += hc_tensor_bytes(&t);
    }
    return bytes;
}

bool hc_bytes_equal(const struct hc_bytes *want, const struct hc_bytes *got)
{
    return want->count == got->count && want->count > 0 &&
           memcmp(want->data, got->data, want->count) == 0;
}
