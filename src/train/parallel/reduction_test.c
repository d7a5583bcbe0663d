/* Gradients and buckets as text. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/all_reduce.h"
#include "comm/comm.h"
#include "num/bits.h"
#include "num/rng.h"
#include "train/net/device.h"
#include "train/parallel/reduction.h"
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

Test(buckets, halfchecks_own_are_one_of_each_format_in_the_order_of_the_parameters)
{
    cr_expect_str_eq(buckets_of("fp32", "9s 2s 3s"), "0 1 2");
    cr_expect_str_eq(buckets_of("apex-O2", "9h 2s 2s | 7h 3s | 4b"), "1 2 4 | 5 | 0 3");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=apex-ddp-delayed", "9h 2s | 7h 3s"), "1 3 | 0 2");
}

/* allreduce_hook: a type's bucket is shipped as soon as its elements are message_size or more, and
   what is left at the end follows by type. */
Test(buckets, apex_ships_a_bucket_that_has_reached_message_size_in_elements)
{
    static const char recipe[] = "apex-O2+wrapper=apex-ddp+bucket=10";
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 5s"), "3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 4s 5s"), "4 3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 100s 1s"), "2 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "10s 100s 10s"), "2 | 1 | 0");
    /* Halves and singles fill buckets of their own. */
    cr_expect_str_eq(buckets_of(recipe, "6h 5s | 6h 5s | 6h 5s"), "5 3 | 4 2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "9h 9s"), "1 | 0");
}

Test(buckets, a_size_of_1_gives_each_its_own_and_one_beyond_all_gives_one_of_each_format)
{
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=horovod+bucket=1", "5s 1s 7s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=apex-ddp+bucket=1073741824", "5h 1s 7h"),
                     "1 | 2 0");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=horovod+bucket=1073741824", "5h 1s 7h"),
                     "1 | 2 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp", "9999999s 1s 5s"), "2 1 0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp", "5s 9999999s 1s"), "2 1 | 0");
}

/* compute_bucket_assignment_by_size with the limits 1 MiB and 25 MiB, counted in bytes and for each
   type apart. */
Test(buckets, torch_fills_a_first_bucket_of_1_MiB_and_others_of_25_MiB)
{
    static const char torch[] = "fp16-bn32+wrapper=torch-ddp";
    cr_expect_str_eq(buckets_of(torch, "262144s 1s"), "1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262144s"), "1 | 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262143s"), "1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 6553600s 262144s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(torch, "1s 6553599s 262144s"), "2 | 1 0");
    cr_expect_str_eq(buckets_of(torch, "1s 262144s 262144s"), "2 | 1 0");
    /* A half has two bytes, and a first bucket of its own. */
    cr_expect_str_eq(buckets_of(torch, "1h 524288h 1s 262144s"), "3 | 1 | 2 | 0");
    cr_expect_str_eq(buckets_of(torch, "1h 262144h"), "1 0");
    /* One tensor beyond a bucket stays whole. */
    cr_expect_str_eq(buckets_of(torch, "1s 100000000s 262144s 1s"), "3 2 | 1 | 0");
}

/* FuseResponses: what does not fit below the threshold begins the next. */
Test(buckets, horovod_closes_a_bucket_before_what_it_has_no_room_for)
{
    static const char recipe[] = "apex-O2+wrapper=horovod+bucket=40";
    cr_expect_str_eq(buckets_of(recipe, "5s 5s 5s 5s"), "3 2 | 1 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 6s 5s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "5s 100s 1s"), "2 | 1 | 0");
    cr_expect_str_eq(buckets_of(recipe, "10h 4s 10h"), "1 | 2 0");
}

/* A layer's parameters are one flat parameter, norms in fp32 another. */
Test(buckets, fsdp_has_one_of_each_layer_and_format)
{
    cr_expect_str_eq(buckets_of("amp+wrapper=fsdp", "9s 2s | 7s 3s 1s | 4s"), "0 1 | 2 3 4 | 5");
    cr_expect_str_eq(buckets_of("apex-O2+wrapper=fsdp2", "9h 2s 2s | 7h 3s"), "0 | 1 2 | 4 | 3");
}

Test(buckets, nothing_and_gradients_of_no_elements_have_their_place)
{
    cr_expect_str_eq(buckets_of("fp32", ""), "");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp", ""), "");
    cr_expect_str_eq(buckets_of("fp32+wrapper=torch-ddp", "0s"), "0");
    cr_expect_str_eq(buckets_of("fp32+wrapper=apex-ddp+bucket=4", "0s 4s 0s"), "2 1 | 0");
}

/* What a real PyTorch did (benches/pytorch/ddp_rows.py). */

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

/* The reduction of gradients, on ranks that are threads. */

/* A small network of three layers: weights and norms, and a tensor of no elements. */
enum { N = 7, MOST = 48, SHARDS = 32 };
static const int64_t counts[N] = {37, 5, 5, 48, 0, 3, 1};
static const int layers[N] = {0, 0, 0, 1, 1, 1, 2};
static const bool norms[N] = {false, true, true, false, true, true, false};

struct sets {
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    int shards;
    double scale;                           /* largest magnitude of a gradient */
    unsigned char got[SHARDS][N][MOST * 8]; /* of each rank, after a step */
    struct hc_sent sent[SHARDS];
};

static struct sets sets;

static enum hc_format format_of(const struct hc_recipe *r, int g)
{
    return norms[g] ? r->norm : r->model;
}

/* Element i of gradient g in a shard: of 24 binades, so that sums in 16 bits lose some. */
static double element(const struct sets *s, int step, int shard, int g, int64_t i)
{
    uint64_t at = (uint64_t)((step * SHARDS + shard) * N + g) * MOST + (uint64_t)i;
    double x = hc_random_normal(7, 1, at) * s->scale;
    return hc_round(format_of(&s->recipe, g), ldexp(x, -(int)(hc_random(7, 2, at) % 24)));
}

static void fill(const struct sets *s, int step, int shard, struct hc_gradient gradients[N])
{
    for (int g = 0; g < N; g++) {
        struct hc_tensor t = hc_tensor1(gradients[g].format, counts[g], gradients[g].data);
        for (int64_t i = 0; i < counts[g]; i++)
            hc_tensor_set(&t, i, element(s, step, shard, g, i));
    }
}

static void describe(const struct hc_recipe *r, struct hc_gradient gradients[N])
{
    for (int g = 0; g < N; g++)
        gradients[g] = (struct hc_gradient){.format = format_of(r, g),
                                            .held = hc_wrapper_held(r, format_of(r, g)),
                                            .count = counts[g],
                                            .layer = layers[g]};
}

/* Two steps; what is asserted is the second. */
static enum hc_status steps(struct hc_comm *comm, void *context)
{
    struct sets *s = context;
    struct hc_gradient gradients[N];
    struct hc_reduction *reduction;
    int mine = s->shards / comm->size;
    describe(&s->recipe, gradients);
    enum hc_status status =
        hc_reduction_open(&reduction, &s->recipe, comm, s->shards, gradients, N);
    for (int g = 0; g < N; g++)
        gradients[g].data = s->got[comm->rank][g];
    for (int step = 0; step < 2 && status == HC_OK; step++) {
        s->sent[comm->rank] = (struct hc_sent){0};
        for (int k = 0; k < mine; k++) {
            fill(s, step, comm->rank * mine + k, gradients);
            hc_reduction_add(reduction, gradients);
        }
        status = hc_reduction_finish(reduction, gradients, &s->sent[comm->rank]);
    }
    hc_reduction_close(reduction);
    return status;
}

static void read_recipe(const char *text, int shards, double scale)
{
    cr_assert_eq(hc_recipe_read(&sets.recipe, sets.name, text, strlen(text)), HC_OK, "%s",
                 hc_message());
    sets.shards = shards;
    sets.scale = scale;
}

static void run(int ranks)
{
    memset(sets.got, 0xA5, sizeof sets.got);
    cr_assert_eq(hc_comm_threads(ranks, steps, &sets), HC_OK, "%s", hc_message());
    for (int r = 1; r < ranks; r++)
        cr_assert_arr_eq(sets.got[r], sets.got[0], sizeof sets.got[0], "rank %d has others", r);
}

/* The op over the shards of each bucket, on the backend `exact`. */
static void expect_the_op(const char *what)
{
    struct hc_device device = {.backend = hc_backend_by_name("exact")};
    struct hc_wrapper wrapper = hc_wrapper_of(&sets.recipe);
    struct hc_gradient gradients[N];
    struct hc_buckets buckets;
    static double memory[SHARDS * N * MOST];
    static double average[N * MOST];
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    describe(&sets.recipe, gradients);
    cr_assert_eq(hc_buckets_open(&buckets, &wrapper, gradients, N), HC_OK);
    for (int b = 0; b < buckets.n; b++) {
        const struct hc_bucket *bucket = &buckets.bucket[b];
        struct hc_tensor x = hc_tensor2(bucket->held, sets.shards, bucket->count, memory);
        struct hc_tensor out = hc_tensor1(bucket->held, bucket->count, average);
        struct hc_call call = {.op = HC_OP_all_reduce,
                               .in = {[HC_ALL_REDUCE_X] = x},
                               .out = {[HC_ALL_REDUCE_OUT] = out}};
        call.params.all_reduce =
            hc_wrapper_all_reduce(&wrapper, bucket->held, sets.shards, sets.recipe.sum_loss);
        int64_t at = 0;
        for (int s = 0; s < sets.shards; s++)
            for (int k = 0; k < bucket->n; k++)
                for (int64_t i = 0; i < counts[buckets.order[bucket->first + k]]; i++)
                    hc_tensor_set(&x, at++,
                                  element(&sets, 1, s, buckets.order[bucket->first + k], i));
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        at = 0;
        for (int k = 0; k < bucket->n; k++) {
            int g = buckets.order[bucket->first + k];
            struct hc_tensor got = hc_tensor1(gradients[g].format, counts[g], sets.got[0][g]);
            for (int64_t i = 0; i < counts[g]; i++, at++) {
                double want = hc_round(gradients[g].format, hc_tensor_get(&out, at));
                double is = hc_tensor_get(&got, i);
                cr_assert(is == want || (isnan(is) && isnan(want)), "%s: %d[%d] is %a, not %a",
                          what, g, (int)i, is, want);
            }
        }
    }
    hc_buckets_close(&buckets);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

static const char *const recipes[] = {
    "fp32",
    "fp64",
    "amp",
    "apex-O2",
    "bf16-pure",
    "apex-O2+wrapper=apex-ddp",
    "apex-O2+wrapper=apex-ddp+bucket=40",
    "apex-O2+wrapper=apex-ddp+predivide=4+bucket=1",
    "apex-O2+wrapper=apex-ddp+predivide=3+reduce=fp32",
    "fp16-pure+wrapper=apex-ddp-delayed",
    "amp+wrapper=torch-ddp+bucket=100",
    "amp+wrapper=torch-ddp+reduce=fp16",
    "amp+wrapper=torch-ddp+reduce=bf16",
    "fp32+wrapper=torch-ddp+reduce=bf16+algorithm=halving",
    "amp+wrapper=fsdp",
    "amp-bf16+wrapper=fsdp",
    "amp-bf16+wrapper=fsdp+reduce=fp32",
    "amp-bf16+wrapper=fsdp2",
    "amp+wrapper=fsdp2",
    "apex-O2+wrapper=horovod+bucket=64+predivide=2",
    "fp32+wrapper=horovod+reduce=fp16",
    "sum-loss-fp16+wrapper=apex-ddp",
    "fp64+wrapper=torch-ddp",
};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

/* As many ranks as shards: whatever the order. A scale of 1e4 has fp16 sums overflow, 1e-3 has
   contributions underflow. */
Test(reduction, is_the_op_over_all_ranks_of_each_bucket)
{
    static const int ranks[] = {1, 2, 3, 8, 16};
    static const double scales[] = {1, 1e4, 1e-3};
    for (int i = 0; i < RECIPES; i++)
        for (int r = 0; r < 5; r++)
            for (int s = 0; s < 3; s++) {
                read_recipe(recipes[i], ranks[r], scales[s]);
                run(ranks[r]);
                expect_the_op(recipes[i]);
            }
}

/* The deterministic recipe: a tree over S shards, whatever the number of ranks that share them. */
Test(reduction, by_a_tree_has_the_bits_of_all_shards_for_every_number_of_ranks)
{
    static const struct {
        int shards;
        int ranks;
    } rows[] = {{8, 1},  {8, 2},  {8, 4}, {8, 8},  {32, 1}, {32, 4},
                {12, 3}, {24, 6}, {7, 1}, {11, 1}, {13, 1}};
    for (int i = 0; i < RECIPES; i++)
        for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
            char text[HC_RECIPE_NAME];
            (void)snprintf(text, sizeof text, "%s+algorithm=tree", recipes[i]);
            read_recipe(text, rows[k].shards, 1);
            run(rows[k].ranks);
            expect_the_op(text);
        }
}

/* A ring adds a rank's own shards in their order: other bits for another number of ranks. */
Test(reduction, by_a_ring_depends_on_the_number_of_ranks)
{
    static unsigned char eight[sizeof sets.got[0]];
    read_recipe("apex-O2+wrapper=apex-ddp", 8, 1);
    run(8);
    memcpy(eight, sets.got[0], sizeof eight);
    run(2);
    cr_expect_arr_neq(sets.got[0], eight, sizeof eight);
}

/* What can be seen without the op: 100 in 1024 of fp16 is infinite when the sum is divided, and
   1e-5 is 0 when each part is. */
static double one_number(const char *recipe, int parts, double x)
{
    char name[HC_RECIPE_NAME];
    struct hc_recipe r;
    struct hc_reduction *reduction;
    uint16_t bits;
    struct hc_gradient gradient = {HC_FP16, HC_FP16, 1, 0, &bits};
    struct hc_tensor t = hc_tensor1(HC_FP16, 1, &bits);
    cr_assert_eq(hc_recipe_read(&r, name, recipe, strlen(recipe)), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_reduction_open(&reduction, &r, hc_comm_self(), parts, &gradient, 1), HC_OK);
    for (int s = 0; s < parts; s++) {
        hc_tensor_set(&t, 0, x);
        hc_reduction_add(reduction, &gradient);
    }
    cr_assert_eq(hc_reduction_finish(reduction, &gradient, NULL), HC_OK, "%s", hc_message());
    hc_reduction_close(reduction);
    return hc_tensor_get(&t, 0);
}

Test(reduction, overflows_and_underflows_where_the_systems_do)
{
    double small = hc_round(HC_FP16, 1e-5);
    cr_expect_eq(one_number("apex-O2+wrapper=apex-ddp", 1024, 100), (double)INFINITY);
    cr_expect_eq(one_number("apex-O2+wrapper=apex-ddp+reduce=fp32", 1024, 100), 100);
    cr_expect_eq(one_number("apex-O2+wrapper=apex-ddp+predivide=1024", 1024, small), 0);
    cr_expect_eq(one_number("fp16-pure+wrapper=torch-ddp", 1024, small), 0);
    cr_expect_eq(one_number("apex-O2+wrapper=apex-ddp+predivide=32+algorithm=tree", 1024, 100),
                 100);
    cr_expect_neq(one_number("apex-O2+wrapper=apex-ddp+predivide=32+algorithm=tree", 1024, small),
                  0);
    cr_expect_eq(one_number("fp16-pure", 1024, small), small);
    cr_expect_eq(one_number("fp16-pure", 1024, 100), 100);
}

Test(reduction, says_what_it_sent)
{
    read_recipe("fp32", 4, 1);
    run(4);
    for (int r = 0; r < 4; r++)
        cr_expect(sets.sent[r].messages > 0 && sets.sent[r].bytes > 0, "rank %d", r);
    run(1);
    cr_expect_eq(sets.sent[0].messages, 0);
    cr_expect_eq(sets.sent[0].bytes, 0);
}

Test(reduction, of_nothing_is_nothing)
{
    struct hc_reduction *reduction;
    cr_assert_eq(
        hc_reduction_open(&reduction, hc_recipe_by_name("amp"), hc_comm_self(), 3, NULL, 0), HC_OK);
    for (int s = 0; s < 3; s++)
        hc_reduction_add(reduction, NULL);
    cr_expect_eq(hc_reduction_finish(reduction, NULL, NULL), HC_OK);
    hc_reduction_close(reduction);
    hc_reduction_close(NULL);
}
