/* Slots of what a training step counts and decides on the device, and of the batch that it reads. */
#ifndef HC_OP_CONTROL_H
#define HC_OP_CONTROL_H

/* scaler_update and overflow_verdict read the same. */
enum { HC_SCALER_SCALE, HC_SCALER_COUNTS, HC_SCALER_FOUND_INF };
enum { HC_SCALER_NEW_SCALE, HC_SCALER_NEW_COUNTS };

/* overflow_verdict has one output of two elements. */
enum { HC_VERDICT_OUT };
enum { HC_VERDICT_OVERFLOWED, HC_VERDICT_SKIPPED, HC_VERDICT_ELEMENTS };

enum { HC_RATES_TABLE, HC_RATES_COUNTS };
enum { HC_RATES_HYPER };                                /* elements: HC_HYPER_LR, ... */
enum { HC_TABLE_LR, HC_TABLE_BETA1, HC_TABLE_COLUMNS }; /* of HC_RATES_TABLE */

/* step_log: its scalars are in[HC_STEP_LOG_SCALARS + i], i < HC_STEP_LOG_COLUMNS. */
enum { HC_STEP_LOG_ROWS, HC_STEP_LOG_COUNTS, HC_STEP_LOG_SCALARS };
enum { HC_STEP_LOG_NEW_ROWS };
enum { HC_STEP_LOG_COLUMNS = 4 };

enum { HC_CLIP_SUM_SQUARES, HC_CLIP_OVERFLOWED };
enum { HC_CLIP_FACTOR };

enum { HC_AUGMENT_PIXELS, HC_AUGMENT_LABELS, HC_AUGMENT_STEPS, HC_AUGMENT_ORDER };
enum { HC_AUGMENT_IMAGES, HC_AUGMENT_IMAGE_LABELS, HC_AUGMENT_NEW_STEPS };

#endif
