#include "cli/protocol/command.h"

#include <string.h>

#include "cli/command.h"
#include "cli/protocol/conclusion.h"
#include "cli/ranks/ranks.h"
#include "cli/run/shard.h"
#include "cli/training/folder.h"
#include "op/text.h"
#include "op/typed.h"

static struct hc_protocol protocol;
static struct hc_study study;
static struct hc_conclusion conclusion;

/* What the protocol decides must not be decided by an option, too. */
static enum hc_status refuse_options(const struct hc_training *t)
{
    struct hc_option unused[HC_MAX_OPTIONS + 1];
    struct hc_training plain;
    memset(unused, 0, sizeof unused);
    hc_training_options(&plain, unused);
    const struct {
        bool given;
        const char *name;
    } rows[] = {{t->classes != NULL, "--classes"},
                {t->seed != plain.seed, "--seed"},
                {t->max_lr != plain.max_lr, "--lr"},
                {t->epochs != plain.epochs, "--epochs"},
                {t->batch != plain.batch, "--batch"},
                {t->images != plain.images, "--images"},
                {t->hold_out != plain.hold_out, "--hold-out"},
                {t->network_choice != plain.network_choice, "--network"},
                {t->measure_every != plain.measure_every, "--measure-every"},
                {t->overrides.count > 0, "--set"},
                {t->backends.named.count > 0, "--backend"},
                {protocol.synthetic && t->data != NULL, "--data"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return hc_fail(HC_INVALID, "the protocol decides that; leave out %s", rows[i].name);
    return HC_OK;
}

static enum hc_status open_study(struct hc_training *t, const struct hc_protocol_request *request)
{
    enum hc_status status = hc_protocol_read(request->path, &protocol);
    if (status == HC_OK)
        status = refuse_options(t);
    if (status == HC_OK && !protocol.synthetic && !t->data && !request->conclude)
        status = hc_fail(HC_INVALID, "%s is about CIFAR-10: say where it lies, with --data DIR",
                         request->path);
    if (status == HC_OK)
        status = hc_study_open(&study, &protocol, request->path, t);
    study.folder = t->out ? t->out : "out/study";
    if (status == HC_OK && request->shard)
        status = hc_shard_read(request->shard, &study.shard);
    if (status == HC_OK && !request->conclude)
        status = hc_training_open(t, study.recipe, protocol.arms + 1);
    if (status == HC_OK)
        study.test_images = t->set.test.count;
    return status;
}

static int conclude(const struct hc_training *t, const struct hc_protocol_request *request)
{
    int lock = -1;
    if (hc_study_read(&study) != HC_OK || hc_conclude(&study, &conclusion) != HC_OK)
        return hc_complain_message();
    if (!request->conclude)
        (void)putchar('\n');
    hc_conclusion_print(&conclusion, stdout);
    if (t->set.synthetic)
        printf("The images are synthetic, not CIFAR-10.\n");
    /* Of several processes that end together one writes. */
    if (hc_folder_lock(study.folder, &lock) != HC_OK)
        return HC_AS_CLAIMED;
    enum hc_status status = hc_conclusion_write(&conclusion);
    if (status == HC_OK) {
        (void)putchar('\n');
        hc_print_line(
            stdout, "record: %s/record.json; table.txt, runs.csv, pairs.csv and the runs beside it",
            study.folder);
        hc_conclusion_draw(&conclusion);
    }
    hc_folder_unlock(lock);
    if (status != HC_OK)
        return hc_complain_message();
    return hc_conclusion_failures(&conclusion) + hc_conclusion_undecided(&conclusion) == 0
               ? HC_AS_CLAIMED
               : HC_CLAIM_FAILED;
}

int hc_protocol_command(struct hc_training *t, const struct hc_protocol_request *request)
{
    int status = HC_AS_CLAIMED;
    enum hc_status opened = open_study(t, request);
    if (opened == HC_OK && !request->conclude)
        opened = hc_study_train(&study);
    if (opened != HC_OK)
        status = hc_complain_message();
    else if (hc_ranks_speaks())
        status = conclude(t, request);
    hc_training_close(t);
    return status;
}
