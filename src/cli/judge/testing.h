/* Files of tensors, and what judge prints of them, in tests. */
#ifndef HC_CLI_JUDGE_TESTING_H
#define HC_CLI_JUDGE_TESTING_H

#include <stdlib.h>

#include "cli/testing.h"
#include "op/tensor.h"

/* Zeros for the tensor. */
static inline void *memory(const struct hc_tensor *t)
{
    void *data = aligned_alloc(64, (hc_tensor_bytes(t) + 64) / 64 * 64);
    cr_assert_not_null(data);
    return memset(data, 0, hc_tensor_bytes(t));
}

/* Version 1 of .npy, its header padded with blanks. */
static inline void write_npy(const char *path, const char *descr, const char *shape,
                             const void *data, size_t bytes)
{
    unsigned char file[512];
    memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
    memset(file + 10, ' ', 118);
    int length = snprintf((char *)file + 10, 118,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    file[10 + length] = ' ';
    memcpy(file + 128, data, bytes);
    FILE *out = fopen(path, "wb");
    cr_assert(out && fwrite(file, 1, 128 + bytes, out) == 128 + bytes && fclose(out) == 0);
}

/* Runs the line, which ends with the status and prints each of the texts; NULL ends them. */
static inline void prints(const char *line, int status, const char *const *texts)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %d\n%s%s", line, ran->status, ran->out, ran->err);
    for (; *texts; texts++)
        cr_expect_not_null(strstr(ran->out, *texts), "%s: '%s' in\n%s", line, *texts, ran->out);
}

#endif
