/* What the emulation tells whoever watches its launches (kernels/cuda/shadow). */
#ifndef HC_KERNELS_CUDA_EMULATE_WATCH_H
#define HC_KERNELS_CUDA_EMULATE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct hc_grid;

struct hc_watcher {
    void (*close)(struct hc_watcher *watcher);

    /* Memory of the device begins, whether there was memory to watch it; it ends; the host has
       written so many bytes of it. */
    bool (*allocated)(struct hc_watcher *watcher, const void *memory, size_t bytes);
    void (*released)(struct hc_watcher *watcher, const void *memory);
    void (*uploaded)(struct hc_watcher *watcher, const void *to, size_t bytes);

    /* A line about what was found since it was last asked, or NULL. */
    const char *(*finding)(struct hc_watcher *watcher);

    /* A launch, whose blocks run one after the other, by their numbers. False: it is left out. */
    bool (*launch)(struct hc_watcher *watcher, const struct hc_grid *grid);

    /* Another block begins; all threads of the block have come to a barrier. */
    void (*block)(struct hc_watcher *watcher);
    void (*barrier)(struct hc_watcher *watcher);

    /* A fence; an atomic operation on 4 bytes; an access that must be aligned to its size. `from`
       is the address of the instruction behind the call. */
    void (*fence)(struct hc_watcher *watcher, const void *from);
    void (*atomic)(struct hc_watcher *watcher, const void *at, const void *from);
    void (*vector)(struct hc_watcher *watcher, const void *at, size_t bytes, const void *from);

    /* A stand-in for a library reads or writes so many bytes. */
    void (*library)(struct hc_watcher *watcher, const void *at, size_t bytes, bool writes);
};

/* Ends the launch that runs, from within one of its threads. Does not return. */
_Noreturn void hc_emulator_stop(void);

#endif
