/* A few parameters under a recipe, with the trainer's update path, on the backend under test. */
#ifndef HC_CASES_RIG_H
#define HC_CASES_RIG_H

#include "case.h"

enum { HC_RIG_MOST = 8 };

/* After a failure (`failed`; the verdict is set) every function returns at once and every value is
   NaN. */
struct hc_rig {
    struct hc_check *check;
    struct hc_device device;
    struct hc_parameter parameter[HC_RIG_MOST];
    struct hc_parameter *list[HC_RIG_MOST];
    int n;
    struct hc_update *update;
    bool failed;
};

void hc_rig_open(struct hc_rig *rig, struct hc_check *check);
void hc_rig_close(struct hc_rig *rig);

/* One more parameter, fp32, every element with that value; its index. Not after the start. */
int hc_rig_add(struct hc_rig *rig, const char *name, enum hc_role role, int64_t count,
               double value);

/* Parameters of a network of four layers, each of a weight (2 i) and of a norm (2 i + 1; in the last
   layer a bias), with random values about 0.5; and random gradients about 0 of that size for all. */
enum { HC_RIG_LAYERS = 4 };

void hc_rig_layers(struct hc_rig *rig);
void hc_rig_random_gradients(struct hc_rig *rig, uint64_t step, double size);

/* Overwrites one element of a parameter; rounds to nearest. */
void hc_rig_set(struct hc_rig *rig, int i, int64_t index, double value);

/* Opens the update over all parameters: the recipe converts them and makes the masters. A second
   start gives up the first update and opens another over the parameters as they are. */
void hc_rig_start(struct hc_rig *rig, const struct hc_recipe *recipe);

/* Zeros after a failure. */
struct hc_counters hc_rig_counters(struct hc_rig *rig);

/* What the backward pass would leave: g times the present scale, rounded into the parameter's
   format, in one element or everywhere. */
void hc_rig_gradient(struct hc_rig *rig, int i, int64_t index, double g);
void hc_rig_gradients(struct hc_rig *rig, double g);

void hc_rig_step(struct hc_rig *rig, double lr, double beta1);

double hc_rig_get(struct hc_rig *rig, enum hc_piece piece, int i, int64_t index);
void hc_rig_put(struct hc_rig *rig, enum hc_piece piece, int i, int64_t index, double value);

/* The bytes of a piece of every parameter, one parameter after the other, in memory of the check. */
struct hc_bytes {
    unsigned char *data;
    size_t count;
};

struct hc_bytes hc_rig_bytes(struct hc_rig *rig, enum hc_piece piece);
bool hc_bytes_equal(const struct hc_bytes *want, const struct hc_bytes *got);

#endif
