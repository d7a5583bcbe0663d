/* Runs the targets over the files of a corpus, without libFuzzer:

     fuzz-replay CORPUS [MUTATIONS]

   CORPUS has a folder for each target. Each file is given to its target as it is, and then so many
   times with a few bytes changed, cut out or doubled (always the same ones: the generator's seed is
   the file's number). A crash ends the program; the name of the file stands above it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/json.h"
#include "fuzz.h"
#include "num/rng.h"

enum { LARGEST = 1 << 16 };

static FILE *notes; /* standard error, while the parsers' own lines are dropped */

static size_t load(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(data, 1, LARGEST, file) : 0;
    if (file)
        (void)fclose(file);
    return size;
}

/* Changes a few bytes; returns the new size. */
static size_t mutate(uint8_t *data, size_t size, uint64_t seed, uint64_t round)
{
    int changes = 1 + (int)(hc_random(seed, round, 0) % 4);
    for (int c = 0; c < changes && size > 0; c++) {
        uint64_t draw = hc_random(seed, round, (uint64_t)c + 1);
        size_t at = (size_t)(draw >> 16) % size;
        size_t length = 1 + (size_t)(draw >> 8 & 0xff) % (size - at);
        switch (draw & 3) {
        case 0:
            data[at] = (uint8_t)(draw >> 40);
            break;
        case 1:
            data[at] ^= (uint8_t)(1u << (draw >> 40 & 7));
            break;
        case 2: /* cut a piece out */
            memmove(data + at, data + at + length, size - at - length);
            size -= length;
            break;
        default: /* double a piece */
            if (size + length <= LARGEST) {
                memmove(data + at + length, data + at, size - at);
                size += length;
            }
        }
    }
    return size;
}

static int replay(const struct hc_fuzz_target *target, const char *folder, long mutations)
{
    static uint8_t data[LARGEST];
    static uint8_t changed[LARGEST];
    char path[4096];
    int files = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, target->name);
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s/%s", folder, target->name, entry->d_name);
        size_t size = load(path, data);
        (void)fprintf(notes, "%s\n", path);
        target->run(data, size);
        for (long m = 0; m < mutations; m++) {
            memcpy(changed, data, size);
            target->run(changed, mutate(changed, size, (uint64_t)files, (uint64_t)m));
        }
        files++;
    }
    if (directory)
        (void)closedir(directory);
    return files;
}

int main(int argc, char **argv)
{
    long mutations = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    int without = 0;
    if (argc < 2) {
        (void)fprintf(stderr, "usage: fuzz-replay CORPUS [MUTATIONS]\n");
        return 2;
    }
    hc_json_watch(malloc);
    notes = fdopen(dup(2), "w");
    if (!notes || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
        return 2;
    (void)setvbuf(notes, NULL, _IOLBF, 0);
    for (int i = 0; hc_fuzz_at(i); i++) {
        int files = replay(hc_fuzz_at(i), argv[1], mutations);
        (void)fprintf(notes, "%s: %d files\n", hc_fuzz_at(i)->name, files);
        without += files == 0;
    }
    return without ? 1 : 0;
}
