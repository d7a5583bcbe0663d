/* Trainings judged by the protocol that asked for them.

   A record of a study says of itself what its runs show. A gate does not take its word: it sorts
   the record's trainings into pairs, as the protocol has them, and draws the conclusion again. */
#include <stdio.h>
#include <string.h>

#include "cli/gate/gate_training.h"
#include "cli/protocol/conclusion.h"
#include "cli/training/training_record.h"

static struct hc_protocol protocol;
static struct hc_training training;
static struct hc_study study;
static struct hc_conclusion conclusion;

static enum hc_status open_study(const char *path)
{
    struct hc_option unused[HC_MAX_OPTIONS + 1] = {0};
    hc_training_options(&training, unused);
    enum hc_status status = hc_protocol_read(path, &protocol);
    if (status == HC_OK)
        status = hc_study_open(&study, &protocol, path, &training);
    /* There is no such folder, so nothing is known of single images. */
    study.folder = "";
    return status;
}

/* The arm or base that a training is a run of; -1: of none. */
static int subject_of(const struct hc_outcome *outcome)
{
    if (strcmp(outcome->backend, protocol.backend) != 0 || outcome->seed < protocol.seed ||
        outcome->seed - protocol.seed >= HC_STUDY_SEEDS)
        return -1;
    for (int a = 0; a <= protocol.arms; a++)
        if (strcmp(outcome->recipe, study.recipe[a]->name) == 0)
            return a;
    return -1;
}

/* Runs with other settings are told, and answer no question of the protocol's. */
static void take(struct hc_gate *gate, const struct hc_outcome *outcome)
{
    char want[640];
    char name[512];
    int subject = subject_of(outcome);
    (void)snprintf(name, sizeof name, "train/%s-seed%llu", outcome->recipe,
                   (unsigned long long)outcome->seed);
    if (subject < 0)
        return;
    hc_training_made(&training, study.recipe[subject], 0, want, sizeof want);
    if (strcmp(outcome->settings, want) != 0 || outcome->test_images != study.test_images) {
        hc_findings_add(&gate->findings, HC_FINDING_SETTINGS, name, outcome->backend,
                        "trained on %s (%lld test images), the protocol asks for %s (%lld)",
                        outcome->settings, (long long)outcome->test_images, want,
                        (long long)study.test_images);
        return;
    }
    struct hc_study_run *run = &study.run[subject][outcome->seed - protocol.seed];
    *run = (struct hc_study_run){.state = HC_STUDY_OVER,
                                 .learned = outcome->learned,
                                 .accuracy = outcome->accuracy,
                                 .test_loss = outcome->test_loss,
                                 .train_loss = outcome->train_loss};
    (void)snprintf(run->cpu, sizeof run->cpu, "%s", outcome->cpu);
}

static void tell_arm(struct hc_gate *gate, int arm)
{
    char name[64];
    char sentence[HC_CONCLUSION_SENTENCE];
    enum hc_verdict verdict = conclusion.arm[arm].verdict;
    (void)snprintf(name, sizeof name, "protocol/%s", protocol.arm[arm].name);
    if (protocol.arm[arm].claim == HC_CLAIM_OPEN || !hc_gate_chooses(gate, name))
        return;
    gate->compared++;
    gate->judged++;
    gate->same += verdict == HC_PASS;
    hc_conclusion_sentence(&conclusion, arm, sentence);
    if (verdict == HC_PASS)
        hc_gate_note(gate, "as the protocol claims", name, protocol.backend, "%s", sentence);
    else
        hc_findings_add(
            &gate->findings, verdict == HC_SKIPPED ? HC_FINDING_SEEDS : HC_FINDING_TRAINING, name,
            protocol.backend, "%s: %s", hc_claim_names[protocol.arm[arm].claim], sentence);
}

bool hc_gate_is_to_fail(const struct hc_gate *gate, const struct hc_outcome *run)
{
    int subject = gate->protocol ? subject_of(run) : -1;
    return subject > 0 && protocol.arm[subject - 1].claim == HC_CLAIM_LOST;
}

enum hc_status hc_gate_by_protocol(struct hc_gate *gate, const struct hc_outcomes *trainings)
{
    enum hc_status status = open_study(gate->protocol);
    if (status != HC_OK)
        return status;
    gate->margin = protocol.margin;
    gate->level = protocol.plan.level;
    for (int i = 0; i < trainings->training_count; i++)
        take(gate, &trainings->trainings[i]);
    status = hc_conclude(&study, &conclusion);
    for (int a = 0; a < protocol.arms && status == HC_OK; a++)
        tell_arm(gate, a);
    if (status == HC_OK && conclusion.runs > 0 && !conclusion.reached)
        hc_findings_add(&gate->findings, HC_FINDING_TRAINING, "protocol/base", protocol.backend,
                        "%s reaches %.2f %%, the protocol asks for %g %%", protocol.base,
                        conclusion.accuracy, protocol.reach);
    hc_training_close(&training);
    return status;
}
