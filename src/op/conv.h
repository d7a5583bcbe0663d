/* Slots of the convolutions and of the poolings. */
#ifndef HC_OP_CONV_H
#define HC_OP_CONV_H

/* conv2d */
enum { HC_CONV_X, HC_CONV_W };
enum { HC_CONV_Y };

/* conv2d_bwd_data */
enum { HC_CONV_BWD_DATA_DY, HC_CONV_BWD_DATA_W };
enum { HC_CONV_BWD_DATA_DX };

/* conv2d_bwd_filter */
enum { HC_CONV_BWD_FILTER_X, HC_CONV_BWD_FILTER_DY };
enum { HC_CONV_BWD_FILTER_DW };

/* The same slots in code that is generic over the three: the two factors and the sums. */
enum { HC_CONV_FIRST, HC_CONV_SECOND };
enum { HC_CONV_RESULT };

enum { HC_POOL_X };
enum { HC_POOL_Y };

enum { HC_POOL_BWD_DY };
enum { HC_POOL_BWD_DX };

#endif
