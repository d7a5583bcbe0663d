/* For the tests of files: bytes that are written to a file, and what becomes of reading it. */
#ifndef HC_TENSOR_FILE_TESTING_H
#define HC_TENSOR_FILE_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor_file/tensor_file.h"

static char folder[] = "/tmp/halfcheck-tensors-XXXXXX";

static inline void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static inline void unmake(void)
{
    char command[80];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)system(command); /* NOLINT(cert-env33-c): the test's own folder */
}

static inline void put(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* safetensors: the header's length, the header and the data. */
static inline size_t safetensors(unsigned char *bytes, const char *header, const void *data,
                                 size_t size)
{
    size_t length = strlen(header);
    memset(bytes, 0, 8);
    bytes[0] = (unsigned char)length;
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, data, size);
    return 8 + length + size;
}

/* .npy of version 1; the header is padded with blanks to 128 bytes in all. */
static inline size_t npy(unsigned char *bytes, const char *header, const void *data, size_t size)
{
    memcpy(bytes, "\x93NUMPY\1\0\x76\0", 10);
    memset(bytes + 10, ' ', 118);
    memcpy(bytes + 10, header, strlen(header));
    bytes[127] = '\n';
    memcpy(bytes + 128, data, size);
    return 128 + size;
}

static inline void read_as(struct hc_tensor_file *file, const void *bytes, size_t size)
{
    put("file", bytes, size);
    cr_assert_eq(hc_tensor_file_read(file, "file"), HC_OK, "%s", hc_message());
}

/* The file is refused with "file: LINE". */
static inline void refused(const void *bytes, size_t size, const char *line)
{
    struct hc_tensor_file file;
    put("file", bytes, size);
    cr_expect_eq(hc_tensor_file_read(&file, "file"), HC_INVALID, "accepted: %s", line);
    cr_expect_eq(strncmp(hc_message(), "file: ", 6), 0);
    cr_expect_str_eq(hc_message() + 6, line);
    hc_tensor_file_close(&file);
}

#endif
