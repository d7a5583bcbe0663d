/* Tensors in files: numpy's .npy and .npz, and safetensors. Others write what halfcheck judges, and
   open what it writes.

   A reader believes nothing: every size is checked against the file's before it is used, and a file
   that is cut, hostile or of an unknown type is refused in one line. Names come from the file, and
   may be any bytes: whoever prints one uses op/text.h. */
#ifndef HC_TENSOR_FILE_TENSOR_FILE_H
#define HC_TENSOR_FILE_TENSOR_FILE_H

#include <stdbool.h>

#include "op/layout.h"
#include "op/status.h"
#include "op/tensor.h"

struct hc_named_tensor {
    const char *name; /* "" in a .npy file */
    struct hc_tensor tensor;
    const char *unread; /* why there is no data: "its type is C64"; NULL if there is */
};

struct hc_metadata {
    const char *key;
    const char *value;
};

/* What a file holds, in the order of its header. Data are aligned to 64, also those of empty
   tensors. i64 whose values all fit is i32, bool is u8. A tensor of safetensors that halfcheck
   cannot hold (another type, or a rank above HC_MAX_RANK) is listed with data == NULL. */
struct hc_tensor_file {
    int count;
    struct hc_named_tensor *tensors;
    int metadata_count;
    struct hc_metadata *metadata; /* of safetensors: "__metadata__" */
    struct hc_tensor_blocks *owned;
};

/* Reads the whole file; which kind it is its first bytes say. Fortran order becomes row-major, and
   big-endian numbers of .npy are turned. HC_IO if it cannot be read; HC_INVALID, with a line that
   names the file and what is wrong with it; HC_NO_MEMORY. Close it in any case. */
enum hc_status hc_tensor_file_read(struct hc_tensor_file *file, const char *path);
void hc_tensor_file_close(struct hc_tensor_file *file);

/* The tensor of that name with data, or NULL; and the value of a key, or NULL. */
const struct hc_tensor *hc_tensor_file_find(const struct hc_tensor_file *file, const char *name);
const char *hc_tensor_file_metadata(const struct hc_tensor_file *file, const char *key);

/* Replaces the file in one step (op/output.h) by safetensors of these tensors; the same bytes for
   the same tensors. The header lists them in this order. The data, which may have no holes between
   them, begin at a multiple of 64 and follow by falling size of an element, so that each tensor is
   aligned to its elements. Names are different and none is "__metadata__". HC_IO, HC_NO_MEMORY, or
   HC_INVALID for a name or a value that is no UTF-8. */
enum hc_status hc_safetensors_write(const char *path, const struct hc_named_tensor *tensors,
                                    int count, const struct hc_metadata *metadata,
                                    int metadata_count);

/* Whether safetensors have a name for the format. */
bool hc_safetensors_has(enum hc_format format);

/* Replaces the file in one step by an .npz of these tensors, whose names are different: what
   numpy.load gives by name. The same bytes for the same tensors. HC_IO, HC_NO_MEMORY, or HC_INVALID
   for a tensor of a format that it does not have, a name of more than 500 bytes, or 4 GiB. */
enum hc_status hc_npz_write(const char *path, const struct hc_named_tensor *tensors, int count);

/* Whether numpy's files have a name for the format: fp64, fp32, fp16, i32 and u8. */
bool hc_npz_has(enum hc_format format);

#endif
