/* For tests with kernels of their own, which commit one error each. Their files are compiled as the
   kernels of cuda-shadow are (cmake/shadow.cmake). */
#ifndef HC_KERNELS_CUDA_SHADOW_TESTING_H
#define HC_KERNELS_CUDA_SHADOW_TESTING_H

#include "kernels/cuda/shadow/shadow.h"

#include <criterion/criterion.h>
#include <string.h>

#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/watch.h"
#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/launch.h"

enum { THREADS = 64, ROOM = 64 * 4 };

static struct hc_emulator *emulator;
static struct hc_watcher *shadow;
static _Alignas(64) unsigned char memory[ROOM + 64];
static _Alignas(64) unsigned char scratch[ROOM];

static inline void begin(void)
{
    emulator = hc_emulator_new();
    shadow = hc_shadow_new();
    cr_assert(emulator && shadow);
    hc_emulator_watch(emulator, shadow);
    cr_assert(shadow->allocated(shadow, memory, ROOM));
    cr_assert(shadow->allocated(shadow, scratch, ROOM));
    shadow->uploaded(shadow, memory, ROOM);
}

static inline void end(void)
{
    shadow->close(shadow);
    hc_emulator_free(emulator);
}

struct arguments {
    unsigned *to;
    unsigned *other;
    int variant;
};

static int variant; /* for the arguments */

/* What was found in a launch, or "". */
static inline const char *run(void (*entry)(const void *), int blocks, int threads)
{
    struct arguments a = {(unsigned *)(void *)memory, (unsigned *)(void *)scratch, variant};
    struct hc_grid grid = {"test", entry, blocks, threads, 4 * THREADS, sizeof a};
    hc_emulate(emulator, &grid, &a);
    const char *finding = shadow->finding(shadow);
    return finding ? finding : "";
}

/* Launch after launch the emulation takes threads in another order. */
static inline void assert_found(void (*entry)(const void *), int blocks, int threads,
                                const char *want)
{
    for (int launches = 0; launches < 16; launches++) {
        const char *got = run(entry, blocks, threads);
        cr_assert(strstr(got, want), "want %s, got %s", want, got);
        cr_assert(strstr(got, "kernel test, block ") && strstr(got, "_test.c:"), "%s", got);
    }
}

static inline void assert_clean(void (*entry)(const void *), int blocks, int threads)
{
    for (int launches = 0; launches < 16; launches++)
        cr_assert_str_empty(run(entry, blocks, threads));
}

#endif
