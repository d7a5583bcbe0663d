/* A sharded run, step by step by hand: its checkpoint is what the net, the update and a few lines
   of additions make of the whole batches' rows. Nothing of train/parallel is used here. */
#include <string.h>

#include "tensor_file/tensor_file.h"
#include "train/data/loader.h"
#include "train/run/state.h"
#include "train/run/tensor_list.h"
#include "train/run/testing.h"
#include "train/update/update.h"
#include "train/update/recipe_fields.h"

TestSuite(ranks_by_hand, .init = open_data, .fini = remove_folder);

enum {
    BATCH = 16,
    SHARDS = 4,
    ROWS = BATCH / SHARDS,
    MOST = 1 << 14,
    PIXELS = 32 * 32 * 3,
    STEPS = 10
};

struct hand {
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
};

static void open_hand(struct hand *hand, const struct hc_recipe *recipe)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    *hand = (struct hand){.device = {.backend = exact}};
    cr_assert_eq(exact->open(exact, &hand->device.queue, 1), HC_OK);
    cr_assert_eq(hc_net_open(&hand->net, &hand->device, &hc_darknet_tiny, data.classes, ROWS, 11),
                 HC_OK);
    cr_assert_eq(hc_model_open(&hand->update, &hand->device, hand->net, recipe), HC_OK, "%s",
                 hc_message());
    hc_update_seed(hand->update, 11);
}

static void close_hand(struct hand *hand)
{
    hc_update_close(hand->update);
    hc_net_close(hand->net);
    hc_device_end(&hand->device);
    hand->device.backend->close(hand->device.queue);
}

/* Of one parameter: ((g0 + g1) + (g2 + g3)) / 4, in fp32, or in fp64 where the gradients are. */
static double average(enum hc_format format, const double g[SHARDS])
{
    if (format == HC_FP64)
        return ((g[0] + g[1]) + (g[2] + g[3])) / 4;
    float left = (float)g[0] + (float)g[1];
    float right = (float)g[2] + (float)g[3];
    float sum = left + right;
    return (double)(sum / 4);
}

static double gradients[SHARDS][3 * HC_MAX_LAYERS][MOST];

static void collect(struct hand *hand, int shard)
{
    for (int p = 0; p < hc_update_parameters(hand->update); p++) {
        struct hc_tensor t = hc_update_tensor(hand->update, HC_STATE_GRADIENT, p);
        cr_assert_leq(hc_tensor_count(&t), MOST);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++)
            gradients[shard][p][i] = hc_tensor_get(&t, i);
    }
}

static void give_average(struct hand *hand, bool sums)
{
    for (int p = 0; p < hc_update_parameters(hand->update); p++) {
        struct hc_tensor t = hc_update_tensor(hand->update, HC_STATE_GRADIENT, p);
        for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
            double g[SHARDS];
            for (int s = 0; s < SHARDS; s++)
                g[s] = gradients[s][p][i];
            hc_tensor_set(&t, i, average(t.format, g) * (sums ? 4 : 1));
        }
    }
}

static unsigned char statistics[2 * HC_MAX_LAYERS][2048];

static void move_statistics(struct hand *hand, bool back)
{
    for (int s = 0; s < hc_net_plan(hand->net)->statistics; s++) {
        struct hc_tensor t = hc_parameter_tensor(hc_net_statistics(hand->net)[s]);
        cr_assert_leq(hc_tensor_bytes(&t), sizeof statistics[s]);
        memcpy(back ? t.data : statistics[s], back ? statistics[s] : t.data, hc_tensor_bytes(&t));
    }
}

/* One step on a whole batch, whose mean loss comes back; its statistics are those of the first
   shard. */
static float step(struct hand *hand, const struct hc_batch *batch, struct hc_rates rates, bool sums)
{
    struct hc_tensor scale = hc_update_scale(hand->update);
    double losses = 0;
    for (int s = 0; s < SHARDS; s++) {
        float loss;
        int right;
        cr_assert_eq(hc_net_train(hand->net, batch->images + (ptrdiff_t)s * ROWS * PIXELS,
                                  batch->labels + (ptrdiff_t)s * ROWS, &scale, &loss, &right),
                     HC_OK);
        losses += (double)loss / SHARDS;
        collect(hand, s);
        if (s == 0)
            move_statistics(hand, false);
    }
    move_statistics(hand, true);
    give_average(hand, sums);
    cr_assert_eq(hc_update_step(hand->update, rates.lr, rates.beta1), HC_OK);
    return (float)losses;
}

/* The losses of steps.csv, its third column. */
static void compare_losses(const char *recipe, const float *want, int64_t n)
{
    char path[200];
    char line[1 << 14];
    float got;
    (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
    FILE *file = fopen(path, "r");
    cr_assert(file && fgets(line, sizeof line, file));
    for (int64_t s = 0; s < n; s++) {
        cr_assert(fgets(line, sizeof line, file) && sscanf(line, "%*[^,],%*[^,],%f", &got) == 1);
        cr_assert_float_eq(got, want[s], 1e-6F * want[s], "%s: step %lld has the loss %g, not %g",
                           recipe, (long long)s, (double)got, (double)want[s]);
    }
    (void)fclose(file);
}

/* Every tensor of the state, as the checkpoint has it and as it came about by hand. */
static void compare(struct hand *hand, const char *recipe)
{
    char path[200];
    struct hc_tensor_file file;
    static unsigned char room[8 * MOST];
    struct hc_state_rows *rows = hc_state_list(hand->net, hand->update);
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    cr_assert_eq(hc_tensor_file_read(&file, path), HC_OK, "%s", hc_message());
    for (int i = 0; i < rows->count; i++) {
        const struct hc_tensor *got = hc_tensor_file_find(&file, rows->row[i].name);
        struct hc_tensor here = rows->row[i].tensor;
        cr_assert(got && hc_tensor_bytes(&here) <= sizeof room, "%s", rows->row[i].name);
        here.data = room;
        cr_assert_eq(hc_torch_upload(&hand->device, got, &here), HC_OK);
        cr_assert_eq(memcmp(room, rows->row[i].tensor.data, hc_tensor_bytes(&here)), 0,
                     "%s: another %s", recipe, rows->row[i].name);
    }
    hc_tensor_file_close(&file);
    free(rows);
}

static void check(const char *text, int ranks)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hand hand;
    struct hc_loader *loader;
    struct hc_train_result result;
    struct hc_batch_stream stream = {.set = &data, .train = true, .batch = BATCH, .seed = 11};
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    struct hc_train_options o = options("fp32");
    o.recipe = &recipe;
    cr_assert_eq(hc_train_ranks(&o, ranks, &result), HC_OK, "%s", hc_message());
    open_hand(&hand, &recipe);
    cr_assert_eq(hc_loader_open(&stream, 0, &loader), HC_OK);
    float losses[STEPS];
    cr_assert_eq(result.steps, STEPS, "%s", result.reason);
    for (int64_t s = 0; s < STEPS; s++)
        losses[s] =
            step(&hand, hc_loader_next(loader), hc_one_cycle(3e-3, STEPS, s), recipe.sum_loss);
    compare(&hand, text);
    compare_losses(text, losses, STEPS);
    hc_loader_close(loader);
    close_hand(&hand);
}

Test(ranks_by_hand, a_step_is_the_average_over_the_shards_of_its_batch)
{
    check("fp32+shards=4", 1);
    check("amp+shards=4", 2);
    check("apex-O2+shards=4", 4);
    check("bf16-pure", 4); /* as many shards as ranks */
}

Test(ranks_by_hand, stale_gradients_parameters_apart_sums_and_fp64_too)
{
    check("fastai-1.0.61+shards=4", 2);
    check("fastai-1.0.61-flat+shards=4+clip=0.1+group_rates=0.1/1", 1);
    check("fp64+shards=4", 2);
    check("sum-loss-fp16+shards=4", 4);
    check("fp16-bn32+apart=true+shards=4", 2);
}
