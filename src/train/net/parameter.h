/* Parameters whose identity outlives their storage, like torch's Parameter and its .data. A
   conversion gives the parameter new storage. Whoever still holds the old storage sees values that
   nobody uses any more (fast.ai forum, "I think to_fp16 behaves in a weird way internally"). */
#ifndef HC_TRAIN_NET_PARAMETER_H
#define HC_TRAIN_NET_PARAMETER_H

#include "train/net/device.h"

/* Numbers in the backend's memory, with a count of references. A view lies inside another storage,
   its arena, and keeps it alive. */
struct hc_storage {
    struct hc_device *device;
    int references;
    enum hc_format format;
    int64_t count;
    void *data;
    struct hc_storage *arena; /* NULL: owns data */
};

/* Zeros, with one reference that the caller holds. NULL with a line if there is no memory. */
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

/* These copy between the storage and host memory: count elements of its format. */
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

/* Opens a parameter of zeros in layer 0, with the format and shape of `as`, whose data is not read.
 */
enum hc_status hc_parameter_open(struct hc_parameter *parameter, struct hc_device *device,
                                 const char *name, enum hc_role role, const struct hc_tensor *as);
void hc_parameter_close(struct hc_parameter *parameter);

int64_t hc_parameter_count(const struct hc_parameter *parameter);

/* Its present values in the backend's memory, valid until the storage is replaced. */
struct hc_tensor hc_parameter_tensor(const struct hc_parameter *parameter);

/* Gives it new storage in the format, with the values rounded to nearest by the backend's cast, and
   drops the reference to the old storage. As with torch, nothing happens if it has that format. */
enum hc_status hc_parameter_to(struct hc_parameter *parameter, enum hc_format format);

/* Gives the parameter this storage of as many elements, casts its values into it, and takes over
   the caller's reference, also if that fails. HC_NO_MEMORY if `fresh` is NULL. */
enum hc_status hc_parameter_place(struct hc_parameter *parameter, struct hc_storage *fresh);

/* Moves the parameters, all of one format, into one new arena in their order, values kept:
   identities stay, storages are replaced. The caller holds one reference to *arena. */
enum hc_status hc_parameter_flatten(struct hc_parameter *const *parameters, int n,
                                    struct hc_storage **arena);

#endif
