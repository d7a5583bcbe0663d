/* Begins a training with the state in a file: a step file of halfcheck or PyTorch, a state_dict()
   or a checkpoint (docs/step-files.md).

   What the file holds takes the place of the start values, rounded to the recipe's formats; what it
   does not hold stays, and a note says so. What the network has no place for is refused: it would
   be another network's. The order of the images, augmentation and the schedule are functions of the
   seed and the step, so that a run which begins with its own dump goes on to the same bits. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/run/load_inner.h"
#include "train/run/state_fields.h"

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
note(const struct hc_load *load, const char *format, ...)
{
    const struct hc_train_options *o = &load->run->options;
    char line[2 * HC_LOAD_LINE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (o->note)
        o->note(line, o->context);
}

void hc_load_list(char text[HC_LOAD_LINE], const char *word)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, HC_LOAD_LINE - used, "%s%s", used ? ", " : "", word);
}

/* A count: a whole number from 0 on, with room for those of the run to come. */
static enum hc_status whole(const struct hc_load *load, const char *name, double value, int32_t *to)
{
    if (!(value >= 0 && value < 0x1p30) || value != floor(value))
        return hc_fail(HC_INVALID, "%s: %s is %g", load->path, name, value);
    *to = (int32_t)value;
    return HC_OK;
}

/* What a constant scale has is the recipe's, and a rule's counts mean nothing to another rule. */
static bool takes_counter(const struct hc_load *load, const char *name)
{
    const struct hc_scaler *scaler = &load->run->options.recipe->scaler;
    const char *rule = hc_tensor_file_metadata(&load->file, "scaler");
    bool dynamic = hc_scaler_params(scaler).interval > 0;
    if (strcmp(name, "scale") == 0)
        return dynamic;
    if (strncmp(name, "scaler.", 7) == 0)
        return rule ? strcmp(rule, hc_scalers[scaler->rule].name) == 0 : dynamic;
    return true;
}

static enum hc_status take_counters(struct hc_load *load, struct hc_counters *counters)
{
    enum hc_status status = HC_OK;
    for (int f = 0; f < HC_COUNTER_FIELDS && status == HC_OK; f++) {
        const char *name = hc_counter_fields[f].name;
        struct hc_tensor to = hc_counter_tensor(&hc_counter_fields[f], counters);
        const struct hc_tensor *from = hc_tensor_file_find(&load->file, name);
        if (!takes_counter(load, name))
            continue;
        if (!from || hc_tensor_count(from) != 1) {
            if (strcmp(name, "scale") == 0 || strcmp(name, "optimizer.step") == 0)
                hc_load_list(load->absent, name);
            continue;
        }
        double value = hc_tensor_get(from, 0);
        if (to.format == HC_I32)
            status = whole(load, name, value, to.data);
        else if (value >= 0)
            hc_tensor_set(&to, 0, value);
        else
            status = hc_fail(HC_INVALID, "%s: %s is %g", load->path, name, value);
        if (status == HC_OK && (to.format != HC_I32 || strcmp(name, "optimizer.step") == 0))
            hc_load_list(load->taken, name);
    }
    return status;
}

/* At which step the run begins: what the file counted, or else says. */
static enum hc_status take_step(struct hc_load *load, struct hc_counters *counters)
{
    const char *text = hc_tensor_file_metadata(&load->file, "step");
    enum hc_status status = HC_OK;
    if (!hc_tensor_file_find(&load->file, "counts.steps") && text) {
        char *end = NULL;
        double step = strtod(text, &end);
        status = whole(load, "step", end != text && *end == '\0' ? step : -1, &counters->steps);
    }
    load->run->totals.first = counters->steps;
    load->run->totals.step = counters->steps;
    return status;
}

static enum hc_status check_metadata(const struct hc_load *load)
{
    const struct hc_train_options *o = &load->run->options;
    const char *network = hc_tensor_file_metadata(&load->file, "network");
    if (network && strcmp(network, o->network->name) != 0)
        return hc_fail(HC_INVALID, "%s: it is of the network %.80s, not %s", load->path, network,
                       o->network->name);
    return HC_OK;
}

static void tell(const struct hc_load *load)
{
    const char *producer = hc_tensor_file_metadata(&load->file, "producer");
    const char *seed = hc_tensor_file_metadata(&load->file, "seed");
    const struct hc_run *run = load->run;
    note(load, "%s%s%s: begins at step %lld with its %s", load->path, producer ? ", by " : "",
         producer ? producer : "", (long long)run->totals.first, load->taken);
    if (load->absent[0])
        note(load, "it lacks %s: as at the start of a run", load->absent);
    if (load->rounded > 0)
        note(load, "%d of its tensors are rounded to the recipe's formats", load->rounded);
    if (seed && strtoull(seed, NULL, 10) != run->options.seed)
        note(load, "its seed is %.20s, this run's %llu: other images in another order", seed,
             (unsigned long long)run->options.seed);
}

static enum hc_status take_all(struct hc_load *load)
{
    struct hc_counters counters;
    enum hc_status status = check_metadata(load);
    if (status == HC_OK)
        status = hc_load_state(load);
    if (status == HC_OK)
        status = hc_update_counters(load->run->update, &counters);
    if (status == HC_OK)
        status = take_counters(load, &counters);
    if (status == HC_OK)
        status = take_step(load, &counters);
    if (status == HC_OK)
        status = hc_update_set_counters(load->run->update, &counters);
    return status;
}

enum hc_status hc_load_read(struct hc_run *run)
{
    struct hc_load *load = calloc(1, sizeof *load);
    if (!load)
        return hc_fail(HC_NO_MEMORY, "no memory to load a file");
    *load = (struct hc_load){.run = run, .path = run->options.load};
    enum hc_status status = hc_tensor_file_read(&load->file, load->path);
    if (status == HC_OK) {
        load->rows = hc_state_list(run->net, run->update);
        status = load->rows ? take_all(load) : HC_NO_MEMORY;
    }
    if (status == HC_OK)
        tell(load);
    free(load->rows);
    hc_tensor_file_close(&load->file);
    free(load);
    return status;
}
