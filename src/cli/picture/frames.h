/* Pictures of many small frames with the same axes: curves, or steps of a histogram, one frame for
   each recipe, say. Drawn by reports/frames.gp. */
#ifndef HC_CLI_PICTURE_FRAMES_H
#define HC_CLI_PICTURE_FRAMES_H

#include <stdbool.h>

#include "cli/picture/drawing.h"

enum { HC_MAX_FRAMES = 400, HC_MAX_FRAME_SERIES = 4 };

/* Where zeros stand among exponents of 2, and what is infinite or NaN. */
enum { HC_FRAME_ZERO = -53, HC_FRAME_LEAST = -49, HC_FRAME_MOST = 18, HC_FRAME_INFINITE = 21 };

enum hc_frame_style { HC_FRAME_LINES, HC_FRAME_DOTTED_LINES, HC_FRAME_STEPS };

/* A tick below the frames, where numbers would not do. */
struct hc_frame_tick {
    double at;
    const char *text; /* NULL: the end of a list */
};

/* What all frames have. */
struct hc_frames_axes {
    const char *x; /* what is on the axes, and in which units */
    const char *y;
    int log_y;      /* the base of a logarithmic axis; 0: it is linear */
    double y_least; /* the range has at least these; NaN: only what the data have */
    double y_most;
    enum hc_frame_style style;
    int most;  /* how many frames are drawn; the others are data only; 0: all are drawn */
    bool wide; /* two frames side by side, not three: their names are long */
    const struct hc_frame_tick *ticks;      /* NULL: numbers */
    const struct hc_frame_tick *near_ticks; /* instead, where x spans less than 120; or NULL */
    bool own_x;                             /* each frame has a range of x of its own */
    bool half_windows; /* x is an exponent of 2, HC_FRAME_ZERO or HC_FRAME_INFINITE: shades those
                          that half has as subnormals, or not at all */
};

struct hc_frames {
    struct hc_drawing *d;
    struct hc_frames_axes axes;
    int frames;
    int series;
    double x_low;
    double x_high;
    double y_low;
    double y_high;
    double frame_x_low; /* of the frame that is being written */
    double frame_x_high;
    char name[256];
    char series_name[HC_MAX_FRAME_SERIES][64];
};

void hc_frames_begin(struct hc_frames *frames, struct hc_drawing *d,
                     const struct hc_frames_axes *axes);

/* Names a series, from 1. */
void hc_frames_series(struct hc_frames *frames, const char *name);

/* Begins a frame. False: there is no room for more. `trouble` is written into it as a warning
   ("NaN from step 1"); "" is none. */
bool hc_frames_next(struct hc_frames *frames, const char *name, const char *trouble);

/* A point of the frame. Series 0 is drawn behind the others in grey, and has the name that it is
   given by hc_frames_behind. A point without a finite x or y is left out, and a curve stops there.
 */
void hc_frames_point(struct hc_frames *frames, int series, double x, double y);

/* A red cross: a step that was skipped, or where a NaN came up. Without a y (NaN) it stands at the
   lower edge. */
void hc_frames_cross(struct hc_frames *frames, double x, double y);

/* Ends a curve, so that another one of the same series may begin. */
void hc_frames_break(struct hc_frames *frames);

void hc_frames_behind(struct hc_frames *frames, const char *name);
void hc_frames_end(struct hc_frames *frames);

#endif
