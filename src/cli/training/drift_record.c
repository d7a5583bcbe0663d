#include "cli/training/drift_record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "check/record/facts.h"
#include "check/record/json.h"
#include "cli/training/drift_shares.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "cli/lines.h"
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

/* The further columns of layers.csv for x, w and dy, and those of layer l; -1: empty ones. Nothing
   where no recipe quantises. */
static void drift_operands_heading(FILE *file, const struct hc_drift_report *r)
{
    for (int role = 0; role < ROLES && hc_drift_has_operands(r); role++)
        for (int i = 0; i < NUMBERS; i++)
            hc_print(file, ",%s_%s", roles[role], numbers[i].name);
}

static void drift_operands_row(FILE *file, const struct hc_drift_report *r,
                               const struct hc_drift *d, int l)
{
    for (int role = 0; role < ROLES && hc_drift_has_operands(r); role++)
        for (int i = 0; i < NUMBERS; i++)
            if (l < 0 || isnan(number_of(&d->operand[l][role], i)))
                hc_print(file, ",");
            else
                hc_print(file, ",%.9g", number_of(&d->operand[l][role], i));
}

/* {"x": {...}, ...} of layer l; NULL where it is not quantised. */
static json_t *drift_operands_json(const struct hc_drift *d, int l)
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

static void print_recipe(const struct hc_drift_report *r, int recipe, FILE *out)
{
    const struct hc_drift *d = &r->drift[recipe];
    char label[HC_COMPARED_LABEL];
    bool named = false;
    hc_comparison_label(r->c, recipe, label);
    for (int role = 0; role < ROLES; role++) {
        struct hc_drift_operand mean;
        int worst = summary_of(r, d, role, &mean);
        if (worst < 0)
            continue;
        if (!named)
            hc_print(out, "%s\n", label);
        named = true;
        hc_print(out, "  %-3s %-5s %9.2e %9.2e %-8s %8.3f %9.3f  %9.2e %9.2e\n", roles[role],
                 hc_drift_format(d, HC_SOURCE_CODES + role), mean.error,
                 d->operand[worst][role].error, r->plan.layer[worst].name, 100 * mean.at_max,
                 100 * mean.flushed, mean.least_scale, mean.most_scale);
    }
}

void hc_drift_print_operands(const struct hc_drift_report *r, FILE *out)
{
    if (!hc_drift_has_operands(r))
        return;
    hc_print(out,
             "\nwhat codes keep of operands, mean over layers and %s at fp64's weights\n"
             "  %-3s %-5s %9s %-18s %8s %9s  %s\n",
             hc_count(r->steps, "step").text, "of", "codes", "error", "    most, in", "at max %",
             "flushed %", "scales: least, most");
    for (int i = 0; i < r->c->recipes; i++)
        print_recipe(r, i, out);
    hc_print(out, "error: |decoded - x| / |x|; at max: codes of the format's largest number;\n"
                  "flushed: numbers not 0 whose code is; scale: what codes are multiplied by\n");
}

static bool is_codes(int k)
{
    return k >= HC_SOURCE_CODES && k < HC_SOURCE_ACCUMULATION;
}

/* Whether the source is an operand that the recipe quantises. */
static bool is_coded(const struct hc_drift *d, int k)
{
    return is_codes(k) && hc_rounding_of(d->recipe, d->gpt).format[k][0] != HC_FP64;
}

bool hc_drift_has_source(const struct hc_drift_report *r, int k)
{
    bool unit = false;
    bool shards = false;
    bool codes = false;
    if (k < HC_SOURCE_COUNT && !hc_source_is_of(k, r->drift->gpt))
        return false;
    for (int part = 0; part < r->parts; part++)
        for (int i = 0; i < r->c->recipes; i++) {
            const struct hc_drift *d = &r->drift[i + (ptrdiff_t)part * r->seeds * r->c->recipes];
            unit |= d->unit;
            shards |= d->shards > 1;
            codes |= is_coded(d, k);
        }
    if (is_codes(k))
        return codes;
    return k == HC_SOURCE_UNIT ? unit : k != HC_SOURCE_REDUCTION || shards;
}

const char *hc_drift_source(int k)
{
    return k < HC_SOURCE_COUNT ? hc_source_names[k] : "all of them";
}

const char *hc_drift_format(const struct hc_drift *d, int k)
{
    struct hc_rounding r = hc_rounding_of(d->recipe, d->gpt);
    bool norm = k == HC_SOURCE_NORM || k == HC_SOURCE_ROW_NORM;
    if (k == HC_SOURCE_MASTER && hc_rounds_otherwise(d->recipe))
        return "-";
    if (k == HC_SOURCE_REDUCTION && d->shards <= 1)
        return "-";
    if (is_codes(k) && !is_coded(d, k))
        return "-";
    if (k == HC_SOURCE_UNIT)
        return d->unit ? hc_formats[d->recipe->model].name : "-";
    return k < HC_SOURCE_COUNT ? hc_formats[r.format[k][norm]].name : "-";
}

void hc_drift_name(const struct hc_drift *d, char text[HC_DRIFT_NAME])
{
    if (d->shards > 1)
        (void)snprintf(text, HC_DRIFT_NAME, "%s-ranks%d", d->recipe->name, d->ranks);
    else
        (void)snprintf(text, HC_DRIFT_NAME, "%s", d->recipe->name);
}

struct hc_drift_report hc_drift_of_ranks(const struct hc_drift_report *report, int part)
{
    struct hc_drift_report one = *report;
    one.drift += (ptrdiff_t)part * report->seeds * report->c->recipes;
    if (one.shares)
        one.shares += (ptrdiff_t)part * report->seeds * report->c->recipes;
    one.ranks = report->c->ranks_count > 0 ? report->c->ranks[part] : 0;
    one.parts = 1;
    return one;
}

struct hc_drift_report hc_drift_of_seed(const struct hc_drift_report *report, int seed)
{
    struct hc_drift_report one = *report;
    one.drift += (ptrdiff_t)seed * report->c->recipes;
    if (one.shares)
        one.shares += (ptrdiff_t)seed * report->c->recipes;
    one.seed += (uint64_t)seed;
    one.seeds = 1;
    if (report->seeds > 1)
        (void)snprintf(one.of_seed, sizeof one.of_seed, "-seed%llu", (unsigned long long)one.seed);
    return one;
}

static enum hc_status write_csv(const struct hc_drift_report *r, const char *name,
                                void (*print)(FILE *out, const void *report))
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/%s", r->folder, name);
    return hc_output_print(path, print, r);
}

/* The end of a row: with several backends, the recipe's; and the number of ranks. */
static void end_row(FILE *file, const struct hc_drift_report *r, int recipe)
{
    bool several = r->c->training->backend_count > 1;
    hc_print(file, "%s%s", several ? "," : "",
             several ? hc_comparison_training(r->c, recipe)->backend->name : "");
    if (r->ranks > 0)
        hc_print(file, ",%d", r->ranks);
    (void)fputc('\n', file);
}

static void end_heading(FILE *file, const struct hc_drift_report *r)
{
    hc_print(file, "%s%s\n", r->c->training->backend_count > 1 ? ",backend" : "",
             r->ranks > 0 ? ",ranks" : "");
}

/* Layer l; -1: the network. */
static void write_row(FILE *file, const struct hc_drift_report *r, int recipe, int l)
{
    const struct hc_drift *d = &r->drift[recipe];
    const struct hc_drift_layer *of = l < 0 ? &d->all : &d->layer[l];
    hc_print(file, "%s,%s,%.9g,%.17g,%.9g,%.9g", r->c->recipe[recipe]->name,
             l < 0 ? "all" : r->plan.layer[l].name, of->error, of->cosine, of->underflow, of->lost);
    drift_operands_row(file, r, d, l);
    end_row(file, r, recipe);
}

static void print_layers_of(FILE *file, const struct hc_drift_report *r)
{
    for (int i = 0; i < r->c->recipes; i++) {
        for (int l = 0; l < r->plan.layers; l++)
            if (r->plan.layer[l].parameter >= 0)
                write_row(file, r, i, l);
        write_row(file, r, i, -1);
    }
}

static void print_layers(FILE *file, const void *report)
{
    const struct hc_drift_report *r = report;
    (void)fputs("recipe,layer,error,cosine,underflow,lost", file);
    drift_operands_heading(file, r);
    end_heading(file, r);
    for (int part = 0; part < r->parts; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        print_layers_of(file, &one);
    }
}

/* Every recipe has the rows that the whole report has. */
static void print_attribution_of(FILE *file, const struct hc_drift_report *r,
                                 const struct hc_drift_report *whole)
{
    for (int i = 0; i < r->c->recipes; i++)
        for (int k = 0; k <= HC_SOURCE_COUNT; k++) {
            const struct hc_drift *d = &r->drift[i];
            if (!hc_drift_has_source(whole, k))
                continue;
            hc_print(file, "%s,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g", d->recipe->name,
                     hc_drift_source(k), hc_drift_format(d, k), d->alone_gradient[k],
                     d->without_gradient[k], d->alone_free[k], d->without_free[k], d->all.error,
                     d->free, d->residual_gradient, d->residual_free);
            end_row(file, r, i);
        }
}

static void print_attribution(FILE *file, const void *report)
{
    const struct hc_drift_report *r = report;
    (void)fputs("recipe,source,format,gradient_alone,gradient_without,free_alone,free_without,"
                "gradient_measured,free_measured,gradient_residual,free_residual",
                file);
    end_heading(file, r);
    for (int part = 0; part < r->parts; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        print_attribution_of(file, &one, r);
    }
}

static void print_each(FILE *file, const struct hc_drift_report *r,
                       void (*rows)(FILE *file, const struct hc_drift_report *part, int recipe,
                                    hc_drift_row_end *end))
{
    end_heading(file, r);
    for (int part = 0; part < r->parts; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        for (int i = 0; i < r->c->recipes; i++)
            rows(file, &one, i, end_row);
    }
}

static void print_shares(FILE *file, const void *report)
{
    (void)fputs("recipe,of,source,square,alone,share,low,high", file);
    print_each(file, report, hc_drift_shares_rows);
}

static void print_pairs(FILE *file, const void *report)
{
    (void)fputs("recipe,of,source,other,square,source_alone,other_alone,together,interaction",
                file);
    print_each(file, report, hc_drift_pairs_rows);
}

static bool has_row(const struct hc_drift *d, int k)
{
    if (k < HC_SOURCE_COUNT && !hc_source_is_of(k, d->gpt))
        return false;
    if (is_codes(k))
        return is_coded(d, k);
    return k == HC_SOURCE_UNIT ? d->unit : k != HC_SOURCE_REDUCTION || d->shards > 1;
}

static json_t *layer_json(const char *name, const struct hc_drift_layer *l)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "layer", name, "error", hc_json_real(l->error),
                     "cosine", hc_json_real(l->cosine), "underflow", hc_json_real(l->underflow),
                     "lost", hc_json_real(l->lost));
}

/* A layer with what its operands lose, if it is quantised. */
static json_t *layer_of(const struct hc_drift_report *r, const struct hc_drift *d, int l)
{
    json_t *layer = layer_json(r->plan.layer[l].name, &d->layer[l]);
    json_t *operands = drift_operands_json(d, l);
    if (operands)
        (void)json_object_set_new(layer, "operands", operands);
    return layer;
}

static json_t *drift_json(const struct hc_drift_report *r, int recipe)
{
    const struct hc_drift *d = &r->drift[recipe];
    const struct hc_training *on = hc_comparison_training(r->c, recipe);
    char made[640];
    char name[HC_DRIFT_NAME];
    hc_drift_name(d, name);
    json_t *layers = json_array();
    json_t *sources = json_array();
    for (int l = 0; l < r->plan.layers; l++)
        if (r->plan.layer[l].parameter >= 0)
            (void)json_array_append_new(layers, layer_of(r, d, l));
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        if (has_row(d, k))
            (void)json_array_append_new(
                sources, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "source", hc_drift_source(k),
                                   "format", hc_drift_format(d, k), "gradient_alone",
                                   hc_json_real(d->alone_gradient[k]), "gradient_without",
                                   hc_json_real(d->without_gradient[k]), "free_alone",
                                   hc_json_real(d->alone_free[k]), "free_without",
                                   hc_json_real(d->without_free[k])));
    hc_training_made(r->c->training, d->recipe, r->steps, made, sizeof made);
    json_t *drift = json_pack(
        "{s:s, s:s, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "recipe", name,
        "backend", on->backend->name, "seed", json_sprintf("%llu", (unsigned long long)r->seed),
        "settings", hc_json_text(made), "steps", r->steps, "finite", d->finite, "all",
        layer_json("all", &d->all), "free", hc_json_real(d->free), "loss", hc_json_real(d->unlike),
        "gradient_residual", hc_json_real(d->residual_gradient), "free_residual",
        hc_json_real(d->residual_free), "layers", layers, "sources", sources);
    if (d->shards > 1) {
        (void)json_object_set_new(drift, "ranks", json_integer(d->ranks));
        (void)json_object_set_new(drift, "shards", json_integer(d->shards));
    }
    if (r->shares)
        (void)json_object_set_new(drift, "shares", hc_drift_shares_json(r, recipe));
    return drift;
}

static void add_drifts(json_t *list, const struct hc_drift_report *r)
{
    for (int s = 0; s < r->seeds; s++) {
        struct hc_drift_report one = hc_drift_of_seed(r, s);
        for (int i = 0; i < r->c->recipes; i++)
            (void)json_array_append_new(list, drift_json(&one, i));
    }
}

static enum hc_status write_record(const struct hc_drift_report *r)
{
    char path[1100];
    json_t *record = hc_record_new();
    json_t *drift = json_array();
    json_t *shares = r->shares && r->seeds > 1 ? json_array() : NULL;
    hc_record_describe(record, r->c->training->backend, NULL);
    for (int i = 1; i < r->c->training->backend_count; i++)
        hc_record_describe(record, r->c->training->several[i], NULL);
    hc_drift_claims(r, record);
    for (int part = 0; part < r->parts; part++) {
        const struct hc_drift_report one = hc_drift_of_ranks(r, part);
        add_drifts(drift, &one);
        if (shares)
            hc_drift_shares_add(shares, &one);
    }
    (void)json_object_set_new(record, "drift", drift);
    if (shares)
        (void)json_object_set_new(record, "shares", shares);
    hc_training_set_invocation(record, r->c->training);
    (void)json_object_set_new(record, "training", hc_training_settings(r->c->training));
    (void)snprintf(path, sizeof path, "%s/record.json", r->folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

enum hc_status hc_drift_write(const struct hc_drift_report *r)
{
    enum hc_status status = write_csv(r, "layers.csv", print_layers);
    if (status == HC_OK)
        status = write_csv(r, "attribution.csv", print_attribution);
    if (status == HC_OK && r->shares)
        status = write_csv(r, "shares.csv", print_shares);
    if (status == HC_OK && r->shares)
        status = write_csv(r, "pairs.csv", print_pairs);
    return status == HC_OK ? write_record(r) : status;
}
