/* What a protocol's names and numbers mean: its recipes, its network, its data, the options of its
   trainings. */
#include <string.h>

#include "cli/protocol/study.h"
#include "op/typed.h"

static enum hc_status find_network(const struct hc_protocol *p, const char *path,
                                   struct hc_training *t)
{
    struct hc_nearest nearest = hc_nearest_to(p->network, strlen(p->network));
    for (int i = 0; hc_training_networks[i] != NULL; i++) {
        hc_nearest_try(&nearest, hc_training_networks[i]->name);
        t->network_choice = i;
        t->network = hc_training_networks[i];
        if (strcmp(t->network->name, p->network) == 0)
            return HC_OK;
    }
    return hc_fail(HC_INVALID, "%s: there is no network '%s'%s", path, p->network,
                   hc_nearest_hint(&nearest));
}

static void set_options(const struct hc_protocol *p, struct hc_training *t)
{
    t->classes = p->classes[0] ? p->classes : NULL;
    t->seed = p->seed;
    t->max_lr = p->lr;
    t->epochs = p->epochs;
    t->batch = p->batch;
    t->measure_every = p->measure;
    t->images = p->synthetic ? p->images : t->images;
    t->backends.named = (struct hc_words){.count = 1, .word = {p->backend}};
    t->alone = true;
    for (int i = 0; i < p->sets; i++)
        t->overrides.word[t->overrides.count++] = p->set[i];
}

static enum hc_status find_recipes(struct hc_study *study)
{
    const struct hc_protocol *p = study->protocol;
    for (int a = 0; a <= p->arms; a++) {
        const char *name = a == 0 ? p->base : p->arm[a - 1].recipe;
        study->recipe[a] = hc_training_recipe(study->training, name, strlen(name));
        if (!study->recipe[a])
            return HC_INVALID;
        for (int b = 0; b < a; b++)
            if (strcmp(study->recipe[a]->name, study->recipe[b]->name) == 0)
                return hc_fail(HC_INVALID, "the protocol names recipe %s twice",
                               study->recipe[a]->name);
    }
    return HC_OK;
}

/* The sizes of the set, whose images are not looked at. */
static enum hc_status know_data(struct hc_study *study)
{
    const struct hc_protocol *p = study->protocol;
    struct hc_training *t = study->training;
    struct hc_data_options few = {.classes = t->classes, .train_per_class = 1, .test_per_class = 1};
    struct hc_dataset set;
    enum hc_status status = hc_dataset_open(&few, &set);
    t->set = set;
    t->set.train = t->set.test = (struct hc_images){0};
    hc_dataset_close(&set);
    t->set.synthetic = p->synthetic;
    t->set.train.count = (int64_t)t->set.classes * (p->synthetic ? p->images : 5000);
    t->set.test.count = (int64_t)t->set.classes * (p->synthetic ? (p->images + 4) / 5 : 1000);
    study->test_images = t->set.test.count;
    return status;
}

enum hc_status hc_study_open(struct hc_study *study, const struct hc_protocol *protocol,
                             const char *path, struct hc_training *training)
{
    *study = (struct hc_study){.protocol = protocol, .training = training};
    set_options(protocol, training);
    enum hc_status status = find_network(protocol, path, training);
    if (status == HC_OK)
        status = find_recipes(study);
    return status == HC_OK ? know_data(study) : status;
}
