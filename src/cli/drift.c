#include "cli/drift.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record.h"
#include "cli/script.h"
#include "train/drift.h"
#include "train/plot.h"

struct report {
    const struct hc_comparison *c;
    const char *folder;
    int steps;
    struct hc_plan plan;
    struct hc_drift *drift;
};

static const char *source_name(int k)
{
    return k < HC_SOURCE_COUNT ? hc_source_names[k] : "all of them";
}

static const char *format_name(const struct hc_drift *d, int k)
{
    return k < HC_SOURCE_COUNT ? hc_formats[hc_rounding_of(d->recipe).format[k]].name : "-";
}

static void print_summary(const struct report *r)
{
    assert(r->drift);
    printf("\nagainst fp64, mean over %d steps at its weights         |  free run of %d steps\n",
           r->steps, r->steps);
    printf("%-22s %10s %12s %9s %8s  %9s %10s\n", "recipe", "gradient", "1 - cosine", "dW = 0 %",
           "lost %", "weights", "loss");
    for (int i = 0; i < r->c->recipes; i++) {
        const struct hc_drift *d = &r->drift[i];
        assert(d->recipe);
        printf("%-22s %10.2e %12.2e %9.3f %8.2f  %9.2e %+10.2e\n", r->c->recipe[i]->name,
               d->all.error, 1 - d->all.cosine, 100 * d->all.underflow, 100 * d->all.lost, d->free,
               d->unlike);
    }
    printf("gradient: |g - g64| / |g64|; weights: |w - w64| / |w64 - start|; loss: less that of "
           "fp64\n");
}

static void print_attribution(const struct hc_drift *d)
{
    printf("\n%s: its formats put into the fp64 run    gradient (measured %.2e)     weights "
           "(measured %.2e)\n",
           d->recipe->name, d->all.error, d->free);
    printf("  %-18s %-6s %12s %12s %14s %12s\n", "source", "format", "alone", "all but it", "alone",
           "all but it");
    for (int k = 0; k <= HC_SOURCE_COUNT; k++) {
        printf("  %-18s %-6s %12.2e", source_name(k), format_name(d, k), d->alone_gradient[k]);
        if (k < HC_SOURCE_COUNT)
            printf(" %12.2e %14.2e %12.2e\n", d->without_gradient[k], d->alone_free[k],
                   d->without_free[k]);
        else
            printf(" %12s %14.2e\n", "", d->alone_free[k]);
    }
}

static FILE *open_csv(const struct report *r, const char *name, const char *columns)
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/%s", r->folder, name);
    FILE *file = fopen(path, "w");
    if (file)
        (void)fprintf(file, "%s\n", columns);
    else
        (void)hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    return file;
}

static enum hc_status close_csv(FILE *file, const char *name)
{
    bool written = !ferror(file);
    written = fclose(file) == 0 && written;
    return written ? HC_OK : hc_fail(HC_IO, "cannot write %s", name);
}

static void write_row(FILE *file, const char *recipe, const char *what,
                      const struct hc_drift_layer *l)
{
    (void)fprintf(file, "%s,%s,%.9g,%.17g,%.9g,%.9g\n", recipe, what, l->error, l->cosine,
                  l->underflow, l->lost);
}

static enum hc_status write_layers(const struct report *r)
{
    FILE *file = open_csv(r, "layers.csv", "recipe,layer,error,cosine,underflow,lost");
    if (!file)
        return HC_IO;
    for (int i = 0; i < r->c->recipes; i++) {
        const struct hc_drift *d = &r->drift[i];
        for (int l = 0; l < r->plan.layers; l++)
            if (r->plan.layer[l].parameter >= 0)
                write_row(file, d->recipe->name, r->plan.layer[l].name, &d->layer[l]);
        write_row(file, d->recipe->name, "all", &d->all);
    }
    return close_csv(file, "layers.csv");
}

static enum hc_status write_attribution(const struct report *r)
{
    FILE *file = open_csv(r, "attribution.csv",
                          "recipe,source,format,gradient_alone,gradient_without,free_alone,"
                          "free_without,gradient_measured,free_measured");
    if (!file)
        return HC_IO;
    for (int i = 0; i < r->c->recipes; i++)
        for (int k = 0; k <= HC_SOURCE_COUNT; k++) {
            const struct hc_drift *d = &r->drift[i];
            (void)fprintf(file, "%s,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", d->recipe->name,
                          source_name(k), format_name(d, k), d->alone_gradient[k],
                          d->without_gradient[k], d->alone_free[k], d->without_free[k],
                          d->all.error, d->free);
        }
    return close_csv(file, "attribution.csv");
}

static json_t *exact(double x)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%a", x);
    return json_string(text);
}

static json_t *layer_json(const char *name, const struct hc_drift_layer *l)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "layer", name, "error", exact(l->error), "cosine",
                     exact(l->cosine), "underflow", exact(l->underflow), "lost", exact(l->lost));
}

static json_t *drift_json(const struct report *r, const struct hc_drift *d)
{
    json_t *layers = json_array();
    json_t *sources = json_array();
    for (int l = 0; l < r->plan.layers; l++)
        if (r->plan.layer[l].parameter >= 0)
            (void)json_array_append_new(layers, layer_json(r->plan.layer[l].name, &d->layer[l]));
    for (int k = 0; k <= HC_SOURCE_COUNT; k++)
        (void)json_array_append_new(
            sources, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "source", source_name(k), "format",
                               format_name(d, k), "gradient_alone", exact(d->alone_gradient[k]),
                               "gradient_without", exact(d->without_gradient[k]), "free_alone",
                               exact(d->alone_free[k]), "free_without", exact(d->without_free[k])));
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "recipe", d->recipe->name, "steps",
                     r->steps, "all", layer_json("all", &d->all), "free", exact(d->free), "loss",
                     exact(d->unlike), "layers", layers, "sources", sources);
}

static enum hc_status write_record(const struct report *r)
{
    char path[1100];
    json_t *record = hc_record_new();
    json_t *drift = json_array();
    for (int i = 0; i < r->c->recipes; i++)
        (void)json_array_append_new(drift, drift_json(r, &r->drift[i]));
    (void)json_object_set_new(record, "drift", drift);
    (void)snprintf(path, sizeof path, "%s/record.json", r->folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

static void draw(const struct report *r)
{
    char definitions[1024];
    size_t used = (size_t)snprintf(definitions, sizeof definitions,
                                   "synthetic = %d; steps = %d; recipes = \"",
                                   r->c->training->set.synthetic, r->steps);
    for (int i = 0; i < r->c->recipes && used < sizeof definitions; i++)
        used += (size_t)snprintf(definitions + used, sizeof definitions - used, "%s%s",
                                 i > 0 ? " " : "", r->c->recipe[i]->name);
    if (used < sizeof definitions)
        (void)snprintf(definitions + used, sizeof definitions - used, "\"");
    if (hc_plot(hc_script("drift.gp"), definitions, r->folder) == HC_OK)
        printf("pictures: %s/{attribution,layers}.{svg,png}\n", r->folder);
    else
        printf("no pictures: %s\n", hc_message());
}

static enum hc_status conclude(const struct report *r)
{
    print_summary(r);
    for (int i = 0; i < r->c->recipes; i++)
        print_attribution(&r->drift[i]);
    printf("\nalone: in fp64 but for this source; where 'all of them' falls short of what is "
           "measured, it\n"
           "is the loss or the optimizer's arithmetic, which are no source here\n");
    if (r->c->training->set.synthetic)
        printf("\n%s\n", r->c->training->set.origin);
    enum hc_status status = write_layers(r);
    if (status == HC_OK)
        status = write_attribution(r);
    if (status == HC_OK)
        status = write_record(r);
    if (status != HC_OK)
        return status;
    printf("\nrecord: %s/record.json; attribution.csv and layers.csv beside it\n", r->folder);
    draw(r);
    return HC_OK;
}

int hc_drift_command(const struct hc_comparison *c, int steps, const char *folder)
{
    const struct hc_training *t = c->training;
    struct hc_drift_options options = {.network = t->network,
                                       .data = &t->set,
                                       .backend = t->backend,
                                       .threads = t->threads,
                                       .batch = t->batch,
                                       .steps = steps,
                                       .lr = t->max_lr / 10,
                                       .seed = t->seed};
    struct report r = {.c = c, .folder = folder, .steps = steps};
    hc_plan_make(t->network, t->set.classes, &r.plan);
    r.drift = calloc((size_t)c->recipes, sizeof *r.drift);
    if (!r.drift) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for the drift of %d recipes", c->recipes);
        return hc_complain_message();
    }
    enum hc_status status = hc_make_folder(folder);
    for (int i = 0; i < c->recipes && status == HC_OK; i++)
        status = hc_drift_measure(&options, c->recipe[i], &r.drift[i]);
    if (status == HC_OK)
        status = conclude(&r);
    free(r.drift);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}
