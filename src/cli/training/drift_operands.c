#include "cli/training/drift_operands.h"

#include <math.h>
#include <stddef.h>

#include "check/record/json.h"
#include "op/text.h"

static const char *const roles[] = {
    [HC_QUANT_OF_X] = "x", [HC_QUANT_OF_W] = "w", [HC_QUANT_OF_DY] = "dy"};

enum { ROLES = HC_QUANT_OF_DY + 1 };

/* The numbers of an operand, in the order of csv files. */
static const struct {
    const char *name;
    size_t at;
} numbers[] = {{"error", offsetof(struct hc_drift_operand, error)},
               {"at_max", offsetof(struct hc_drift_operand, at_max)},
               {"flushed", offsetof(struct hc_drift_operand, flushed)},
               {"least_scale", offsetof(struct hc_drift_operand, least_scale)},
               {"most_scale", offsetof(struct hc_drift_operand, most_scale)}};

enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static double number_of(const struct hc_drift_operand *o, int which)
{
    return *(const double *)((const char *)o + numbers[which].at);
}

bool hc_drift_has_operands(const struct hc_drift_report *r)
{
    bool has = false;
    for (int i = 0; i < r->c->recipes; i++)
        has |= r->drift[i].recipe->quant != HC_BY_NONE;
    return has;
}

void hc_drift_operands_heading(FILE *file, const struct hc_drift_report *r)
{
    for (int role = 0; role < ROLES && hc_drift_has_operands(r); role++)
        for (int i = 0; i < NUMBERS; i++)
            hc_print(file, ",%s_%s", roles[role], numbers[i].name);
}

void hc_drift_operands_row(FILE *file, const struct hc_drift_report *r, const struct hc_drift *d,
                           int l)
{
    for (int role = 0; role < ROLES && hc_drift_has_operands(r); role++)
        for (int i = 0; i < NUMBERS; i++)
            if (l < 0 || isnan(number_of(&d->operand[l][role], i)))
                hc_print(file, ",");
            else
                hc_print(file, ",%.9g", number_of(&d->operand[l][role], i));
}

json_t *hc_drift_operands_json(const struct hc_drift *d, int l)
{
    json_t *all = json_object();
    for (int role = 0; role < ROLES; role++) {
        const struct hc_drift_operand *o = &d->operand[l][role];
        json_t *one = json_object();
        for (int i = 0; i < NUMBERS; i++)
            (void)json_object_set_new(one, numbers[i].name, hc_json_real(number_of(o, i)));
        if (isnan(o->at_max))
            json_decref(one);
        else
            (void)json_object_set_new(all, roles[role], one);
    }
    if (json_object_size(all) > 0)
        return all;
    json_decref(all);
    return NULL;
}

/* Means over the layers that are quantised, the range of their scales, and the layer with the
   largest error; -1: none. */
static int summary_of(const struct hc_drift_report *r, const struct hc_drift *d, int role,
                      struct hc_drift_operand *mean)
{
    int worst = -1;
    int layers = 0;
    *mean = (struct hc_drift_operand){.least_scale = (double)INFINITY};
    for (int l = 0; l < r->plan.layers; l++) {
        const struct hc_drift_operand *o = &d->operand[l][role];
        if (isnan(o->at_max))
            continue;
        layers++;
        mean->error += o->error;
        mean->at_max += o->at_max;
        mean->flushed += o->flushed;
        mean->least_scale = fmin(mean->least_scale, o->least_scale);
        mean->most_scale = fmax(mean->most_scale, o->most_scale);
        worst = worst < 0 || o->error > d->operand[worst][role].error ? l : worst;
    }
    mean->error /= layers;
    mean->at_max /= layers;
    mean->flushed /= layers;
    return worst;
}

static void print_recipe(const struct hc_drift_report *r, int recipe, int width, FILE *out)
{
    const struct hc_drift *d = &r->drift[recipe];
    char label[HC_COMPARED_LABEL];
    hc_comparison_label(r->c, recipe, label);
    for (int role = 0; role < ROLES; role++) {
        struct hc_drift_operand mean;
        int worst = summary_of(r, d, role, &mean);
        if (worst < 0)
            continue;
        hc_print(out, "%-*s %-2s %-5s %9.2e %9.2e %-7s %8.3f %10.3f  %9.2e %9.2e\n", width, label,
                 roles[role], hc_drift_format(d, HC_SOURCE_CODES + role), mean.error,
                 d->operand[worst][role].error, r->plan.layer[worst].name, 100 * mean.at_max,
                 100 * mean.flushed, mean.least_scale, mean.most_scale);
        label[0] = '\0';
    }
}

void hc_drift_print_operands(const struct hc_drift_report *r, FILE *out)
{
    int width = hc_comparison_width(r->c);
    if (!hc_drift_has_operands(r))
        return;
    hc_print(out,
             "\nwhat codes keep of operands, mean over layers; over %d step%s at the weights of "
             "fp64\n%-*s %-2s %-5s %9s %-17s %8s %10s  %s\n",
             r->steps, r->steps == 1 ? "" : "s", width, "recipe", "of", "codes", "error",
             "    most, in", "at max %", "flushed %", "scales, least and most");
    for (int i = 0; i < r->c->recipes; i++)
        print_recipe(r, i, width, out);
    hc_print(out, "error: |decoded - x| / |x|; at max: codes of the format's largest number; "
                  "flushed: numbers not 0\nwhose code is; scale: what codes are multiplied by\n");
}
