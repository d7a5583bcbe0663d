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

#include "train/run/state.h"
#include "train/run/trainer_inner.h"

enum { LOAD_LINE = 600 };

struct load {
    struct hc_run *run;
    const char *path;
    struct hc_tensor_file file;
    bool bare; /* a state_dict: no name has a prefix */
    struct hc_state_rows *rows;
    int rounded; /* tensors that came in another format */
    char taken[LOAD_LINE];
    char absent[LOAD_LINE];
};

/* The tensors that a training begins with. */

/* A count: a whole number from 0 on, with room for those of the run to come. */
static enum hc_status whole(const struct load *load, const char *name, double value, int32_t *to)
{
    if (!(value >= 0 && value < 0x1p30) || value != floor(value))
        return hc_fail(HC_INVALID, "%s: %s is %g", load->path, name, value);
    *to = (int32_t)value;
    return HC_OK;
}

static const struct hc_tensor *find_loaded(const struct load *load, const char *prefix,
                                           const char *name)
{
    char whole[HC_STATE_NAME];
    (void)snprintf(whole, sizeof whole, "%s%s", load->bare ? "" : prefix, name);
    return hc_tensor_file_find(&load->file, whole);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What a row of the state takes. The weights that the network uses come as they are where they have
   its format, otherwise rounded from the masters, if there are any; masters come from the weights
   where the file has none, as under autocast. */
static const struct hc_tensor *source(const struct load *load, const struct hc_state_row *row)
{
    bool weight = begins(row->name, "weights.");
    const char *name = strchr(row->name, '.') + 1;
    if (begins(row->name, "buffers."))
        return find_loaded(load, "buffers.", name);
    if (!weight && !begins(row->name, "masters."))
        return hc_tensor_file_find(&load->file, row->name);
    const struct hc_tensor *own = find_loaded(load, "weights.", name);
    const struct hc_tensor *master = load->bare ? NULL : find_loaded(load, "masters.", name);
    if (weight && own && (!master || own->format == row->tensor.format))
        return own;
    return master ? master : own;
}

static const char *shape(const struct hc_tensor *t, char text[120])
{
    size_t used = (size_t)snprintf(text, 120, "[");
    for (int d = 0; d < t->rank; d++)
        used += (size_t)snprintf(text + used, 120 - used, "%s%lld", d ? ", " : "",
                                 (long long)t->shape[d]);
    (void)snprintf(text + used, 120 - used, "]");
    return text;
}

static enum hc_status check_shape(const struct load *load, const char *name,
                                  const struct hc_tensor *got, const struct hc_tensor *want)
{
    char texts[2][120];
    bool same = got->rank == want->rank;
    for (int d = 0; d < want->rank && same; d++)
        same = got->shape[d] == want->shape[d];
    if (!same)
        return hc_fail(HC_INVALID, "%s: %s has the shape %s where this network has %s", load->path,
                       name, shape(got, texts[0]), shape(want, texts[1]));
    if (hc_is_integer(&hc_formats[got->format]))
        return hc_fail(HC_INVALID, "%s: %s is %s", load->path, name, hc_formats[got->format].name);
    return HC_OK;
}

/* The state of delayed scaling is what its rule can leave behind (kernels/element/scale_delayed.h):
   amaxes are magnitudes whose NaNs are dropped, so that one is infinite at worst, and a scale is
   M / amax of a positive and finite amax, at most fp32's largest number. Under any other scale
   codes would be zeros, NaNs or of the wrong sign, and a NaN or a negative amax in the history
   would be taken for an idle step's or a maximum. */
static enum hc_status check_delayed(const struct load *load, const struct hc_state_row *row,
                                    const struct hc_tensor *t)
{
    const char *word = strrchr(row->name, '.');
    bool is_scale = strcmp(word, ".scale") == 0;
    if (!begins(row->name, "quant."))
        return HC_OK;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        double value = hc_tensor_get(t, i);
        if (is_scale && !(value > 0 && isfinite(value)))
            return hc_fail(HC_INVALID, "%s: %s has %g at %lld, and a scale is positive and finite",
                           load->path, row->name, value, (long long)i);
        if (!is_scale && !(value >= 0))
            return hc_fail(HC_INVALID, "%s: %s has %g at %lld, and an amax is 0 or more",
                           load->path, row->name, value, (long long)i);
    }
    return HC_OK;
}

/* Into the backend's memory, rounded to nearest where the formats differ. */
static enum hc_status set_row(struct load *load, const struct hc_state_row *row,
                              const struct hc_tensor *from)
{
    struct hc_tensor here = hc_torch_shape(row->tensor);
    enum hc_status status = check_shape(load, row->name, from, &here);
    if (status == HC_OK && from->format == here.format)
        status = check_delayed(load, row, from);
    if (status != HC_OK || from->format == here.format)
        return status == HC_OK ? hc_torch_upload(&load->run->device, from, &row->tensor) : status;
    here.data = malloc(hc_tensor_bytes(&here) + 1);
    if (!here.data)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", row->name);
    for (int64_t i = 0; i < hc_tensor_count(&here); i++)
        hc_tensor_set(&here, i, hc_tensor_get(from, i));
    load->rounded++;
    status = check_delayed(load, row, &here);
    if (status == HC_OK)
        status = hc_torch_upload(&load->run->device, &here, &row->tensor);
    free(here.data);
    return status;
}

/* How much of a name is its group's: "weights", "optimizer.exp_avg". */
static int group_length(const char *name)
{
    int length = (int)strcspn(name, ".");
    return begins(name, "optimizer.") ? length + 1 + (int)strcspn(name + length + 1, ".") : length;
}

/* Adds a word to one of the two lists. */
static void load_list(char text[LOAD_LINE], const char *word)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, LOAD_LINE - used, "%s%s", used ? ", " : "", word);
}

/* Takes the rows from `first` on that are of one group; returns how many these are. */
static enum hc_status take_group(struct load *load, int first, int *count)
{
    const struct hc_state_row *row = &load->rows->row[first];
    int length = group_length(row->name);
    int taken = 0;
    char word[120];
    enum hc_status status = HC_OK;
    for (*count = 0; first + *count < load->rows->count && status == HC_OK; (*count)++) {
        const struct hc_state_row *at = row + *count;
        if (group_length(at->name) != length || strncmp(at->name, row->name, (size_t)length) != 0)
            break;
        const struct hc_tensor *from = source(load, at);
        if (from)
            status = set_row(load, at, from);
        taken += from != NULL;
    }
    if (taken > 0 && taken < *count)
        (void)snprintf(word, sizeof word, "%.*s (%d of %d)", length, row->name, taken, *count);
    else
        (void)snprintf(word, sizeof word, "%.*s", length, row->name);
    load_list(taken ? load->taken : load->absent, word);
    return status;
}

static bool is_known(const struct load *load, const char *name)
{
    static const char count[] = ".num_batches_tracked";
    size_t length = strlen(name);
    if (length >= sizeof count - 1 && strcmp(name + length - (sizeof count - 1), count) == 0)
        return true;
    for (int i = 0; i < load->rows->count; i++) {
        const char *own = load->rows->row[i].name;
        const char *behind = strchr(own, '.') + 1;
        if (strcmp(name, own) == 0 ||
            ((begins(own, "weights.") || begins(own, "buffers.")) && load->bare &&
             strcmp(name, behind) == 0) ||
            (begins(own, "weights.") && begins(name, "masters.") &&
             strcmp(name + strlen("masters."), behind) == 0))
            return true;
    }
    return false;
}

/* A weight or a buffer of another network. */
static enum hc_status check_names(struct load *load)
{
    int places = 0;
    load->bare = true;
    for (int i = 0; i < load->file.count; i++)
        if (begins(load->file.tensors[i].name, "weights.") ||
            begins(load->file.tensors[i].name, "masters."))
            load->bare = false;
    for (int i = 0; i < load->file.count; i++) {
        const char *name = load->file.tensors[i].name;
        bool asks = load->bare || begins(name, "weights.") || begins(name, "masters.") ||
                    begins(name, "buffers.");
        if (asks && !is_known(load, name))
            return hc_fail(HC_INVALID, "%s: it has %.80s, which %s does not have", load->path, name,
                           load->run->options.network->name);
        places += asks;
    }
    return places > 0 ? HC_OK : hc_fail(HC_INVALID, "%s: it has no weights", load->path);
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
note(const struct load *load, const char *format, ...)
{
    const struct hc_train_options *o = &load->run->options;
    char line[2 * LOAD_LINE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (o->note)
        o->note(line, o->context);
}

/* What a constant scale has is the recipe's, and a rule's counts mean nothing to another rule. */
static bool takes_counter(const struct load *load, const char *name)
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

static enum hc_status take_counters(struct load *load, struct hc_counters *counters)
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
                load_list(load->absent, name);
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
            load_list(load->taken, name);
    }
    return status;
}

/* At which step the run begins: what the file counted, or else says. */
static enum hc_status take_step(struct load *load, struct hc_counters *counters)
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

static enum hc_status check_metadata(const struct load *load)
{
    const struct hc_train_options *o = &load->run->options;
    const char *network = hc_tensor_file_metadata(&load->file, "network");
    if (network && strcmp(network, o->network->name) != 0)
        return hc_fail(HC_INVALID, "%s: it is of the network %.80s, not %s", load->path, network,
                       o->network->name);
    return HC_OK;
}

static void tell_loaded(const struct load *load)
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

static enum hc_status take_all(struct load *load)
{
    struct hc_counters counters;
    enum hc_status status = check_metadata(load);
    if (status == HC_OK)
        status = check_names(load);
    for (int i = 0, count = 1; i < load->rows->count && status == HC_OK; i += count)
        status = take_group(load, i, &count);
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
    struct load *load = calloc(1, sizeof *load);
    if (!load)
        return hc_fail(HC_NO_MEMORY, "no memory to load a file");
    *load = (struct load){.run = run, .path = run->options.load};
    enum hc_status status = hc_tensor_file_read(&load->file, load->path);
    if (status == HC_OK) {
        load->rows = hc_state_list(run->net, run->update);
        status = load->rows ? take_all(load) : HC_NO_MEMORY;
    }
    if (status == HC_OK)
        tell_loaded(load);
    free(load->rows);
    hc_tensor_file_close(&load->file);
    free(load);
    return status;
}
