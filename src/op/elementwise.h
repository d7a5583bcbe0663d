/* Slots of the elementwise ops. `call->in[]` and `call->out[]` are numbered apart: HC_X is an input,
   HC_OUT an output. */
#ifndef HC_OP_ELEMENTWISE_H
#define HC_OP_ELEMENTWISE_H

/* cast, add, sub, mul, div, sqrt, fma, axpy, and code that is generic over the family. */
enum { HC_X, HC_Y, HC_Z };
enum { HC_OUT };

/* The scale s is one number on the device. */
enum { HC_SCALE_X, HC_SCALE_S };
enum { HC_SCALE_OUT };

enum { HC_UNSCALE_X, HC_UNSCALE_SCALE, HC_UNSCALE_FOUND_INF, HC_UNSCALE_OVERRIDE };
enum { HC_UNSCALE_OUT, HC_UNSCALE_NEW_FOUND_INF };

enum { HC_LEAKY_X };
enum { HC_LEAKY_Y };

enum { HC_LEAKY_BWD_Y, HC_LEAKY_BWD_DY };
enum { HC_LEAKY_BWD_DX };

/* master_to_model */
enum { HC_MODEL_MASTER };
enum { HC_MODEL_COPY };

#endif
