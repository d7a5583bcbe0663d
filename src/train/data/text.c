/* Text to train on. A file is taken byte by byte; where none is given a text is made whose entropy
   is known, so that a training can be seen to come near it, and never below. */
#include "train/data/data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "num/rng.h"

enum {
    MADE = 1 << 20,
    LEAST = 1 << 12, /* a tenth has room for a few pieces */
    WORDS = 64,
    FOLLOWERS = 4,
    LONGEST = 7,    /* letters of a word */
    TRAINED = 1600, /* pieces of an epoch: 100 steps of 16 */
    TESTED = 320,
    BYTES = 256
};
#define MOST_BYTES ((int64_t)1 << 30)

/* Word w has 2 to 7 letters, and any of four words behind it. */
struct word {
    int letters;
    uint8_t letter[LONGEST];
    int next[FOLLOWERS];
};

void hc_text_make(uint64_t seed, int64_t bytes, uint8_t *to)
{
    struct word words[WORDS];
    for (uint64_t w = 0; w < WORDS; w++) {
        words[w].letters = 2 + (int)(hc_splitmix(11, w) % 6);
        for (uint64_t j = 0; j < LONGEST; j++)
            words[w].letter[j] = (uint8_t)('a' + hc_splitmix(12, 8 * w + j) % 26);
        for (uint64_t k = 0; k < FOLLOWERS; k++)
            words[w].next[k] = (int)(hc_splitmix(13, FOLLOWERS * w + k) % WORDS);
    }
    int word = 0;
    int64_t n = 0;
    for (uint64_t i = 0; n < bytes; i++) {
        for (int j = 0; j < words[word].letters && n < bytes; j++)
            to[n++] = words[word].letter[j];
        if (n < bytes)
            to[n++] = ' ';
        word = words[word].next[hc_splitmix(seed, i) >> 62];
    }
}

/* Nats a byte, where the one before is known. */
static double entropy_of_pairs(const uint8_t *byte, int64_t n)
{
    static int64_t pair[BYTES][BYTES];
    double nats = 0;
    memset(pair, 0, sizeof pair);
    for (int64_t i = 1; i < n; i++)
        pair[byte[i - 1]][byte[i]]++;
    for (int a = 0; a < BYTES; a++) {
        double all = 0;
        for (int b = 0; b < BYTES; b++)
            all += (double)pair[a][b];
        for (int b = 0; b < BYTES; b++)
            nats -= pair[a][b] ? (double)pair[a][b] * log((double)pair[a][b] / all) : 0;
    }
    return nats / (double)(n - 1);
}

/* A text has an end: a folder or a pipe is none. */
static enum hc_status read_file(const char *path, struct hc_text *text)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file)
        return hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    enum hc_status status = HC_OK;
    bool is_file = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    text->bytes = is_file ? (int64_t)about.st_size : 0;
    bool fits = text->bytes >= LEAST && text->bytes <= MOST_BYTES;
    text->byte = fits ? malloc((size_t)text->bytes) : NULL;
    if (!is_file)
        status = hc_fail(HC_INVALID, "%s: is no file of text", path);
    else if (!fits)
        status = hc_fail(HC_INVALID, "%s: has %lld bytes; a text to train on has %d to 2^30", path,
                         (long long)text->bytes, LEAST);
    else if (!text->byte)
        status = hc_fail(HC_NO_MEMORY, "no memory for %lld bytes of text", (long long)text->bytes);
    else if (fread(text->byte, 1, (size_t)text->bytes, file) != (size_t)text->bytes)
        status = hc_fail(HC_IO, "%s: it cannot be read to its end", path);
    (void)fclose(file);
    return status;
}

enum hc_status hc_text_open(const struct hc_data_options *options, struct hc_dataset *set)
{
    struct hc_text *text = &set->text;
    enum hc_status status = HC_OK;
    if (options->directory) {
        status = read_file(options->directory, text);
        (void)snprintf(set->origin, sizeof set->origin, "the text %s", options->directory);
    } else {
        text->bytes = MADE;
        text->byte = malloc(MADE);
        if (!text->byte)
            return hc_fail(HC_NO_MEMORY, "no memory for a made text");
        hc_text_make(options->seed, MADE, text->byte);
        (void)snprintf(set->origin, sizeof set->origin,
                       "a MADE text (seed %llu) of 64 words, 0.2604 nats a byte: no --data was "
                       "given",
                       (unsigned long long)options->seed);
    }
    if (status != HC_OK)
        return status;
    text->trained = text->bytes / 10 * 9;
    text->pairs = entropy_of_pairs(text->byte, text->trained);
    set->train.count = TRAINED;
    set->test.count = TESTED;
    return HC_OK;
}

const uint8_t *hc_text_piece(const struct hc_text *text, bool train, uint64_t seed, int64_t i,
                             int64_t length)
{
    const uint8_t *from = train ? text->byte : text->byte + text->trained;
    int64_t bytes = train ? text->trained : text->bytes - text->trained;
    uint64_t places = (uint64_t)(bytes - length);
    return from + hc_splitmix(7919 * seed + !train, (uint64_t)i) % places;
}
