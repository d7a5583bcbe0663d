/* An update over three parameters on the backend `exact`. */
#ifndef HC_TRAIN_UPDATE_TESTING_H
#define HC_TRAIN_UPDATE_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num/rng.h"
#include "train/update/update.h"

enum { SIZES = 3, MOST = 40 };

static const int64_t sizes[SIZES] = {37, 1, 16};
static const enum hc_role roles[SIZES] = {HC_ROLE_WEIGHT, HC_ROLE_NORM, HC_ROLE_WEIGHT};

static struct hc_device device;
static struct hc_parameter parameters[SIZES];
static struct hc_parameter *list[SIZES];
static struct hc_update *update;

static inline void open_exact(void)
{
    device.backend = hc_backend_by_name("exact");
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
}

static inline void close_exact(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* An update over three parameters that all start as 1 + i / 1000. */
static inline void begin(const struct hc_recipe *recipe)
{
    for (int p = 0; p < SIZES; p++) {
        float start[MOST];
        struct hc_tensor as = hc_tensor1(HC_FP32, sizes[p], NULL);
        list[p] = &parameters[p];
        cr_assert_eq(hc_parameter_open(list[p], &device, "p", roles[p], &as), HC_OK);
        list[p]->layer = p;
        for (int i = 0; i < sizes[p]; i++)
            start[i] = 1 + (float)i / 1000;
        cr_assert_eq(hc_storage_write(list[p]->storage, start), HC_OK);
    }
    cr_assert_eq(hc_update_open(&update, &device, recipe, list, SIZES), HC_OK);
}

static inline void end(void)
{
    hc_update_close(update);
    for (int p = 0; p < SIZES; p++)
        hc_parameter_close(&parameters[p]);
}

static inline double get(enum hc_state_tensor state, int p, int64_t i)
{
    double value;
    cr_assert_eq(hc_update_get(update, state, p, i, &value), HC_OK);
    return value;
}

static inline void set(enum hc_state_tensor state, int p, int64_t i, double value)
{
    cr_assert_eq(hc_update_set(update, state, p, i, value), HC_OK);
}

static inline struct hc_counters counters(void)
{
    struct hc_counters c;
    cr_assert_eq(hc_update_counters(update, &c), HC_OK);
    return c;
}

static inline void gradients(int step)
{
    for (int p = 0; p < SIZES; p++)
        for (int64_t i = 0; i < sizes[p]; i++)
            set(HC_STATE_GRADIENT, p, i,
                hc_random_normal(1, (uint64_t)p, (uint64_t)(step * MOST + i)));
}

static inline void step(double lr)
{
    cr_assert_eq(hc_update_step(update, lr, 0.9), HC_OK);
}

/* The state tensors of all parameters as bytes, but for the unscaled gradients, which a skipped
   step may change.
 */
static inline size_t all_bytes(unsigned char *to)
{
    size_t at = 0;
    for (int state = 0; state < HC_STATE_COUNT; state++) {
        for (int p = 0; p < SIZES && state != HC_STATE_MASTER_GRADIENT; p++) {
            struct hc_tensor t = hc_update_tensor(update, (enum hc_state_tensor)state, p);
            cr_assert_eq(hc_update_read(update, (enum hc_state_tensor)state, p, to + at), HC_OK);
            at += hc_tensor_bytes(&t);
        }
    }
    return at;
}

#endif
