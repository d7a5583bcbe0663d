/* Parameters whose identity outlives their storage, as torch's Parameter and its .data: a
   conversion gives the parameter new storage, and whoever still holds the old one sees values that
   nobody uses any more (fast.ai forum, "I think to_fp16 behaves in a weird way internally"). */
#ifndef HC_TRAIN_NET_PARAMETER_H
#define HC_TRAIN_NET_PARAMETER_H

#include "train/net/device.h"

/* Numbers in the backend's memory, counted references. A view lies inside another storage, its
   arena, and keeps it alive. */
struct hc_storage {
    struct hc_device *device;
    int references;
    enum hc_format format;
    int64_t count;
    void *data;
    struct hc_storage *arena; /* NULL: owns data */
};

/* One reference, held by the caller; zeroed. NULL with a line when there is no memory. */
struct hc_storage *hc_storage_new(struct hc_device *device, enum hc_format format, int64_t count);
struct hc_storage *hc_storage_view(struct hc_storage *arena, int64_t offset, int64_t count);

struct hc_storage *hc_storage_hold(struct hc_storage *storage);
void hc_storage_drop(struct hc_storage *storage); /* NULL is fine */

/* The whole of it as a vector in the backend's memory. */
struct hc_tensor hc_storage_tensor(const struct hc_storage *storage);

/* One number of an fp32 storage, as a scalar in the backend's memory. */
static inline struct hc_tensor hc_storage_element(const struct hc_storage *storage, int64_t index)
{
    return hc_tensor1(HC_FP32, 1, (float *)storage->data + index);
}

/* Between the storage and host memory: count elements of its format. */
enum hc_status hc_storage_read(const struct hc_storage *storage, void *to);
enum hc_status hc_storage_write(const struct hc_storage *storage, const void *from);

/* What a parameter is for; recipes give each role its format and its decay. */
enum hc_role {
    HC_ROLE_WEIGHT,   /* convolution and linear weights */
    HC_ROLE_BIAS,     /* of linear layers */
    HC_ROLE_NORM,     /* batch norm's gamma and beta */
    HC_ROLE_STATISTIC /* batch norm's running mean and variance: no gradient, no optimizer */
};

struct hc_parameter {
    char name[40];
    enum hc_role role;
    int layer; /* of its network's that have parameters, from 0 on */
    int rank;
    int64_t shape[HC_MAX_RANK];
    struct hc_device *device;
    struct hc_storage *storage; /* one reference, the parameter's own */
};

/* Zeros of that name, role and format, of layer 0; shape is as->shape (as->data is not looked at).
   */
enum hc_status hc_parameter_open(struct hc_parameter *parameter, struct hc_device *device,
                                 const char *name, enum hc_role role, const struct hc_tensor *as);
void hc_parameter_close(struct hc_parameter *parameter);

int64_t hc_parameter_count(const struct hc_parameter *parameter);

/* Its present values, in the backend's memory; good until the storage is replaced. */
struct hc_tensor hc_parameter_tensor(const struct hc_parameter *parameter);

/* New storage in the format, the values rounded to nearest by the backend's cast; the reference to
   the old storage is dropped. As with torch, nothing happens when it has that format already. */
enum hc_status hc_parameter_to(struct hc_parameter *parameter, enum hc_format format);

/* Gives the parameter this storage of as many elements, its values cast into it, and takes over the
   caller's reference, also when that fails. NULL: HC_NO_MEMORY. */
enum hc_status hc_parameter_place(struct hc_parameter *parameter, struct hc_storage *fresh);

/* Moves the parameters, all of one format, into one new arena in their order, values kept:
   identities stay, storages are replaced. The caller holds one reference to *arena. */
enum hc_status hc_parameter_flatten(struct hc_parameter *const *parameters, int n,
                                    struct hc_storage **arena);

#endif
