/* Pictures of how errors are spread: a small frame for each group of results. */
#ifndef HC_CLI_PICTURE_SPREADS_H
#define HC_CLI_PICTURE_SPREADS_H

#include "check/record/spread.h"
#include "cli/picture/families.h"
#include "cli/picture/frames.h"

/* The spread of all results of one frame, by series. */
struct hc_spread_group {
    char name[128];
    struct hc_spread spread[HC_MAX_FRAME_SERIES];
};

struct hc_spreads {
    struct hc_spread_group *all;
    int count;
    int room;
    bool no_memory;
    struct hc_names series;
    int left_out; /* results of backends that there is no series for */
};

/* One picture: how its frames are called and filled, and what it says. */
struct hc_spread_kind {
    void (*name)(char name[128], const char *what); /* of a case's frame */
    const char *member;                             /* of a result's spread */
    void (*put)(struct hc_frames *f, int series, const struct hc_spread *spread);
    void (*answer)(const struct hc_spreads *g, FILE *out);
    const char *alt;
};

void hc_spreads_make(struct hc_drawing *d, const struct hc_frames_axes *axes,
                     const struct hc_spread_kind *kind);

#endif
