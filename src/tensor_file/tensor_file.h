/* Tensors in files: numpy's .npy and safetensors. Others write what halfcheck judges, and open what
   it writes.

   A reader believes nothing: every size is checked against the file's before it is used, and a file
   that is cut, hostile or of an unknown type is refused in one line. Names come from the file, and
   may be any bytes: whoever prints one uses op/text.h. */
#ifndef HC_TENSOR_FILE_TENSOR_FILE_H
#define HC_TENSOR_FILE_TENSOR_FILE_H

#include "op/status.h"
#include "op/tensor.h"

struct hc_named_tensor {
    const char *name; /* "" in a .npy file */
    struct hc_tensor tensor;
};

struct hc_metadata {
    const char *key;
    const char *value;
};

/* What a file holds. Tensors of types without a format of halfcheck (bool, i64) are listed, too,
   with data == NULL; i64 whose values all fit becomes i32. */
struct hc_tensor_file {
    int count;
    struct hc_named_tensor *tensors;
    int metadata_count;
    struct hc_metadata *metadata; /* of safetensors: "__metadata__" */
    void *owned;
};

/* Reads the whole file; which kind it is its first bytes say. A rank above HC_MAX_RANK is refused,
   and Fortran order becomes row-major. HC_IO if it cannot be read; HC_INVALID, with a line that
   names the file and what is wrong with it. Close it in any case. */
enum hc_status hc_tensor_file_read(struct hc_tensor_file *file, const char *path);
void hc_tensor_file_close(struct hc_tensor_file *file);

/* The tensor of that name, or NULL; and the value of a key, or NULL. */
const struct hc_tensor *hc_tensor_file_find(const struct hc_tensor_file *file, const char *name);
const char *hc_tensor_file_metadata(const struct hc_tensor_file *file, const char *key);

/* Replaces the file in one step (op/output.h) by safetensors of these tensors, in this order, each
   aligned to 64 bytes; the same bytes for the same tensors. HC_IO or HC_NO_MEMORY. */
enum hc_status hc_safetensors_write(const char *path, const struct hc_named_tensor *tensors,
                                    int count, const struct hc_metadata *metadata,
                                    int metadata_count);

/* Image layouts. halfcheck's own is NHWC (filters KRSC); PyTorch's is NCHW (filters KCRS). Copies a
   tensor of rank 4 from one to the other, element by element; `to` has the permuted shape and its
   own memory. */
void hc_tensor_to_nchw(const struct hc_tensor *nhwc, struct hc_tensor *to);
void hc_tensor_to_nhwc(const struct hc_tensor *nchw, struct hc_tensor *to);

#endif
