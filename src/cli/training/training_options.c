/* The options that `train` and `compare` share. */
#include <assert.h>
#include <string.h>

#include "cli/training/training.h"
#include "settings.h"

static const char *const network_names[] = {"darknet16", "darknet-tiny", NULL};
const struct hc_network *const hc_training_networks[] = {&hc_darknet16, &hc_darknet_tiny, NULL};

/* What is trained, and on which images. */
static int add_data_options(struct hc_training *t, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "data",
         .value = "DIR",
         .text = &t->data,
         .help = "the folder of CIFAR-10's binary files: data_batch_1..5.bin, test_batch.bin,\n"
                 "batches.meta.txt (default: a synthetic set made from --data-seed)"},
        {.name = "classes",
         .value = "LIST",
         .list = &t->classes,
         .help = "use only these classes, such as airplane,dog (default: all ten)"},
        {.name = "data-seed",
         .value = "N",
         .seed = &t->data_seed,
         .help = "seed of the synthetic set (default 1)"},
        {.name = "images",
         .value = "N",
         .count = &t->images,
         .least = 1,
         .most = 5000,
         .help = "training images of each class in the synthetic set (default 500); a fifth as\n"
                 "many are made to test on"},
        {.name = "hold-out",
         .value = "N",
         .count = &t->hold_out,
         .least = 1,
         .most = 4999,
         .help = "do not train on the last N training images of each class, and test on them\n"
                 "instead of the test images: to choose a schedule, say (default: none)"},
        {.name = "network",
         .value = "NET",
         .choice = &t->network_choice,
         .choices = network_names,
         .help = "darknet16 (default): Darknet([1, 2, 2, 2, 2], nf=16); or\n"
                 "darknet-tiny: [1, 1, 1], nf=4, for a quick look"},
        {.name = "set",
         .value = "KEY=VALUE",
         .words = &t->overrides,
         .help = "override a field of the recipe, such as loss_scale=65536 or eps=1e-4; may be\n"
                 "given more than once (halfcheck list recipes --json prints the "
                 "fields).\n" HC_SETTINGS_HELP},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* How it is trained, and where. */
static int add_run_options(struct hc_training *t, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "epochs",
         .value = "N",
         .count = &t->epochs,
         .least = 1,
         .most = 10000,
         .help = "passes over the training images (default 5)"},
        {.name = "batch",
         .value = "N",
         .count = &t->batch,
         .least = 1,
         .most = 4096,
         .help = "images in a step, over all ranks together (default 64)"},
        {.name = "lr",
         .value = "X",
         .real = &t->max_lr,
         .least = 1e-12,
         .most = 1e6,
         .help = "peak of the one-cycle learning rate (default 0.003)"},
        {.name = "seed",
         .value = "N",
         .seed = &t->seed,
         .help = "seed of the initial weights, order and augmentation (default 1)"},
        {.include = hc_backend_options(
             &t->backends, HC_TAKES_FALLBACK | HC_HAS_ITS_OWN_SET,
             "the backend that trains (default host; see halfcheck list backends)")},
        {.name = "threads",
         .value = "N",
         .count = &t->threads,
         .most = 1024,
         .help = "threads of the backend (default 0: one per core)"},
        {.name = "checkpoint-every",
         .value = "N",
         .count = &t->checkpoint_every,
         .most = 1e9,
         .help = "steps between checkpoints (default 0: one at the end of every epoch)"},
        {.name = "measure-every",
         .value = "N",
         .count = &t->measure_every,
         .most = 1e9,
         .help = "steps between those whose lost bits are measured (default 0: every step on\n"
                 "the CPU, every 50th on a device)"},
        {.name = "resume",
         .flag = &t->resume,
         .help = "continue from the checkpoint, to the same bits"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

void hc_training_options(struct hc_training *t, struct hc_option *options)
{
    *t = (struct hc_training){
        .seed = 1, .data_seed = 1, .images = 500, .max_lr = 3e-3, .epochs = 5, .batch = 64};
    int n = add_data_options(t, options);
    n += add_run_options(t, options + n);
    assert(n == HC_TRAINING_OPTIONS);
}
