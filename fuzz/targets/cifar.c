/* CIFAR-10's files: the bytes are batches.meta.txt up to the first byte 0, and then the first batch,
   of ten records; the other batches are right. */
#include "train/data/cifar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { RECORDS = 10, RECORD = 3073 };

static char folder[] = "/tmp/halfcheck-fuzz-XXXXXX";

static void put(const char *name, const void *data, size_t size)
{
    char path[sizeof folder + 32];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file) {
        (void)fwrite(data, 1, size, file);
        (void)fclose(file);
    }
}

static void remove_folder(void)
{
    char path[sizeof folder + 32];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(path, sizeof path, i ? "%s/data_batch_%d.bin" : "%s/test_batch.bin", folder,
                       i);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/batches.meta.txt", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

static bool make_folder(void)
{
    static uint8_t batch[RECORDS * RECORD];
    static bool made;
    if (made)
        return true;
    if (!mkdtemp(folder))
        return false;
    for (int i = 0; i < RECORDS; i++)
        batch[i * RECORD] = (uint8_t)i;
    for (int i = 1; i <= 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "data_batch_%d.bin", i);
        put(name, batch, sizeof batch);
    }
    put("test_batch.bin", batch, sizeof batch);
    (void)atexit(remove_folder);
    made = true;
    return true;
}

static void fuzz_cifar(const uint8_t *data, size_t size)
{
    static const int label[HC_CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct hc_images train = {0};
    struct hc_images test = {0};
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t names = zero ? (size_t)(zero - data) : size;
    if (!make_folder())
        return;
    put("batches.meta.txt", data, names);
    if (zero)
        put("data_batch_1.bin", zero + 1, size - names - 1);
    (void)hc_cifar_read(folder, RECORDS, label, &train, &test);
    hc_images_close(&train);
    hc_images_close(&test);
}

const struct hc_fuzz_target hc_fuzz_cifar = {"cifar", fuzz_cifar};
