/* Gradients and buckets as text. */
#ifndef HC_TRAIN_PARALLEL_TESTING_H
#define HC_TRAIN_PARALLEL_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "train/parallel/buckets.h"
#include "train/update/recipe_fields.h"

/* Gradients as text: counts with their format's letter (s: fp32, h: fp16, b: bf16), a bar between
   layers. */
static struct hc_gradient gradients[64];

static inline int parse(const char *text)
{
    int n = 0;
    int layer = 0;
    for (const char *at = text; *at;) {
        long long count;
        char letter;
        int used;
        if (*at == '|') {
            layer++;
            at++;
        } else if (*at == ' ') {
            at++;
        } else {
            cr_assert_eq(sscanf(at, "%lld%c%n", &count, &letter, &used), 2);
            enum hc_format f = letter == 's' ? HC_FP32 : letter == 'h' ? HC_FP16 : HC_BF16;
            gradients[n++] =
                (struct hc_gradient){.format = f, .held = f, .count = count, .layer = layer};
            at += used;
        }
    }
    return n;
}

/* The buckets as text, such as "4 3 | 2 1 0". */
static inline const char *buckets_of(const char *recipe, const char *text)
{
    static char got[512];
    struct hc_recipe r;
    char name[HC_RECIPE_NAME];
    struct hc_buckets buckets;
    size_t used = 0;
    int placed = 0;
    int n = parse(text);
    cr_assert_eq(hc_recipe_read(&r, name, recipe, strlen(recipe)), HC_OK, "%s", hc_message());
    struct hc_wrapper wrapper = hc_wrapper_of(&r);
    cr_assert_eq(hc_buckets_open(&buckets, &wrapper, gradients, n), HC_OK);
    got[0] = '\0';
    for (int b = 0; b < buckets.n; b++) {
        int64_t count = 0;
        cr_assert_eq(buckets.bucket[b].first, placed);
        cr_assert_gt(buckets.bucket[b].n, 0);
        for (int k = 0; k < buckets.bucket[b].n; k++) {
            int i = buckets.order[placed++];
            cr_assert_eq(gradients[i].held, buckets.bucket[b].held);
            count += gradients[i].count;
            used += (size_t)snprintf(got + used, sizeof got - used, "%s%d",
                                     k   ? " "
                                     : b ? " | "
                                         : "",
                                     i);
        }
        cr_assert_eq(count, buckets.bucket[b].count);
    }
    cr_assert_eq(placed, n);
    hc_buckets_close(&buckets);
    return got;
}

#endif
