/* The options that `train` and `compare` share. */
#include <stddef.h>

#include "cli/training/training.h"

static const char *const network_names[] = {"darknet16", "darknet-tiny", NULL};
const struct hc_network *const hc_training_networks[] = {&hc_darknet16, &hc_darknet_tiny};

enum kind { TEXT, LIST, COUNT, REAL, SEED, CHOICE, WORDS, FLAG };

static const struct {
    struct hc_option option; /* without its destination */
    enum kind kind;
    size_t at; /* in struct hc_training */
} rows[] = {
    {{.name = "data",
      .value = "DIR",
      .help = "CIFAR-10's binary files: data_batch_1..5.bin, test_batch.bin,\n"
              "batches.meta.txt (default: a synthetic set, made from --data-seed)"},
     TEXT,
     offsetof(struct hc_training, data)},
    {{.name = "classes",
      .value = "LIST",
      .help = "only these, such as airplane,dog (default: all ten)"},
     LIST,
     offsetof(struct hc_training, classes)},
    {{.name = "epochs",
      .value = "N",
      .least = 1,
      .most = 10000,
      .help = "times through the training images (default 5)"},
     COUNT,
     offsetof(struct hc_training, epochs)},
    {{.name = "batch",
      .value = "N",
      .least = 1,
      .most = 4096,
      .help = "images in a step (default 64)"},
     COUNT,
     offsetof(struct hc_training, batch)},
    {{.name = "lr",
      .value = "X",
      .least = 1e-12,
      .most = 1e6,
      .help = "peak of the one-cycle learning rate (default 0.003)"},
     REAL,
     offsetof(struct hc_training, max_lr)},
    {{.name = "seed",
      .value = "N",
      .help = "of initial weights, order and augmentation (default 1)"},
     SEED,
     offsetof(struct hc_training, seed)},
    {{.name = "data-seed", .value = "N", .help = "of the synthetic set (default 1)"},
     SEED,
     offsetof(struct hc_training, data_seed)},
    {{.name = "images",
      .value = "N",
      .least = 1,
      .most = 5000,
      .help = "of each class in the synthetic set (default 500), and a fifth to test on"},
     COUNT,
     offsetof(struct hc_training, images)},
    {{.name = "backend",
      .value = "B",
      .help = "that trains (default host; see halfcheck list backends)"},
     TEXT,
     offsetof(struct hc_training, backend_name)},
    {{.name = "threads",
      .value = "N",
      .most = 1024,
      .help = "of the backend (default 0: one per core)"},
     COUNT,
     offsetof(struct hc_training, threads)},
    {{.name = "network",
      .value = "NET",
      .choices = network_names,
      .help = "darknet16 (default): Darknet([1, 2, 2, 2, 2], nf=16); or\n"
              "darknet-tiny: [1, 1, 1], nf=4, for a quick look"},
     CHOICE,
     offsetof(struct hc_training, network_choice)},
    {{.name = "checkpoint-every",
      .value = "N",
      .most = 1e9,
      .help = "steps (default 0: at the end of every epoch)"},
     COUNT,
     offsetof(struct hc_training, checkpoint_every)},
    {{.name = "measure-every",
      .value = "N",
      .most = 1e9,
      .help = "steps between those whose lost bits are measured (default 0: 1 on the CPU,\n"
              "50 on a device)"},
     COUNT,
     offsetof(struct hc_training, measure_every)},
    {{.name = "set",
      .value = "KEY=VALUE",
      .help = "override a field of the recipe, such as loss_scale=65536 or eps=1e-4; may be\n"
              "given more than once (the fields: halfcheck list recipes --json)"},
     WORDS,
     offsetof(struct hc_training, overrides)},
    {{.name = "resume", .help = "go on from the checkpoint, to the same bits"},
     FLAG,
     offsetof(struct hc_training, resume)},
};

_Static_assert(sizeof rows / sizeof rows[0] == HC_TRAINING_OPTIONS, "as many as training.h says");

void hc_training_options(struct hc_training *t, struct hc_option *options)
{
    *t = (struct hc_training){.backend_name = "host",
                              .seed = 1,
                              .data_seed = 1,
                              .max_lr = 3e-3,
                              .epochs = 5,
                              .batch = 64};
    for (int i = 0; i < HC_TRAINING_OPTIONS; i++) {
        void *at = (char *)t + rows[i].at;
        struct hc_option *o = &options[i];
        *o = rows[i].option;
        o->text = rows[i].kind == TEXT ? at : NULL;
        o->list = rows[i].kind == LIST ? at : NULL;
        o->count = rows[i].kind == COUNT ? at : NULL;
        o->real = rows[i].kind == REAL ? at : NULL;
        o->seed = rows[i].kind == SEED ? at : NULL;
        o->choice = rows[i].kind == CHOICE ? at : NULL;
        o->words = rows[i].kind == WORDS ? at : NULL;
        o->flag = rows[i].kind == FLAG ? at : NULL;
    }
}
