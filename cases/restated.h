/* The reference training of CIFAR-10 as its specification has it (Darknet of fastai's course,
   AdamW, one-cycle), written down a second time: numbers, layers and the calls that they come to.
   Nothing of this is shared with the trainer, which is what the cases training/restated-* hold to
   it. */
#ifndef HC_CASES_RESTATED_H
#define HC_CASES_RESTATED_H

#include "cases/observed.h"

enum { HC_RESTATED_SIDE = 32, HC_RESTATED_COLOURS = 3, HC_RESTATED_MAX = 48 };

extern const double hc_restated_mean[HC_RESTATED_COLOURS];
extern const double hc_restated_deviation[HC_RESTATED_COLOURS];

/* A convolution stands for the batch norm and the leaky ReLU behind it, too. */
enum hc_restated_kind { HC_RESTATED_CONV, HC_RESTATED_SUM, HC_RESTATED_POOL, HC_RESTATED_LINEAR };

/* Value 0 is the image, layer l makes value l + 1. */
struct hc_restated_layer {
    enum hc_restated_kind kind;
    int from;
    int shortcut; /* of SUM: the value that the block began with */
    int kernel;
    int stride;
    int side_in;
    int side;
    int channels_in;
    int channels;
};

/* Darknet: a stem of `width` channels, then groups that double them. */
struct hc_restated {
    int width;
    int groups;
    int strides[8];
    int blocks[8];
    int classes;
    int layers;
    struct hc_restated_layer layer[HC_RESTATED_MAX];
    int64_t weights;  /* of convolutions and the linear layer */
    int64_t norms;    /* of batch norms */
    int64_t products; /* of one image's forward pass */
};

/* Fills in what follows from width, groups and classes. */
void hc_restated_make(struct hc_restated *net);

/* Follows the calls of forward passes: two for a convolution, one for any other layer. */
struct hc_restated_place {
    int layer; /* -1 between passes */
    bool norm; /* the convolution has been, its norm comes */
    bool trains;
};

/* Whether the call is the next of a forward pass; *at says of which layer it is. False between
   passes, and for a call that should not come here, which is claimed. */
bool hc_restated_follow(struct hc_check *check, const struct hc_restated *net,
                        struct hc_restated_place *place, const struct hc_call *call, int *at);

/* The data set of so many images that the trainer would make, with pixels and labels that say of
   each image which it is (hc_restated_pixel, hc_restated_label). False where there is no memory;
   closed by hc_dataset_close in any case. */
bool hc_restated_data(struct hc_check *check, struct hc_dataset *set, int train, int test);

/* Training images have the numbers 0 .. 31, test images 32 .. 63. */
enum { HC_RESTATED_TESTS = 32 };
uint8_t hc_restated_pixel(int image, int y, int x, int c);
int hc_restated_label(int image);

#endif
