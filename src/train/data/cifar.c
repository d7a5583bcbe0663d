#include "train/data/cifar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PLANE  (HC_IMAGE_SIDE * HC_IMAGE_SIDE)
#define RECORD (1 + HC_IMAGE_BYTES)

const char *const hc_cifar_names[HC_CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                "dog",      "frog",       "horse", "ship", "truck"};

struct file {
    char path[4096];
    FILE *stream;
    long long bytes;
};

/* One of the two sets while it is read. */
struct part {
    struct hc_images *images;
    const int *label;
    int64_t share; /* of each class */
    int64_t seen[HC_CLASSES];
};

static enum hc_status open_file(const char *directory, const char *name, struct file *file)
{
    struct stat facts;
    file->stream = NULL;
    int length = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof file->path)
        return hc_fail(HC_INVALID, "the name of the data folder is too long");
    if (stat(file->path, &facts) != 0)
        return hc_fail(HC_IO, "%s: %s", file->path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return hc_fail(HC_INVALID, "%s: not a file", file->path);
    file->bytes = (long long)facts.st_size;
    file->stream = fopen(file->path, "rb");
    if (file->stream == NULL)
        return hc_fail(HC_IO, "%s: %s", file->path, strerror(errno));
    return HC_OK;
}

static void close_file(struct file *file)
{
    if (file->stream != NULL)
        (void)fclose(file->stream);
    file->stream = NULL;
}

static enum hc_status check_names(const char *directory)
{
    struct file file;
    enum hc_status status = open_file(directory, "batches.meta.txt", &file);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < HC_CLASSES && status == HC_OK; i++) {
        char line[64] = "";
        if (fgets(line, sizeof line, file.stream) == NULL && ferror(file.stream))
            status = hc_fail(HC_IO, "%s: %s", file.path, strerror(errno));
        line[strcspn(line, "\r\n")] = '\0';
        if (status == HC_OK && strcmp(line, hc_cifar_names[i]) != 0)
            status = hc_fail(HC_INVALID, "%s: line %d is \"%.40s\" where CIFAR-10 has \"%s\"",
                             file.path, i + 1, line, hc_cifar_names[i]);
    }
    close_file(&file);
    return status;
}

static enum hc_status keep_record(struct part *part, const struct file *file, int index,
                                  const uint8_t record[RECORD])
{
    int class = record[0];
    if (class >= HC_CLASSES)
        return hc_fail(HC_INVALID, "%s: record %d has label %d, labels are 0 to %d", file->path,
                       index, class, HC_CLASSES - 1);
    if (++part->seen[class] > part->share)
        return hc_fail(HC_INVALID, "%s: record %d is one \"%s\" too many, CIFAR-10 has %lld",
                       file->path, index, hc_cifar_names[class], (long long)part->share);
    if (part->label[class] < 0)
        return HC_OK;
    struct hc_images *images = part->images;
    uint8_t *pixels = images->pixels + images->count * HC_IMAGE_BYTES;
    images->labels[images->count++] = part->label[class];
    for (int i = 0; i < PLANE; i++)
        for (int c = 0; c < HC_IMAGE_CHANNELS; c++)
            pixels[HC_IMAGE_CHANNELS * i + c] = record[1 + PLANE * c + i];
    return HC_OK;
}

static enum hc_status read_file(const char *directory, const char *name, int records,
                                struct part *part)
{
    struct file file;
    enum hc_status status = open_file(directory, name, &file);
    if (status != HC_OK)
        return status;
    long long want = (long long)records * RECORD;
    if (file.bytes != want)
        status = hc_fail(HC_INVALID, "%s: %s, %lld bytes where %d records of %d take %lld",
                         file.path, file.bytes < want ? "truncated" : "too large", file.bytes,
                         records, RECORD, want);
    for (int i = 0; i < records && status == HC_OK; i++) {
        uint8_t record[RECORD];
        if (fread(record, 1, sizeof record, file.stream) != sizeof record)
            status = hc_fail(HC_IO, "%s: %s", file.path,
                             ferror(file.stream) ? strerror(errno) : "ends too early");
        else
            status = keep_record(part, &file, i, record);
    }
    close_file(&file);
    return status;
}

static enum hc_status start_part(struct part *part, const int *label, int64_t share,
                                 struct hc_images *images)
{
    int classes = 0;
    for (int i = 0; i < HC_CLASSES; i++)
        classes += label[i] >= 0;
    *part = (struct part){.images = images, .label = label, .share = share};
    enum hc_status status = hc_images_open(images, classes * share);
    images->count = 0;
    return status;
}

enum hc_status hc_cifar_read(const char *directory, int records, const int label[HC_CLASSES],
                             struct hc_images *train, struct hc_images *test)
{
    static const char *const train_files[] = {"data_batch_1.bin", "data_batch_2.bin",
                                              "data_batch_3.bin", "data_batch_4.bin",
                                              "data_batch_5.bin"};
    struct part training;
    struct part testing;
    enum hc_status status = check_names(directory);
    if (status == HC_OK)
        status = start_part(&training, label, 5 * (int64_t)records / HC_CLASSES, train);
    if (status == HC_OK)
        status = start_part(&testing, label, records / HC_CLASSES, test);
    for (int i = 0; i < 5 && status == HC_OK; i++)
        status = read_file(directory, train_files[i], records, &training);
    if (status == HC_OK)
        status = read_file(directory, "test_batch.bin", records, &testing);
    return status;
}
