#include "cli/scaler/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hc_scaler_answer_read(const char *line, struct hc_scaler_answer *a)
{
    int at = 0;
    char word[3][20];
    char scale[64];
    char *end;
    if (sscanf(line, "%19s %19s %19s %63s %n", word[0], word[1], word[2], scale, &at) != 4)
        return "the line is not STEP STEPS FOUND SCALE";
    if (line[at] != '\0')
        return "the line has more than STEP STEPS FOUND SCALE";
    (void)snprintf(a->echo, sizeof a->echo, "%s %s %s", word[0], word[1], word[2]);
    a->raises = strcmp(scale, "raises") == 0;
    a->scale = a->raises ? 0 : strtod(scale, &end);
    if (!a->raises && *end != '\0')
        return "SCALE is neither a number nor 'raises'";
    return NULL;
}

void hc_scaler_answers_open(struct hc_scaler_answers *s, const struct hc_scaler_plan *plan,
                            const unsigned char *sent, int length, int wrong,
                            const struct hc_scaler_answer *answer)
{
    enum { BEHIND = 1 << 17 };
    struct hc_oracle oracle = hc_scaler_oracle(plan);
    int room = length - wrong > BEHIND ? wrong + BEHIND : length;
    *s = (struct hc_scaler_answers){.plan = plan,
                                    .sent = sent,
                                    .length = length,
                                    .scale = malloc((size_t)room * sizeof *s->scale),
                                    .count = wrong + 1,
                                    .room = room,
                                    .wrong = wrong,
                                    .raised = answer->raises};
    if (!s->scale)
        return;
    for (int i = 0; i < wrong; i++) {
        (void)hc_oracle_step(&oracle, sent[i] != HC_GRADIENTS_FINITE);
        s->scale[i] = hc_oracle_scale(&oracle);
    }
    s->scale[wrong] = answer->scale;
}

void hc_scaler_answers_close(struct hc_scaler_answers *s)
{
    free(s->scale);
    s->scale = NULL;
}

bool hc_scaler_answers_add(struct hc_scaler_answers *s, const char *line)
{
    struct hc_scaler_answer a;
    char sent[HC_STEP_LINE];
    if (s->raised || s->count == s->room)
        return false;
    if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
        return true;
    hc_scaler_step_line(sent, s->count + 1, s->length, (enum hc_gradients)s->sent[s->count]);
    if (hc_scaler_answer_read(line, &a) || strcmp(a.echo, sent) != 0)
        return false;
    s->scale[s->count++] = a.scale;
    s->raised = a.raises;
    return true;
}

double hc_scaler_answers_factor(const struct hc_scaler_answers *a, bool up)
{
    for (int i = 1; i < a->count; i++) {
        double factor = a->scale[i] / a->scale[i - 1];
        if ((a->sent[i] == HC_GRADIENTS_FINITE) == up && (up ? factor > 1 : factor < 1))
            return factor;
    }
    return 0;
}

void hc_scaler_answers_to_growth(const struct hc_scaler_answers *a, int *run, int *all)
{
    int row = 0;
    int total = 0;
    *run = *all = 0;
    for (int i = 0; i < a->count; i++) {
        bool clean = a->sent[i] == HC_GRADIENTS_FINITE;
        row = clean ? row + 1 : 0;
        total += clean;
        if (i > 0 && clean && a->scale[i] > a->scale[i - 1]) {
            *run = row;
            *all = total;
            return;
        }
    }
}
