/* Trainings that begin with a file: to the same bits as the run that wrote it, and with files of
   others. */
#include "train/run/testing.h"

#include <math.h>
#include <string.h>

#include "num/rng.h"
#include "tensor_file/tensor_file.h"
#include "train/update/recipe_fields.h"

TestSuite(load, .init = open_data, .fini = remove_folder);

enum { MOST = 1 << 20, STEP = 3 };

static const int64_t dumps[] = {STEP};
static char notes[2000];
static char path[100];

static bool listen(const struct hc_progress *progress, void *context)
{
    (void)progress;
    (void)context;
    return true;
}

static void keep_note(const char *line, void *context)
{
    (void)context;
    size_t used = strlen(notes);
    (void)snprintf(notes + used, sizeof notes - used, "%s\n", line);
}

static int epochs = 2;
static bool dumps_none;

/* 5 steps an epoch. With a file, or as a run that dumps its step 3. */
static enum hc_status train(const char *text, const char *file)
{
    struct hc_recipe recipe;
    char name[HC_RECIPE_NAME];
    struct hc_train_result result;
    struct hc_train_options o = options("amp");
    cr_assert_eq(hc_recipe_read(&recipe, name, text, strlen(text)), HC_OK, "%s", hc_message());
    notes[0] = '\0';
    o.recipe = &recipe;
    o.epochs = epochs;
    o.network = &minute;
    o.load = file;
    o.progress = listen;
    o.note = keep_note;
    o.dumps = dumps;
    o.dump_count = file || dumps_none ? 0 : 1;
    return hc_train(&o, &result);
}

static void name_file(const char *name)
{
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
}

static void open_file(struct hc_tensor_file *file, const char *name)
{
    name_file(name);
    cr_assert_eq(hc_tensor_file_read(file, path), HC_OK, "%s", hc_message());
}

static bool same(const struct hc_tensor *a, const struct hc_tensor *b)
{
    return a && b && a->format == b->format && hc_tensor_bytes(a) == hc_tensor_bytes(b) &&
           memcmp(a->data, b->data, hc_tensor_bytes(a)) == 0;
}

/* The rows of steps.csv from that step on; the sums of an epoch that began before are others. */
static size_t rows_from(int64_t step, char *text)
{
    char begin[20];
    size_t size = read_file("steps.csv", (unsigned char *)text, MOST);
    text[size] = '\0';
    (void)snprintf(begin, sizeof begin, "\n%lld,", (long long)step);
    const char *at = strstr(text, begin);
    cr_assert_not_null(at);
    size -= (size_t)(at - text);
    memmove(text, at, size);
    return size;
}

/* Every recipe: the state at the end, and the log of each step. */
Test(load, a_run_that_begins_with_its_own_dump_goes_on_to_the_same_bits)
{
    static char want_rows[MOST];
    static char got_rows[MOST];
    int count;
    const struct hc_recipe *recipes = hc_recipes(&count);
    for (int r = 0; r < count; r++) {
        struct hc_tensor_file want;
        struct hc_tensor_file got;
        epochs = r % 9 == 0 ? 2 : 1;
        cr_assert_eq(train(recipes[r].name, NULL), HC_OK, "%s", hc_message());
        open_file(&want, "checkpoint");
        size_t size = rows_from(STEP, want_rows);
        name_file("step-3.safetensors");
        cr_assert_eq(train(recipes[r].name, path), HC_OK, "%s: %s", recipes[r].name, hc_message());
        open_file(&got, "checkpoint");
        cr_assert_eq(want.count, got.count);
        for (int i = 0; i < want.count; i++)
            if (strcmp(want.tensors[i].name, "run.totals") != 0)
                cr_expect(
                    same(&want.tensors[i].tensor, hc_tensor_file_find(&got, want.tensors[i].name)),
                    "%s: %s", recipes[r].name, want.tensors[i].name);
        cr_expect_eq(rows_from(STEP, got_rows), size);
        cr_expect_eq(memcmp(want_rows, got_rows, size), 0, "%s", recipes[r].name);
        cr_expect_not_null(strstr(notes, "begins at step 3 with its weights"), "%s", notes);
        cr_expect_null(strstr(notes, "lacks"), "%s", notes);
        cr_expect_null(strstr(notes, "rounded"), "%s", notes);
        hc_tensor_file_close(&want);
        hc_tensor_file_close(&got);
    }
}

/* The number in that column of a row of a file: the first row below the names is 0. */
static double cell(const char *name, int row, int column)
{
    static unsigned char text[MOST];
    text[read_file(name, text, MOST - 1)] = '\0';
    const char *at = (const char *)text;
    for (int i = 0; i <= row; i++)
        at = strchr(at, '\n') + 1;
    for (int i = 0; i < column; i++)
        at = strchr(at, ',') + 1;
    return strtod(at, NULL);
}

/* The first epoch of such a run has steps 3 and 4 alone. */
Test(load, the_log_of_an_epoch_is_of_the_steps_that_were_done)
{
    cr_assert_eq(train("amp", NULL), HC_OK, "%s", hc_message());
    name_file("step-3.safetensors");
    cr_assert_eq(train("amp", path), HC_OK, "%s", hc_message());
    cr_expect_eq(cell("steps.csv", 0, 0), 3);
    cr_expect_float_eq(cell("epochs.csv", 0, 1),
                       (cell("steps.csv", 0, 2) + cell("steps.csv", 1, 2)) / 2, 1e-8);
    double right = cell("epochs.csv", 0, 2) * 32;
    cr_expect(right >= 0 && right <= 32 && fabs(right - round(right)) < 1e-6, "%g", right);
    cr_expect_eq(cell("epochs.csv", 1, 0), 1);
}

/* The weights of a dump as a state_dict() has them: fp32, without prefixes, with i64 counts. */
static int state_dict(const struct hc_tensor_file *dump, struct hc_named_tensor *tensors)
{
    int count = 0;
    for (int i = 0; i < dump->count; i++) {
        const char *name = dump->tensors[i].name;
        if (strncmp(name, "masters.", 8) != 0 && strncmp(name, "buffers.", 8) != 0)
            continue;
        tensors[count] = dump->tensors[i];
        tensors[count++].name = name + 8;
    }
    return count;
}

/* Under autocast the parameters are fp32, and are what the optimizer works on. */
Test(load, a_state_dict_gives_masters_and_rounded_weights)
{
    static struct hc_named_tensor tensors[500];
    struct hc_tensor_file dump;
    struct hc_tensor_file first;
    cr_assert_eq(train("amp", NULL), HC_OK, "%s", hc_message());
    open_file(&dump, "step-3.safetensors");
    name_file("state.safetensors");
    cr_assert_eq(hc_safetensors_write(path, tensors, state_dict(&dump, tensors), NULL, 0), HC_OK);
    struct hc_train_result result;
    struct hc_train_options o = options("amp");
    static const int64_t zero[] = {0};
    notes[0] = '\0';
    o.network = &minute;
    o.load = path;
    o.note = keep_note;
    o.dumps = zero;
    o.dump_count = 1;
    cr_assert_eq(hc_train(&o, &result), HC_OK, "%s", hc_message());
    cr_expect_not_null(strstr(notes, "begins at step 0 with its weights, masters, buffers\n"), "%s",
                       notes);
    cr_expect_not_null(strstr(notes, "it lacks optimizer.exp_avg, optimizer.exp_avg_sq, "
                                     "optimizer.step, scale: as at the start of a run\n"),
                       "%s", notes);
    open_file(&first, "step-0.safetensors");
    for (int i = 0; i < first.count; i++) {
        const char *name = first.tensors[i].name;
        if (strncmp(name, "weights.", 8) == 0 || strncmp(name, "masters.", 8) == 0 ||
            strstr(name, "running") == name + strlen("buffers."))
            cr_expect(same(&first.tensors[i].tensor, hc_tensor_file_find(&dump, name)), "%s", name);
    }
    hc_tensor_file_close(&dump);
    hc_tensor_file_close(&first);
}

/* Another recipe's file: the masters are the weights, and its scale does not go with it. */
Test(load, fp32_takes_the_masters_of_amp_and_not_its_scale)
{
    struct hc_tensor_file dump;
    struct hc_tensor_file end;
    cr_assert_eq(train("amp", NULL), HC_OK, "%s", hc_message());
    open_file(&dump, "step-3.safetensors");
    cr_assert_eq(train("fp32", path), HC_OK, "%s", hc_message());
    open_file(&end, "checkpoint");
    cr_expect_eq(hc_tensor_get(hc_tensor_file_find(&end, "scale"), 0), 1);
    cr_expect_eq(hc_tensor_get(hc_tensor_file_find(&dump, "scale"), 0), 0x1p16);
    cr_expect_null(strstr(notes, "rounded"), "%s", notes);
    hc_tensor_file_close(&dump);
    hc_tensor_file_close(&end);
}

/* The file with another tensor in place of one of its own. */
static void write_other(struct hc_tensor_file *dump, const char *name, struct hc_named_tensor other)
{
    struct hc_named_tensor *tensors = calloc((size_t)dump->count + 1, sizeof *tensors);
    int count = 0;
    cr_assert_not_null(tensors);
    for (int i = 0; i < dump->count; i++)
        if (strcmp(dump->tensors[i].name, name) != 0)
            tensors[count++] = dump->tensors[i];
    if (other.tensor.data)
        tensors[count++] = other;
    name_file("other.safetensors");
    cr_assert_eq(hc_safetensors_write(path, tensors, count, dump->metadata, dump->metadata_count),
                 HC_OK);
    free(tensors);
}

static void expect_refusal(const char *recipe, const char *want)
{
    cr_expect_eq(train(recipe, path), HC_INVALID, "%s", want);
    cr_expect_not_null(strstr(hc_message(), want), "%s", hc_message());
    cr_expect_null(strchr(hc_message(), '\n'));
}

static void refused(struct hc_tensor_file *dump, const char *name, struct hc_named_tensor other,
                    const char *want)
{
    write_other(dump, name, other);
    expect_refusal("amp", want);
}

Test(load, what_cannot_be_begun_with_is_refused_in_a_line)
{
    static float numbers[100] = {-1};
    struct hc_tensor_file dump;
    cr_assert_eq(train("amp", NULL), HC_OK, "%s", hc_message());
    open_file(&dump, "step-3.safetensors");
    struct hc_tensor six = hc_tensor1(HC_FP32, 6, numbers);
    struct hc_tensor negative = {.format = HC_FP32, .data = numbers};
    struct hc_tensor far = {.format = HC_I32, .data = &(int32_t){10}};
    struct hc_tensor whole = hc_tensor1(HC_I32, 10, numbers);
    struct hc_tensor odd = {.format = HC_FP32, .data = &(float){2.5F}};
    struct hc_tensor nan = {.format = HC_FP32, .data = &(float){NAN}};
    refused(&dump, "masters.5.bias", (struct hc_named_tensor){"masters.5.bias", six, NULL},
            "masters.5.bias has the shape [6] where this network has [10]");
    refused(&dump, "", (struct hc_named_tensor){"weights.6.bias", six, NULL},
            "it has weights.6.bias, which minute does not have");
    refused(&dump, "masters.5.bias", (struct hc_named_tensor){"masters.5.bias", whole, NULL},
            "masters.5.bias is i32");
    refused(&dump, "scale", (struct hc_named_tensor){"scale", negative, NULL}, "scale is -1");
    refused(&dump, "scale", (struct hc_named_tensor){"scale", nan, NULL}, "scale is nan");
    refused(&dump, "optimizer.step", (struct hc_named_tensor){"optimizer.step", odd, NULL},
            "optimizer.step is 2.5");
    refused(&dump, "counts.steps", (struct hc_named_tensor){"counts.steps", far, NULL},
            "is of step 10, and this run has 10 steps");
    hc_tensor_file_close(&dump);
    cr_expect_eq(train("amp", "/nonexistent/file"), HC_IO);
}

/* What delayed scaling never leaves behind: one such number in a tensor of its state, in the
   checkpoint's fp32 or in another format. */
Test(load, a_state_of_delayed_scaling_that_no_rule_leaves_is_refused_in_a_line)
{
    static const struct {
        const char *name;
        enum hc_format format;
        double value;
        const char *says; /* NULL: it is taken */
    } rows[] = {
        {"quant.forward.scale", HC_FP32, (double)NAN,
         "scale has nan at 1, and a scale is positive"},
        {"quant.forward.scale", HC_FP32, -1, "quant.forward.scale has -1 at 1"},
        {"quant.forward.scale", HC_FP32, 0, "quant.forward.scale has 0 at 1"},
        {"quant.backward.scale", HC_FP32, (double)INFINITY, "quant.backward.scale has inf at 1"},
        {"quant.backward.scale", HC_FP64, 1e300, "quant.backward.scale has inf at 1"},
        {"quant.backward.scale", HC_FP64, 1e-60, "quant.backward.scale has 0 at 1"},
        {"quant.forward.scale", HC_BF16, (double)NAN, "quant.forward.scale has nan at 1"},
        {"quant.forward.amax_history", HC_FP32, (double)NAN,
         "history has nan at 1, and an amax is"},
        {"quant.backward.amax_history", HC_FP32, -0x1p-149, "amax_history has -1.4013e-45 at 1"},
        {"quant.forward.amax_history", HC_FP32, -(double)INFINITY, "amax_history has -inf at 1"},
        {"quant.forward.amax_history", HC_FP32, (double)INFINITY, NULL},
        {"quant.backward.amax_history", HC_FP32, 0, NULL},
        {"quant.forward.scale", HC_FP32, 0x1.fffffep127, NULL},
        {"quant.backward.scale", HC_FP32, 0x1p-149, NULL},
    };
    static double numbers[MOST / 8];
    struct hc_tensor_file end;
    epochs = 1;
    dumps_none = true;
    cr_assert_eq(train("fp8-te-delayed", NULL), HC_OK, "%s", hc_message());
    open_file(&end, "checkpoint");
    epochs = 2;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const struct hc_tensor *own = hc_tensor_file_find(&end, rows[r].name);
        cr_assert_not_null(own);
        struct hc_tensor other = *own;
        other.format = rows[r].format;
        other.data = numbers;
        cr_assert_leq(hc_tensor_bytes(&other), sizeof numbers);
        for (int64_t i = 0; i < hc_tensor_count(own); i++)
            hc_tensor_set(&other, i, i == 1 ? rows[r].value : hc_tensor_get(own, i));
        write_other(&end, rows[r].name, (struct hc_named_tensor){rows[r].name, other, NULL});
        if (rows[r].says)
            expect_refusal("fp8-te-delayed", rows[r].says);
        else
            cr_expect_eq(train("fp8-te-delayed", path), HC_OK, "%s", hc_message());
    }
    hc_tensor_file_close(&end);
}

/* A seed's worth of cuts and changed bytes: whatever they do, it is a line or a training. */
Test(load, cut_and_changed_files_are_no_crash)
{
    static unsigned char bytes[MOST];
    static unsigned char changed[MOST];
    epochs = 1;
    cr_assert_eq(train("amp", NULL), HC_OK, "%s", hc_message());
    size_t size = read_file("step-3.safetensors", bytes, MOST);
    name_file("changed.safetensors");
    for (uint64_t i = 0; i < 120; i++) {
        size_t cut = i % 3 == 0 ? (size_t)(hc_random_uniform(1, i, 0) * (double)size) : size;
        memcpy(changed, bytes, size);
        for (uint64_t k = 1; i % 3 != 0 && k < 4; k++)
            changed[(size_t)(hc_random_uniform(1, i, k) * (double)(i % 3 == 1 ? 20000 : size))] ^=
                (unsigned char)(1u << hc_random(2, i, k) % 8);
        FILE *f = fopen(path, "wb");
        cr_assert_not_null(f);
        cr_assert_eq(fwrite(changed, 1, cut, f), cut);
        (void)fclose(f);
        enum hc_status status = train("amp", path);
        cr_assert(status == HC_OK || status == HC_INVALID, "%d: %s", (int)status, hc_message());
        cr_assert(status == HC_OK || strchr(hc_message(), '\n') == NULL);
        cr_assert(i % 3 != 0 || status != HC_OK);
    }
}
