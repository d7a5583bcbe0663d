#include "train/run/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/run/made_on.h"

uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t sum_text(uint64_t hash, const char *text)
{
    return hc_fnv(hash, text, strlen(text) + 1);
}

static uint64_t sum_number(uint64_t hash, int64_t number)
{
    unsigned char little[8];
    for (int i = 0; i < 8; i++)
        little[i] = (unsigned char)((uint64_t)number >> 8 * i);
    return hc_fnv(hash, little, sizeof little);
}

static void checkpoint_sum(char text[HC_CHECKSUM], const struct hc_metadata *metadata,
                           int metadata_count, const struct hc_named_tensor *tensors, int count)
{
    uint64_t hash = HC_FNV_START;
    for (int i = 0; i < metadata_count; i++)
        if (strcmp(metadata[i].key, "checksum") != 0)
            hash = sum_text(sum_text(hash, metadata[i].key), metadata[i].value);
    for (int i = 0; i < count; i++) {
        const struct hc_tensor *t = &tensors[i].tensor;
        hash = sum_text(sum_text(hash, tensors[i].name), hc_formats[t->format].name);
        hash = sum_number(hash, t->rank);
        for (int d = 0; d < t->rank; d++)
            hash = sum_number(hash, t->shape[d]);
        hash = hc_fnv(hash, t->data, hc_tensor_bytes(t));
    }
    (void)snprintf(text, HC_CHECKSUM, "%016" PRIx64, hash);
}

enum hc_status hc_checkpoint_write(const char *path, const char *producer, const char *identity,
                                   const struct hc_named_tensor *tensors, int count)
{
    char checksum[HC_CHECKSUM];
    struct hc_metadata metadata[] = {{"halfcheck.checkpoint", "3"},
                                     {"producer", producer},
                                     {"identity", identity},
                                     {"checksum", checksum}};
    const int metadata_count = sizeof metadata / sizeof *metadata;
    checkpoint_sum(checksum, metadata, metadata_count, tensors, count);
    return hc_safetensors_write(path, tensors, count, metadata, metadata_count);
}

enum { SHOWN = 60 }; /* characters of a name that a message shows */

/* Checkpoints of before they were safetensors begin with this and an u32, their version. */
static const char former_magic[] = "halfchk\n";
static const char *const former_writers[] = {NULL, "halfcheck 0.1.0", "halfcheck 0.1.0 or 0.2.0"};

/* Says so of such a file; else the last message stays. */
static enum hc_status refuse_former(const char *path)
{
    unsigned char first[9] = {0};
    FILE *stream = fopen(path, "rb");
    size_t got = stream ? fread(first, 1, sizeof first, stream) : 0;
    if (stream)
        (void)fclose(stream);
    if (got < sizeof first || memcmp(first, former_magic, sizeof former_magic - 1) != 0)
        return HC_INVALID;
    const char *writer = first[8] == 1 || first[8] == 2 ? former_writers[first[8]] : "halfcheck";
    return hc_fail(HC_INVALID,
                   "%s: a checkpoint of format %d, which %s wrote; this version reads safetensors",
                   path, first[8], writer);
}

static enum hc_status check_sound(const struct hc_tensor_file *file, const char *path)
{
    const char *version = hc_tensor_file_metadata(file, "halfcheck.checkpoint");
    const char *want = hc_tensor_file_metadata(file, "checksum");
    char got[HC_CHECKSUM];
    if (!version || !want || !hc_checkpoint_identity(file))
        return hc_fail(HC_INVALID, "%s: not a checkpoint of halfcheck", path);
    if (strcmp(version, "3") != 0)
        return hc_fail(HC_INVALID, "%s: a checkpoint of format %.20s; this version reads format 3",
                       path, version);
    for (int i = 0; i < file->count; i++)
        if (!file->tensors[i].tensor.data)
            return hc_fail(HC_INVALID, "%s: damaged, it holds a tensor of an unknown type", path);
    checkpoint_sum(got, file->metadata, file->metadata_count, file->tensors, file->count);
    return strcmp(got, want) == 0
               ? HC_OK
               : hc_fail(HC_INVALID, "%s: damaged, its checksum does not match", path);
}

const char *hc_checkpoint_identity(const struct hc_tensor_file *file)
{
    return hc_tensor_file_metadata(file, "identity");
}

enum hc_status hc_checkpoint_open(struct hc_tensor_file *file, const char *path)
{
    enum hc_status status = hc_tensor_file_read(file, path);
    if (status == HC_INVALID)
        return refuse_former(path);
    return status == HC_OK ? check_sound(file, path) : status;
}

/* How many ranks a run whose bits depend on that has; 1 without the word. */
static long ranks_of(const char *identity)
{
    const char *word = strstr(identity, " ranks=");
    return word ? strtol(word + strlen(" ranks="), NULL, 10) : 1;
}

static enum hc_status check_ranks(const char *path, const char *got, const char *want)
{
    long its = ranks_of(got);
    long ours = ranks_of(want);
    if (its == ours)
        return HC_OK;
    return hc_fail(HC_INVALID,
                   "%s: its run is on %ld rank%s, and this one on %ld: its bits depend on that, so "
                   "give it %ld",
                   path, its, its == 1 ? "" : "s", ours, its);
}

/* Names the first word in which the identities differ. A checkpoint of before says nothing of what
   it was made on, and is believed. */
static enum hc_status check_identity(const char *path, const char *got, const char *want)
{
    char its[HC_MADE_ON_SHOWN];
    char ours[HC_MADE_ON_SHOWN];
    while (*got != '\0' || *want != '\0') {
        int got_word = (int)strcspn(got, " ");
        int want_word = (int)strcspn(want, " ");
        if (got_word == 0 && hc_made_on_is(want))
            return HC_OK;
        hc_made_on_show(got, got_word, its);
        hc_made_on_show(want, want_word, ours);
        if (got_word == 0)
            return hc_fail(HC_INVALID, "%s: the checkpoint of another run: it has no %s", path,
                           ours);
        if (want_word == 0)
            return hc_fail(
                HC_INVALID,
                "%s: the checkpoint of another run: its %s, which this run does not have", path,
                its);
        if (got_word != want_word || memcmp(got, want, (size_t)want_word) != 0)
            return hc_fail(HC_INVALID, "%s: the checkpoint of another run: its %s, not %s", path,
                           its, ours);
        got += got_word + (got[got_word] == ' ');
        want += want_word + (want[want_word] == ' ');
    }
    return HC_OK;
}

static bool alike_tensors(const struct hc_tensor *a, const struct hc_tensor *b)
{
    bool same = a->format == b->format && a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* "fp32 [2, 3]" */
static const char *shape_text(const struct hc_tensor *t, char text[160])
{
    int used = snprintf(text, 160, "%s [", hc_formats[t->format].name);
    for (int d = 0; d < t->rank; d++)
        used += snprintf(text + used, 160 - (size_t)used, "%s%lld", d ? ", " : "",
                         (long long)t->shape[d]);
    (void)snprintf(text + used, 160 - (size_t)used, "]");
    return text;
}

/* Names the first tensor that the file lacks. */
static enum hc_status check_complete(const char *path, const struct hc_named_tensor *tensors,
                                     int count, const struct hc_tensor *const *content)
{
    const char *first = NULL;
    int missing = 0;
    for (int i = 0; i < count; i++)
        if (content[i] == NULL && missing++ == 0)
            first = tensors[i].name;
    if (missing == 0)
        return HC_OK;
    if (missing == 1)
        return hc_fail(HC_INVALID, "%s: lacks \"%s\" of this run's state", path, first);
    return hc_fail(HC_INVALID, "%s: lacks \"%s\" of this run's state, and %d more", path, first,
                   missing - 1);
}

/* Points content[i] at what the file holds for tensors[i]. */
static enum hc_status find_content(const char *path, const struct hc_tensor_file *file,
                                   const struct hc_named_tensor *tensors, int count,
                                   const struct hc_tensor **content)
{
    char held[160];
    char own[160];
    for (int n = 0; n < file->count; n++) {
        const struct hc_named_tensor *row = &file->tensors[n];
        int i = 0;
        while (i < count && strcmp(tensors[i].name, row->name) != 0)
            i++;
        if (i == count || content[i] != NULL)
            return hc_fail(HC_INVALID, "%s: holds \"%.*s\", which this run does not have", path,
                           SHOWN, row->name);
        if (!alike_tensors(&row->tensor, &tensors[i].tensor))
            return hc_fail(HC_INVALID, "%s: \"%s\" is %s where this run has %s", path,
                           tensors[i].name, shape_text(&row->tensor, held),
                           shape_text(&tensors[i].tensor, own));
        content[i] = &row->tensor;
    }
    return check_complete(path, tensors, count, content);
}

enum hc_status hc_checkpoint_read(const char *path, const char *identity,
                                  struct hc_named_tensor *tensors, int count)
{
    struct hc_tensor_file file;
    const struct hc_tensor **content = calloc((size_t)count + 1, sizeof *content);
    if (!content)
        return hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    enum hc_status status = hc_checkpoint_open(&file, path);
    if (status == HC_OK)
        status = check_ranks(path, hc_checkpoint_identity(&file), identity);
    if (status == HC_OK)
        status = check_identity(path, hc_checkpoint_identity(&file), identity);
    if (status == HC_OK)
        status = find_content(path, &file, tensors, count, content);
    for (int i = 0; i < count && status == HC_OK; i++) {
        assert(content[i] != NULL);
        memcpy(tensors[i].tensor.data, content[i]->data, hc_tensor_bytes(content[i]));
    }
    hc_tensor_file_close(&file);
    free((void *)content);
    return status;
}
