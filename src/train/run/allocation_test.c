/* This program has an allocator of its own, which counts what the program's code asks for; not what
   libraries need inside their calls, such as oneDNN's lists of arguments. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "num/rng.h"
#include "train/run/metrics.h"
#include "train/update/update.h"

static atomic_long allocations;

#ifndef __SANITIZE_ADDRESS__
/* The linker's names for where the program's code begins and ends. */
extern const char __executable_start;
extern const char etext;

static void note(const void *caller)
{
    if ((const char *)caller >= &__executable_start && (const char *)caller < &etext)
        atomic_fetch_add(&allocations, 1);
}

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    note(__builtin_return_address(0));
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    note(__builtin_return_address(0));
    *memory = __libc_memalign(alignment, bytes);
    return *memory ? 0 : 12;
}
#endif

enum { BATCH = 8, CLASSES = 4 };

static float images[BATCH * 32 * 32 * 3];
static const int32_t labels[BATCH] = {2, 0, 3, 1, 1, 2, 0, 3};

/* Allocations in five steps, after two that may make plans. */
static long count(const char *backend, const struct hc_recipe *recipe)
{
    struct hc_device device = {.backend = hc_backend_by_name(backend)};
    struct hc_net *net = NULL;
    struct hc_update *update = NULL;
    struct hc_metrics *metrics = NULL;
    static struct hc_histogram histogram;
    long before = 0;
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 2), HC_OK);
    cr_assert_eq(hc_net_open(&net, &device, &hc_darknet_tiny, CLASSES, BATCH, 7), HC_OK);
    cr_assert_eq(hc_model_open(&update, &device, net, recipe), HC_OK);
    cr_assert_eq(hc_metrics_open(&metrics, &device, net, update), HC_OK);
    for (int step = 0; step < 7; step++) {
        struct hc_tensor scale = hc_update_scale(update);
        float loss;
        int right;
        if (step == 2)
            before = atomic_load(&allocations);
        if (hc_net_train(net, images, labels, &scale, &loss, &right) != HC_OK ||
            hc_metrics_before(metrics, &histogram) != HC_OK ||
            hc_update_step(update, 1e-3, 0.9) != HC_OK ||
            hc_metrics_after(metrics, 1e-3, 0.9) != HC_OK)
            cr_assert_fail("%s", hc_message());
    }
    long made = atomic_load(&allocations) - before;
    hc_metrics_close(metrics);
    hc_update_close(update);
    hc_net_close(net);
    hc_device_end(&device);
    device.backend->close(device.queue);
    return made;
}

Test(allocation, the_counter_counts)
{
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the sanitizer has the allocator");
#else
    long before = atomic_load(&allocations);
    void *(*volatile allocate)(size_t, size_t) = aligned_alloc; /* called, not inlined */
    free(allocate(64, 64));
    cr_assert_eq(atomic_load(&allocations), before + 1);
#endif
}

Test(allocation, steps_do_not_allocate)
{
    static const char *const backends[] = {"exact", "host"};
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        images[i] = (float)hc_random_normal(3, 0, i);
    for (int b = 0; b < 2; b++)
        for (int r = 0; r < n; r++)
            cr_assert_eq(count(backends[b], &recipes[r]), 0, "%s %s", backends[b], recipes[r].name);
}
