#include "cases/rig.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool ok(struct hc_rig *rig, enum hc_status status)
{
    if (!hc_check_ok(rig->check, status))
        rig->failed = true;
    return !rig->failed;
}

void hc_rig_open(struct hc_rig *rig, struct hc_check *check)
{
    *rig = (struct hc_rig){
        .check = check,
        .device = {.backend = hc_check_backend(check), .queue = hc_check_queue(check)}};
}

void hc_rig_close(struct hc_rig *rig)
{
    hc_update_close(rig->update);
    for (int i = 0; i < rig->n; i++)
        hc_parameter_close(&rig->parameter[i]);
    hc_device_end(&rig->device);
}

int hc_rig_add(struct hc_rig *rig, const char *name, enum hc_role role, int64_t count, double value)
{
    struct hc_tensor as = hc_check_vector(rig->check, HC_FP32, count);
    int i = rig->n;
    assert(i < HC_RIG_MOST && !rig->update);
    for (int64_t e = 0; e < count; e++)
        hc_tensor_put(&as, e, value);
    if (rig->failed ||
        !ok(rig, hc_parameter_open(&rig->parameter[i], &rig->device, name, role, &as)))
        return i;
    rig->list[i] = &rig->parameter[i];
    rig->n++;
    (void)ok(rig, hc_storage_write(rig->parameter[i].storage, as.data));
    return i;
}

void hc_rig_layers(struct hc_rig *rig)
{
    static const char *const names[2 * HC_RIG_LAYERS] = {
        "a.filter", "a.gamma", "b.filter", "b.gamma", "c.filter", "c.gamma", "linear", "bias"};
    uint64_t seed = hc_check_seed(rig->check);
    for (int i = 0; i < 2 * HC_RIG_LAYERS && !rig->failed; i++) {
        enum hc_role second = i == 2 * HC_RIG_LAYERS - 1 ? HC_ROLE_BIAS : HC_ROLE_NORM;
        int64_t count = i % 2 ? 3 : 7 + i;
        hc_rig_add(rig, names[i], i % 2 ? second : HC_ROLE_WEIGHT, count, 0);
        rig->parameter[i].layer = i / 2;
        for (int64_t e = 0; e < count; e++)
            hc_rig_set(rig, i, e,
                       0.5 + 0.1 * hc_random_normal(seed, 20 + (uint64_t)i, (uint64_t)e));
    }
}

void hc_rig_random_gradients(struct hc_rig *rig, uint64_t step, double size)
{
    uint64_t seed = hc_check_seed(rig->check);
    for (int i = 0; i < rig->n && !rig->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&rig->parameter[i]); e++)
            hc_rig_gradient(rig, i, e,
                            size * hc_random_normal(seed, 40 + step, (uint64_t)(64 * i + e)));
}

void hc_rig_set(struct hc_rig *rig, int i, int64_t index, double value)
{
    if (rig->failed)
        return;
    struct hc_storage *storage = rig->parameter[i].storage;
    struct hc_tensor t = hc_check_vector(rig->check, storage->format, storage->count);
    if (!ok(rig, hc_storage_read(storage, t.data)))
        return;
    hc_tensor_put(&t, index, value);
    (void)ok(rig, hc_storage_write(storage, t.data));
}

void hc_rig_start(struct hc_rig *rig, const struct hc_recipe *recipe)
{
    if (rig->failed)
        return;
    hc_update_close(rig->update);
    (void)ok(rig, hc_update_open(&rig->update, &rig->device, recipe, rig->list, rig->n));
}

struct hc_counters hc_rig_counters(struct hc_rig *rig)
{
    struct hc_counters counters = {0};
    if (!rig->failed)
        (void)ok(rig, hc_update_counters(rig->update, &counters));
    return counters;
}

void hc_rig_gradient(struct hc_rig *rig, int i, int64_t index, double g)
{
    if (rig->failed)
        return;
    hc_rig_put(rig, HC_PIECE_GRADIENT, i, index, g * (double)hc_rig_counters(rig).scale);
}

void hc_rig_gradients(struct hc_rig *rig, double g)
{
    for (int i = 0; i < rig->n; i++)
        for (int64_t e = 0; e < hc_parameter_count(&rig->parameter[i]); e++)
            hc_rig_gradient(rig, i, e, g);
}

void hc_rig_step(struct hc_rig *rig, double lr, double beta1)
{
    if (!rig->failed)
        (void)ok(rig, hc_update_step(rig->update, lr, beta1));
}

double hc_rig_get(struct hc_rig *rig, enum hc_piece piece, int i, int64_t index)
{
    double value = (double)NAN;
    if (!rig->failed)
        (void)ok(rig, hc_update_get(rig->update, piece, i, index, &value));
    return value;
}

void hc_rig_put(struct hc_rig *rig, enum hc_piece piece, int i, int64_t index, double value)
{
    if (!rig->failed)
        (void)ok(rig, hc_update_put(rig->update, piece, i, index, value));
}

struct hc_bytes hc_rig_bytes(struct hc_rig *rig, enum hc_piece piece)
{
    struct hc_bytes bytes = {0};
    size_t at = 0;
    if (rig->failed)
        return bytes;
    for (int i = 0; i < rig->n; i++) {
        struct hc_tensor t = hc_update_tensor(rig->update, piece, i);
        bytes.count += hc_tensor_bytes(&t);
    }
    bytes.data = hc_check_memory(rig->check, bytes.count);
    for (int i = 0; i < rig->n; i++) {
        struct hc_tensor t = hc_update_tensor(rig->update, piece, i);
        (void)ok(rig, hc_update_read(rig->update, piece, i, bytes.data + at));
        at += hc_tensor_bytes(&t);
    }
    return bytes;
}

bool hc_bytes_equal(const struct hc_bytes *want, const struct hc_bytes *got)
{
    return want->count == got->count && want->count > 0 &&
           memcmp(want->data, got->data, want->count) == 0;
}
