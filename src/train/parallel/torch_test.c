/* What a real PyTorch did (benches/pytorch/ddp_rows.py). */
#include "train/parallel/testing.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "num/bits.h"
#include "train/parallel/reduction.h"

struct torch_buckets {
    const char *gradients;
    int size;
    const char *buckets;
};

struct torch_averages {
    const char *recipe;
    uint32_t average[24];
};

#include "train/parallel/torch_rows.inc"

static int by_first(const void *a, const void *b)
{
    return atoi(*(const char *const *)b) - atoi(*(const char *const *)a);
}

/* The buckets, sorted by their first gradients: torch does not say in which order those follow that
   are not full. */
static const char *sorted(const char *text)
{
    static char got[512];
    char copy[512];
    const char *bucket[64];
    int n = 0;
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; at; n++) {
        char *bar = strstr(at, " | ");
        bucket[n] = at;
        if (bar)
            *bar = '\0';
        at = bar ? bar + 3 : NULL;
    }
    qsort(bucket, (size_t)n, sizeof *bucket, by_first);
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s", i ? " | " : "", bucket[i]);
    return got;
}

Test(torch, shares_buckets_as_the_real_one)
{
    for (size_t i = 0; i < sizeof torch_buckets / sizeof torch_buckets[0]; i++) {
        const struct torch_buckets *row = &torch_buckets[i];
        char recipe[64] = "fp16-bn32+wrapper=torch-ddp";
        size_t used = strlen(recipe);
        if (row->size)
            (void)snprintf(recipe + used, sizeof recipe - used, "+bucket=%d", row->size);
        cr_expect_str_eq(sorted(buckets_of(recipe, row->gradients)), row->buckets, "%s, %d",
                         row->gradients, row->size);
    }
}

Test(torch, divides_for_fsdp_as_the_real_one)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    cr_assert_eq(hc_recipe_set(&recipe, "wrapper=fsdp", 12), HC_OK);
    struct hc_wrapper wrapper = hc_wrapper_of(&recipe);
    for (int n = 1; n <= (int)(sizeof torch_roots / sizeof torch_roots[0]); n++)
        cr_expect_eq(hc_wrapper_all_reduce(&wrapper, HC_FP32, n, false).before, torch_roots[n - 1],
                     "%d ranks", n);
}

enum { ELEMENTS = sizeof torch_gradients[0] / sizeof torch_gradients[0][0] };

struct shared {
    struct hc_recipe recipe;
    double average[2][ELEMENTS];
};

static enum hc_status average(struct hc_comm *comm, void *context)
{
    struct shared *shared = context;
    struct hc_reduction *reduction;
    enum hc_format f = shared->recipe.model;
    double memory[ELEMENTS];
    struct hc_tensor t = hc_tensor1(f, ELEMENTS, memory);
    struct hc_gradient gradient = {f, hc_wrapper_held(&shared->recipe, f), ELEMENTS, 0, memory};
    enum hc_status status = hc_reduction_open(&reduction, &shared->recipe, comm, 2, &gradient, 1);
    for (int i = 0; i < ELEMENTS; i++)
        hc_tensor_set(&t, i, (double)hc_fp32_value(torch_gradients[comm->rank][i]));
    hc_reduction_add(reduction, &gradient);
    if (status == HC_OK)
        status = hc_reduction_finish(reduction, &gradient, NULL);
    for (int i = 0; i < ELEMENTS; i++)
        shared->average[comm->rank][i] = hc_tensor_get(&t, i);
    hc_reduction_close(reduction);
    return status;
}

/* Infinities, subnormals and what vanishes are among them. */
Test(torch, averages_two_ranks_to_the_same_bits_as_the_real_one)
{
    for (size_t k = 0; k < sizeof torch_averages / sizeof torch_averages[0]; k++) {
        const struct torch_averages *row = &torch_averages[k];
        struct shared shared;
        char name[HC_RECIPE_NAME];
        cr_assert_eq(hc_recipe_read(&shared.recipe, name, row->recipe, strlen(row->recipe)), HC_OK);
        cr_assert_eq(hc_comm_threads(2, average, &shared), HC_OK, "%s", hc_message());
        for (int r = 0; r < 2; r++)
            for (int i = 0; i < ELEMENTS; i++)
                cr_expect_eq(hc_fp32_bits((float)shared.average[r][i]), row->average[i],
                             "%s, element %d: %a, not %a", row->recipe, i, shared.average[r][i],
                             (double)hc_fp32_value(row->average[i]));
    }
}
