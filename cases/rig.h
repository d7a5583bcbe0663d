/* A few parameters under a recipe, with the trainer's update path, on the backend under test. */
#ifndef HC_CASES_RIG_H
#define HC_CASES_RIG_H

#include "case.h"

enum { HC_FIXTURE_MAX = 8 };

/* After a failure (`failed`; the verdict is set) every function returns at once and every value is
   NaN. */
struct hc_fixture {
    struct hc_check *check;
    struct hc_device device;
    struct hc_parameter parameter[HC_FIXTURE_MAX];
    struct hc_parameter *list[HC_FIXTURE_MAX];
    int n;
    struct hc_update *update;
    bool failed;
};

void hc_fixture_open(struct hc_fixture *fixture, struct hc_check *check);
void hc_fixture_close(struct hc_fixture *fixture);

/* One more parameter, fp32, every element with that value; its index. Not after the start. */
int hc_fixture_add(struct hc_fixture *fixture, const char *name, enum hc_role role, int64_t count,
               double value);

/* Parameters of a network of four layers, each of a weight (2 i) and of a norm (2 i + 1; in the last
   layer a bias), with random values about 0.5; and random gradients about 0 of that size for all. */
enum { HC_FIXTURE_LAYERS = 4 };

void hc_fixture_layers(struct hc_fixture *fixture);
void hc_fixture_random_gradients(struct hc_fixture *fixture, uint64_t step, double size);

/* Overwrites one element of a parameter; rounds to nearest. */
void hc_fixture_set_parameter(struct hc_fixture *fixture, int i, int64_t index, double value);

/* Opens the update over all parameters: the recipe converts them and makes the masters. A second
   start gives up the first update and opens another over the parameters as they are. */
void hc_fixture_start(struct hc_fixture *fixture, const struct hc_recipe *recipe);

/* Zeros after a failure. */
struct hc_counters hc_fixture_counters(struct hc_fixture *fixture);

/* What the backward pass would leave: g times the present scale, rounded into the parameter's
   format, in one element or everywhere. */
void hc_fixture_gradient(struct hc_fixture *fixture, int i, int64_t index, double g);
void hc_fixture_gradients(struct hc_fixture *fixture, double g);

void hc_fixture_step(struct hc_fixture *fixture, double lr, double beta1);

double hc_fixture_get(struct hc_fixture *fixture, enum hc_state_tensor piece, int i, int64_t index);
void hc_fixture_set(struct hc_fixture *fixture, enum hc_state_tensor piece, int i, int64_t index, double value);

/* The bytes of a piece of every parameter, one parameter after the other, in memory of the check. */
struct hc_bytes {
    unsigned char *data;
    size_t count;
};

struct hc_bytes hc_fixture_bytes(struct hc_fixture *fixture, enum hc_state_tensor piece);
bool hc_bytes_equal(const struct hc_bytes *want, const struct hc_bytes *got);

#endif
