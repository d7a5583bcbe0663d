/* The numbers of a run's state that are no tensors, in one list for all files that keep them. */
#ifndef HC_TRAIN_RUN_STATE_H
#define HC_TRAIN_RUN_STATE_H

#include <stddef.h>

#include "op/tensor.h"
#include "tensor_file/tensor_file.h"
#include "train/net/device.h"
#include "train/net/net.h"
#include "train/net/torch_names.h"
#include "train/update/update.h"

/* Tensors and texts that are gathered for a file of safetensors. What lies in a backend's memory is
   downloaded at once, since the next op may overwrite it, and images and filters get PyTorch's
   layout. After a failure nothing more is added, and hc_tensor_list_write returns it. */

struct hc_tensor_list {
    int count;
    struct hc_named_tensor *tensors; /* with names and data of the list's own */
    int texts;
    struct hc_metadata *metadata;
    enum hc_status status;
};

/* All zero is an empty list. Ends it also after a failure. */
void hc_tensor_list_end(struct hc_tensor_list *list);

/* Adds a copy of a tensor in the device's memory, under the name "PREFIX" "NAME". One without data
   adds nothing. */
void hc_tensor_list_add(struct hc_tensor_list *list, const struct hc_device *device,
                        const char *prefix, const char *name, const struct hc_tensor *t);

/* Adds a copy of a tensor in host memory, as it lies there. */
void hc_tensor_list_copy(struct hc_tensor_list *list, const char *prefix, const char *name,
                         const struct hc_tensor *t);

/* Adds "key": the text that the format makes. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_tensor_list_text(struct hc_tensor_list *list, const char *key, const char *format, ...);

enum hc_status hc_tensor_list_write(const struct hc_tensor_list *list, const char *path);

/* Uploads a tensor of a file, which has the format and PyTorch's shape of `to`. */
enum hc_status hc_torch_upload(const struct hc_device *device, const struct hc_tensor *from,
                               const struct hc_tensor *to);

/* The shape that PyTorch has a tensor in: NCHW for rank 4. */
struct hc_tensor hc_torch_shape(struct hc_tensor t);

/* A number of struct hc_counters, which files keep as a tensor of the shape []. */
struct hc_counter_field {
    const char *name;
    enum hc_format format;
    size_t offset;
};

enum { HC_COUNTER_FIELDS = 9 };
extern const struct hc_counter_field hc_counter_fields[HC_COUNTER_FIELDS];

/* The tensor that the field is, within a struct hc_counters. */
struct hc_tensor hc_counter_tensor(const struct hc_counter_field *field, void *counters);

/* `count` numbers of struct hc_run_totals one behind the other, integers or floating point, each of
   4 or 8 bytes. Checkpoints keep them packed, field by field and little-endian, however the
   compiler and the machine lay them out in memory. */
struct hc_state_field {
    size_t offset;
    size_t bytes; /* of one number */
    size_t count;
};

/* Ends with a count of 0. */
extern const struct hc_state_field hc_run_totals_fields[];

/* Bytes that the fields take in the file. */
size_t hc_state_bytes(const struct hc_state_field *fields);

/* Write the fields of a struct into bytes, and read them back. */
void hc_state_pack(const struct hc_state_field *fields, const void *from, unsigned char *to);
void hc_state_unpack(const struct hc_state_field *fields, const unsigned char *from, void *to);

/* All tensors of a run that its steps change, under the names that step files and checkpoints have
   for them: weights.P, masters.P, buffers.P, optimizer.exp_avg.P, quant.forward.scale and so on
   (docs/step-files.md; P is PyTorch's name of the parameter). */

enum {
    HC_STATE_NAME = HC_TORCH_NAME + 32,
    HC_MAX_STATE_ROWS = 3 * HC_MAX_LAYERS * HC_STATE_COUNT + 2 * HC_MAX_LAYERS + HC_QUANT_STATES
};

struct hc_state_row {
    char name[HC_STATE_NAME];
    struct hc_tensor tensor; /* in the backend's memory, in the layout of the net */
};

struct hc_state_rows {
    int count;
    struct hc_state_row row[HC_MAX_STATE_ROWS];
};

/* What stands before the parameter's name: "weights.", or "optimizer.exp_avg." */
const char *hc_state_prefix(const struct hc_recipe *recipe, enum hc_state_tensor state);

/* Lists what is kept; NULL with a line if there is no memory. The caller frees it. */
struct hc_state_rows *hc_state_list(const struct hc_net *net, const struct hc_update *update);

#endif
