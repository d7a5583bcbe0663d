/* The trainer's own checkpoint on the backend under test: a training that was stopped between its
   two epochs resumes from the file and ends in the uninterrupted training's bits, and every tensor
   in the file matters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"
#include "train/run/checkpoint.h"

static const struct hc_network minute = {.name = "minute",
                                         .side = 32,
                                         .channels = 3,
                                         .width = 2,
                                         .groups = 1,
                                         .blocks = {1},
                                         .strides = {2}};

struct resumption {
    struct hc_check *check;
    struct hc_recipe recipe;
    struct hc_dataset data;
    char folder[40];
    char path[60]; /* of the checkpoint */
};

static bool stops_between(const struct hc_progress *progress, void *context)
{
    (void)context;
    return !(progress->evaluated && progress->epoch == 0);
}

static bool train(struct resumption *resumption, bool stops, bool resume)
{
    struct hc_train_result result;
    struct hc_train_options options = {.recipe = &resumption->recipe,
                                       .network = &minute,
                                       .data = &resumption->data,
                                       .backend = hc_check_backend(resumption->check),
                                       .digest = hc_check_digest(resumption->check),
                                       .threads = 1,
                                       .epochs = 2,
                                       .batch = 4,
                                       .max_lr = 1e-2,
                                       .seed = hc_check_seed(resumption->check),
                                       .out = resumption->folder,
                                       .resume = resume,
                                       .progress = stops ? stops_between : NULL};
    return hc_check_ok(resumption->check, hc_train(&options, &result));
}

static bool read_checkpoint(struct resumption *resumption, struct hc_tensor_file *file)
{
    return hc_check_ok(resumption->check, hc_checkpoint_open(file, resumption->path));
}

static bool equal(const struct hc_tensor_file *want, const struct hc_tensor_file *got)
{
    bool same = want->count == got->count;
    for (int i = 0; i < want->count && same; i++) {
        const struct hc_tensor *a = &want->tensors[i].tensor;
        const struct hc_tensor *b = hc_tensor_file_find(got, want->tensors[i].name);
        same = b && a->format == b->format && hc_tensor_bytes(a) == hc_tensor_bytes(b) &&
               memcmp(a->data, b->data, hc_tensor_bytes(a)) == 0;
    }
    return same;
}

/* Writes `middle` with zeros for the tensors whose names begin with `prefix`. Returns how many. */
static int zero(struct resumption *resumption, const struct hc_tensor_file *middle,
                const char *prefix)
{
    size_t count = (size_t)middle->count;
    struct hc_named_tensor *tensors = hc_check_memory(resumption->check, count * sizeof *tensors);
    int zeroed = 0;
    memcpy(tensors, middle->tensors, count * sizeof *tensors);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = hc_tensor_bytes(&tensors[i].tensor);
        if (strncmp(tensors[i].name, prefix, strlen(prefix)) != 0)
            continue;
        tensors[i].tensor.data = hc_check_memory(resumption->check, bytes);
        memset(tensors[i].tensor.data, 0, bytes);
        zeroed++;
    }
    (void)hc_check_ok(resumption->check,
                      hc_checkpoint_write(resumption->path, "a case",
                                          hc_checkpoint_identity(middle), tensors, middle->count));
    return zeroed;
}

/* Resumes from `middle` without the tensors whose names begin with `prefix`. */
static void without(struct resumption *resumption, const struct hc_tensor_file *middle,
                    const struct hc_tensor_file *whole, const char *prefix)
{
    struct hc_tensor_file end = {0};
    char claim[80];
    int zeroed = zero(resumption, middle, prefix);
    (void)snprintf(claim, sizeof claim, "zeros for \"%s\", %d of them: another end", prefix,
                   zeroed);
    if (train(resumption, false, true) && read_checkpoint(resumption, &end))
        (void)hc_claim_true(resumption->check, claim, zeroed > 0 && !equal(whole, &end));
    hc_tensor_file_close(&end);
}

static void stop_and_go_on(struct resumption *resumption)
{
    static const char *const prefixes[] = {
        "counts.",  "optimizer.step",     "scaler.growth_tracker", "scale",   "weights.",
        "masters.", "optimizer.exp_avg.", "optimizer.exp_avg_sq.", "buffers."};
    struct hc_tensor_file whole = {0};
    struct hc_tensor_file middle = {0};
    struct hc_tensor_file end = {0};
    if (train(resumption, false, false) && read_checkpoint(resumption, &whole) &&
        train(resumption, true, false) && read_checkpoint(resumption, &middle) &&
        train(resumption, false, true) && read_checkpoint(resumption, &end)) {
        (void)hc_claim_true(resumption->check, "there is something left to do",
                            !equal(&whole, &middle));
        (void)hc_claim_true(resumption->check, "the uninterrupted run's checkpoint, bit for bit",
                            equal(&whole, &end));
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            without(resumption, &middle, &whole, prefixes[i]);
    }
    hc_tensor_file_close(&whole);
    hc_tensor_file_close(&middle);
    hc_tensor_file_close(&end);
}

static void clear(const char *folder)
{
    static const char *const names[] = {"steps.csv", "epochs.csv", "gradients.csv", "checkpoint"};
    char path[80];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)remove(path);
    }
    (void)rmdir(folder);
}

/* The first step overflows, whatever its seed, and the scale comes down from 2^30 to 2^12, under
   which no other does: one would set growth_tracker to 0, as the case does. */
static void trainer(struct hc_check *check)
{
    struct resumption resumption = {.check = check,
                                    .recipe = *hc_recipe_by_name("amp"),
                                    .folder = "/tmp/halfcheck-checkpoint-XXXXXX"};
    struct hc_data_options set = {.classes = "airplane,dog",
                                  .seed = hc_check_seed(check),
                                  .train_per_class = 8,
                                  .test_per_class = 2};
    resumption.recipe.scaler.initial = 0x1p30F;
    resumption.recipe.scaler.backoff = 0x1p-18F;
    if (!hc_check_ok(check, hc_dataset_open(&set, &resumption.data)))
        return;
    if (mkdtemp(resumption.folder)) {
        (void)snprintf(resumption.path, sizeof resumption.path, "%s/checkpoint", resumption.folder);
        stop_and_go_on(&resumption);
        clear(resumption.folder);
    } else {
        (void)hc_check_ok(check, hc_fail(HC_IO, "%s: cannot be made", resumption.folder));
    }
    hc_dataset_close(&resumption.data);
}

static const struct hc_case cases[] = {
    {.name = "checkpoint/trainer-goes-on",
     .title =
         "the trainer's checkpoint holds all that the rest of a run depends on: a resumed run ends "
         "in the uninterrupted run's bits, and with any part of the checkpoint zeroed it does not",
     .source = "huggingface/transformers#34053; NVIDIA/apex#42; pytorch/pytorch#43706; "
               "deepspeedai/DeepSpeed#7786",
     .level = HC_STANDARD,
     .run = trainer},
};

HC_CASES(checkpoint_trainer, cases);
