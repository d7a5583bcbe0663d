/* Dumps of steps: that they change nothing, and that they hold what the step had. */
#include "train/run/testing.h"

#include <math.h>
#include <string.h>

#include "tensor_file/tensor_file.h"
#include "train/update/recipe_fields.h"

TestSuite(dump, .init = open_data, .fini = remove_folder);

enum { MOST = 1 << 20 };

static const int64_t steps[] = {0, 3, 4};

static void open_dump(struct hc_tensor_file *file, int64_t step)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/step-%lld.safetensors", folder, (long long)step);
    cr_assert_eq(hc_tensor_file_read(file, path), HC_OK, "%s", hc_message());
}

/* 5 steps an epoch, on a network of its own for speed; with these dumps, or none. */
static enum hc_status try_to_train(const char *text, int epochs, const int64_t *dumps, int count)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_train_result result;
    struct hc_train_options o = options("amp");
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    o.recipe = &recipe;
    o.epochs = epochs;
    o.network = &minute;
    o.dumps = dumps;
    o.dump_count = count;
    return hc_train(&o, &result);
}

static void train(const char *text, int epochs, const int64_t *dumps, int count)
{
    cr_assert_eq(try_to_train(text, epochs, dumps, count), HC_OK, "%s: %s", text, hc_message());
}

static const struct hc_tensor *find(const struct hc_tensor_file *file, const char *prefix,
                                    const char *name)
{
    char whole[120];
    (void)snprintf(whole, sizeof whole, "%s%s", prefix, name);
    const struct hc_tensor *t = hc_tensor_file_find(file, whole);
    cr_assert_not_null(t, "%s", whole);
    return t;
}

static bool same(const struct hc_tensor *a, const struct hc_tensor *b)
{
    return a->format == b->format && hc_tensor_bytes(a) == hc_tensor_bytes(b) &&
           memcmp(a->data, b->data, hc_tensor_bytes(a)) == 0;
}

/* Of the tensors that begin so in the one file, those that differ from the other's. */
static int differing(const struct hc_tensor_file *one, const char *prefix,
                     const struct hc_tensor_file *other, const char *others)
{
    int count = 0;
    int seen = 0;
    for (int i = 0; i < one->count; i++) {
        const char *name = one->tensors[i].name;
        if (strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        seen++;
        count += !same(&one->tensors[i].tensor, find(other, others, name + strlen(prefix)));
    }
    cr_assert_gt(seen, 0, "%s", prefix);
    return count;
}

/* Every recipe; and defects, clipping and layer groups beside them. */
Test(dump, a_training_has_the_same_bits_with_dumps_and_without)
{
    static const char *const more[] = {"fastai-1.0.61-flat+group_rates=0.1/0.3/1+clip=0.1",
                                       "amp+decay=model",
                                       "amp+decay=scaled+clip=1+clip_scaled=true"};
    static unsigned char want[2][MOST];
    static unsigned char got[2][MOST];
    int count;
    const struct hc_recipe *recipes = hc_recipes(&count);
    for (int r = 0; r < count + 3; r++) {
        const char *text = r < count ? recipes[r].name : more[r - count];
        size_t size[2];
        train(text, 1, NULL, 0);
        size[0] = read_file("checkpoint", want[0], MOST);
        size[1] = read_file("steps.csv", want[1], MOST);
        train(text, 1, steps, sizeof steps / sizeof *steps);
        cr_assert_eq(read_file("checkpoint", got[0], MOST), size[0]);
        cr_assert_eq(read_file("steps.csv", got[1], MOST), size[1]);
        for (int i = 0; i < 2; i++)
            cr_expect_eq(memcmp(want[i], got[i], size[i]), 0, "%s", text);
    }
}

/* A history begins as zeros and a scale as 1; the first step leaves its amax and another scale. */
Test(dump, a_quantised_step_has_the_state_of_delayed_scaling)
{
    static const char *const states[] = {"quant.forward.amax_history", "quant.forward.scale",
                                         "quant.backward.amax_history", "quant.backward.scale"};
    struct hc_tensor_file file;
    train("fp8-te-delayed+amax_history=4", 1, steps, 1);
    open_dump(&file, 0);
    cr_expect_str_eq(hc_tensor_file_metadata(&file, "quant"), "te-delayed");
    for (int i = 0; i < 4; i++) {
        const struct hc_tensor *before = find(&file, "", states[i]);
        const struct hc_tensor *after = find(&file, "after.", states[i]);
        cr_expect_eq(hc_tensor_get(before, 0), i % 2, "%s", states[i]);
        cr_expect_not(same(before, after), "%s", states[i]);
    }
    hc_tensor_file_close(&file);
    train("amp", 1, steps, 1);
    open_dump(&file, 0);
    cr_expect_null(hc_tensor_file_metadata(&file, "quant"));
    hc_tensor_file_close(&file);
}

Test(dump, one_step_ends_where_the_next_begins)
{
    struct hc_tensor_file first;
    struct hc_tensor_file second;
    train("amp", 1, steps, 3);
    open_dump(&first, 3);
    open_dump(&second, 4);
    cr_expect_eq(differing(&first, "after.", &second, ""), 0);
    cr_expect_neq(differing(&first, "after.weights.", &first, "weights."), 0);
    cr_expect_neq(differing(&first, "after.buffers.", &first, "buffers."), 0);
    cr_expect_neq(differing(&first, "batch.", &second, "batch."), 0);
    cr_expect_str_eq(hc_tensor_file_metadata(&second, "step"), "4");
    cr_expect_eq(hc_tensor_get(find(&second, "", "optimizer.step"), 0), 4);
    hc_tensor_file_close(&first);
    hc_tensor_file_close(&second);
}

/* 2^40 is beyond fp16, so that the first step overflows. */
Test(dump, a_step_that_is_skipped_says_so_and_changes_nothing_but_the_scale)
{
    struct hc_tensor_file file;
    train("amp+loss_scale=1099511627776", 1, steps, 1);
    open_dump(&file, 0);
    cr_expect_eq(hc_tensor_get(find(&file, "", "found_inf"), 0), 1);
    cr_expect_eq(hc_tensor_get(find(&file, "", "scale"), 0), 0x1p40);
    cr_expect_eq(hc_tensor_get(find(&file, "after.", "scale"), 0), 0x1p39);
    cr_expect_eq(hc_tensor_get(find(&file, "after.", "optimizer.step"), 0), 0);
    cr_expect_eq(differing(&file, "after.weights.", &file, "weights."), 0);
    cr_expect_eq(differing(&file, "after.masters.", &file, "masters."), 0);
    cr_expect_eq(differing(&file, "after.optimizer.exp_avg.", &file, "optimizer.exp_avg."), 0);
    cr_expect_neq(differing(&file, "after.buffers.", &file, "buffers."), 0);
    hc_tensor_file_close(&file);
}

/* A power of two divides exactly. fastai 1.0.61 zeroes its gradients after the step. */
Test(dump, the_optimizer_got_the_gradients_over_the_scale)
{
    static const char *const recipes[] = {"amp", "fastai-1.0.61-flat"};
    for (int r = 0; r < 2; r++) {
        struct hc_tensor_file file;
        int nonzero = 0;
        train(recipes[r], 1, steps, 3);
        open_dump(&file, 4);
        double scale = hc_tensor_get(find(&file, "", "scale"), 0);
        const struct hc_tensor *g = find(&file, "gradients.", "1.0.weight");
        const struct hc_tensor *u = find(&file, "unscaled.", "1.0.weight");
        for (int64_t i = 0; i < hc_tensor_count(g); i++) {
            cr_assert_eq(hc_tensor_get(u, i) * scale, hc_tensor_get(g, i), "%s", recipes[r]);
            nonzero += hc_tensor_get(u, i) != 0;
        }
        cr_expect_gt(nonzero, 0);
        hc_tensor_file_close(&file);
    }
}

static double squares(const struct hc_tensor_file *file, const char *prefix)
{
    double sum = 0;
    for (int i = 0; i < file->count; i++)
        for (int64_t k = 0; strncmp(file->tensors[i].name, prefix, strlen(prefix)) == 0 &&
                            k < hc_tensor_count(&file->tensors[i].tensor);
             k++)
            sum += pow(hc_tensor_get(&file->tensors[i].tensor, k), 2);
    return sum;
}

Test(dump, the_optimizer_got_the_clipped_gradients)
{
    struct hc_tensor_file file;
    train("fp32+clip=0.001", 1, steps, 1);
    open_dump(&file, 0);
    cr_expect_gt(squares(&file, "gradients."), 1e-4);
    cr_expect_float_eq(sqrt(squares(&file, "unscaled.")), 1e-3, 1e-6);
    cr_expect_null(hc_tensor_file_find(&file, "found_inf"));
    hc_tensor_file_close(&file);
}

static double number(const struct hc_tensor_file *file, const char *key)
{
    const char *text = hc_tensor_file_metadata(file, key);
    cr_assert_not_null(text, "no %s", key);
    return strtod(text, NULL);
}

Test(dump, masters_and_the_rates_of_layer_groups_are_in_the_file)
{
    struct hc_tensor_file file;
    train("apex-O2+group_rates=0.25/1+group_decays=0/0.5", 1, steps, 3);
    open_dump(&file, 4);
    cr_expect_neq(differing(&file, "after.masters.", &file, "masters."), 0);
    cr_expect_eq(number(&file, "lr.0.0.weight"), number(&file, "lr") / 4);
    cr_expect_eq(number(&file, "lr.5.weight"), number(&file, "lr"));
    cr_expect_eq(number(&file, "weight_decay.0.0.weight"), 0);
    cr_expect_eq(number(&file, "weight_decay.5.weight"), 0.5);
    cr_expect_neq(number(&file, "lr_before"), number(&file, "lr"));
    hc_tensor_file_close(&file);
}

/* The definition of the first convolution in NCHW and KCRS, and of the bias' gradient. */
Test(dump, images_filters_and_activations_have_pytorchs_layout)
{
    struct hc_tensor_file file;
    train("fp32", 1, steps, 1);
    open_dump(&file, 0);
    const struct hc_tensor *x = find(&file, "batch.", "images");
    const struct hc_tensor *w = find(&file, "weights.", "0.0.weight");
    const struct hc_tensor *y = find(&file, "activations.", "0.0");
    cr_assert(x->shape[0] == 16 && x->shape[1] == 3 && w->shape[0] == 2 && w->shape[1] == 3 &&
              y->shape[0] == 16 && y->shape[1] == 2);
    for (int64_t i = 0; i < hc_tensor_count(y); i++) {
        int64_t q = i % 32, p = i / 32 % 32, k = i / 1024 % 2, n = i / 2048;
        double sum = 0;
        for (int64_t j = 0; j < 27; j++) {
            int64_t h = p + j / 3 % 3 - 1, v = q + j % 3 - 1;
            if (h >= 0 && h < 32 && v >= 0 && v < 32)
                sum += hc_tensor_get(w, k * 27 + j) *
                       hc_tensor_get(x, ((n * 3 + j / 9) * 32 + h) * 32 + v);
        }
        cr_assert_float_eq(hc_tensor_get(y, i), sum, 1e-5);
    }
    const struct hc_tensor *dy = find(&file, "activation_gradients.", "logits");
    const struct hc_tensor *db = find(&file, "gradients.", "5.bias");
    for (int64_t c = 0; c < 10; c++) {
        double sum = 0;
        for (int64_t n = 0; n < 16; n++)
            sum += hc_tensor_get(dy, n * 10 + c);
        cr_assert_float_eq(hc_tensor_get(db, c), sum, 1e-6);
    }
    hc_tensor_file_close(&file);
}

Test(dump, steps_that_never_come_are_refused)
{
    static const int64_t beyond[] = {3, 10};
    struct hc_train_result result;
    struct hc_train_options o = options("amp");
    o.network = &minute;
    o.dumps = beyond;
    o.dump_count = 2;
    cr_assert_eq(hc_train(&o, &result), HC_INVALID);
    cr_assert_str_eq(hc_message(), "cannot dump step 10: this run has the steps 0 to 9");
    o.out = NULL;
    cr_assert_eq(hc_train(&o, &result), HC_INVALID);
}
