/* NaN in the filter of a convolution in fp16, or in what comes back to its output.

   In patches the padding is zeros, and a NaN times such a zero is a NaN where the definition has no
   term. So these NaN are packed as zeros (hc_split16), and it is found out which results they
   reach: those that meet one by a tap that lies inside the image. There the result is NaN, whatever
   else is summed. A training in fp16 whose weights have become NaN goes on as fast as before. */
#ifndef HC_KERNELS_HOST_NATIVE_NAN_TAPS_H
#define HC_KERNELS_HOST_NATIVE_NAN_TAPS_H

#include "kernels/host/native/patches16.h"

enum { HC_NAN_TAPS = 64 }; /* bits of a mask: a filter may have no more taps */

/* By feature of the result: bit t is set if tap t of the filter has a NaN for it. False if a weight
   is infinite, or the filter has too many taps. */
bool hc_nan_taps_of_filter(const struct hc_conv_shape *g, const uint16_t *filter, uint64_t *taps);

/* NaN where pixels first .. first + rows - 1 of a grid meet such a tap. */
void hc_nan_taps_spread(const struct hc_conv_shape *g, const struct hc_grid *grid,
                        const uint64_t *taps, int64_t features, int64_t first, int64_t rows,
                        float *sums);

/* Sets bit t of a filter's taps if a NaN of the output's gradients dy meets tap t inside an image.
   `grid` is that of the convolution forward. Returns false if the filter has too many taps. */
bool hc_nan_taps_of_gradient(const struct hc_conv_shape *g, const struct hc_grid *grid,
                             const uint16_t *dy, uint64_t *taps);

#endif
