/* The inside of the readers. */
#ifndef HC_TENSOR_FILE_INNER_H
#define HC_TENSOR_FILE_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor_file/tensor_file.h"

/* A file that is being read, and what was read of it so far. */
struct hc_tensor_source {
    const char *path;
    int handle;
    uint64_t size;
    struct hc_tensor_file *file;
};

/* How the elements of a file become those of a format. */
enum hc_stored {
    HC_STORED_AS_IS,
    HC_STORED_I64, /* becomes i32 if all values fit */
    HC_STORED_BOOL /* one byte, 0 or 1 */
};

/* A type of elements by its name in a file. */
struct hc_stored_type {
    const char *name;
    enum hc_format format;
    enum hc_stored stored;
    int bytes;
};

/* HC_INVALID with the line "PATH: ...". */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
enum hc_status
hc_tensor_refuse(const struct hc_tensor_source *source, const char *format, ...);

/* Memory that lives as long as the file, aligned to 64; NULL with HC_NO_MEMORY's line. */
void *hc_tensor_memory(struct hc_tensor_source *source, size_t bytes);
const char *hc_tensor_text(struct hc_tensor_source *source, const char *text);

/* Reads `bytes` bytes that the caller knows to be in the file; HC_IO if they are not any more. */
enum hc_status hc_tensor_fetch(const struct hc_tensor_source *source, uint64_t at, void *to,
                               size_t bytes);

/* The number of elements; false if it is beyond what can be counted. Zeros in the shape hide no
   overflow of the other extents. */
bool hc_tensor_elements(const int64_t *shape, int rank, int64_t *count);

/* Reads the elements of a tensor whose shape is set and whose bytes are in the file, and sets its
   format and data. With `turned` the bytes of each element are in the other order. An i64 that does
   not fit, or a bool that is neither 0 nor 1, sets *unread and is no failure. */
enum hc_status hc_tensor_elements_read(struct hc_tensor_source *source,
                                       const struct hc_stored_type *type, uint64_t at, bool turned,
                                       struct hc_tensor *tensor, const char **unread);

/* The two kinds of files. `size` and the first bytes are known to fit. */
enum hc_status hc_npy_read(struct hc_tensor_source *source);
enum hc_status hc_safetensors_read(struct hc_tensor_source *source);

#endif
