/* For the tests of programs behind a pipe: calls of add. */
#ifndef HC_KERNELS_PIPE_TESTING_H
#define HC_KERNELS_PIPE_TESTING_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "kernels/pipe/pipe.h"

/* How many processes of the group run. One that has ended may wait for init to reap it. */
static inline int running(long group)
{
    int count = 0;
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300];
        char state = 'Z';
        long of = 0;
        (void)snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] > '0' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file && fscanf(file, "%*d (%*[^)]) %c %*d %ld", &state, &of) == 2)
            count += of == group && state != 'Z' && state != 'X';
        if (file)
            (void)fclose(file);
    }
    (void)closedir(folder);
    return count;
}

/* Whether all of them end soon. */
static inline int all_end(long group)
{
    for (int i = 0; i < 200 && running(group); i++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return !running(group);
}

enum { MOST = 1 << 16, BORDER = 16 };

struct sums {
    float x[MOST], y[MOST];
    float out[BORDER + MOST + BORDER];
};

static const float untouched = -7;

/* out = x + y on n elements, between elements that nobody may write. */
static inline enum hc_status add(const struct hc_backend *backend, struct hc_queue *queue,
                                 struct sums *s, int64_t n)
{
    for (int i = 0; i < MOST; i++) {
        s->x[i] = (float)i;
        s->y[i] = 0.5f;
    }
    for (int i = 0; i < BORDER + MOST + BORDER; i++)
        s->out[i] = untouched;
    struct hc_call call = {
        .op = HC_OP_add,
        .in = {[HC_X] = hc_tensor1(HC_FP32, n, s->x), [HC_Y] = hc_tensor1(HC_FP32, n, s->y)},
        .out = {[HC_OUT] = hc_tensor1(HC_FP32, n, s->out + BORDER)}};
    enum hc_status status = backend->kernel[HC_OP_add](queue, &call);
    for (int i = 0; i < BORDER; i++) {
        cr_assert_eq(s->out[i], untouched);
        cr_assert_eq(s->out[BORDER + n + i], untouched);
    }
    return status;
}

static inline void expect_sums(const struct sums *s, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(s->out[BORDER + i], s->x[i] + s->y[i], "%lld", (long long)i);
}

/* The program kernels/pipe/programs/hostile.c. */
static inline const struct hc_backend *hostile(const char *arguments)
{
    char spelling[4096];
    (void)snprintf(spelling, sizeof spelling, "pipe:%s %s", HC_HOSTILE, arguments);
    const struct hc_backend *backend = hc_pipe_backend(spelling);
    cr_assert_not_null(backend, "%s", hc_message());
    return backend;
}

#endif
