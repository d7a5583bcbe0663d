/* Tensors and texts that are gathered for a file of safetensors. What lies in a backend's memory is
   downloaded at once, since the next op may overwrite it, and images and filters get PyTorch's
   layout. After a failure nothing more is added, and hc_tensor_list_write returns it. */
#ifndef HC_TRAIN_RUN_TENSOR_LIST_H
#define HC_TRAIN_RUN_TENSOR_LIST_H

#include "tensor_file/tensor_file.h"
#include "train/net/device.h"

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

#endif
