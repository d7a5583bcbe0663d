/* Which engines are chosen, and that plans and packs are made once. plans/ asks the real cuDNN. */
#include "kernels/cuda/library/conv_plan.h"

#include <string.h>

#include "kernels/cuda/library/conv_testing.h"

static const enum hc_format formats[] = {HC_FP32, HC_FP16};

Test(conv_plan, plans_are_of_the_one_engine_that_sums_in_fp32_and_are_made_once)
{
    begin();
    for (int f = 0; f < 6; f++) {
        struct hc_call call =
            convolution(HC_OP_conv2d + f / 2, shapes[0], formats[f % 2], formats[f % 2]);
        struct hc_conv_key shape = hc_conv_key_of(&call);
        struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &shape);
        cr_assert(plan && plan->plan);
        cr_assert_eq(plan->engine, 0);
        cr_assert_eq(hc_conv_plan(queue->libraries, &shape), plan);
    }
    end();
}

/* The stand-in's engine 21 is a matrix unit's, 1063 would be compiled. */
Test(conv_plan, of_tf32_is_the_matrix_units_where_tf32_is_allowed_alone)
{
    begin();
    for (int i = 0; i < 6; i++) {
        struct hc_call call =
            convolution(HC_OP_conv2d + i / 2, shapes[0], formats[i % 2], formats[i % 2]);
        call.params.conv.tf32 = true;
        struct hc_conv_key key = hc_conv_key_of(&call);
        struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
        cr_assert_eq(plan->engine, i % 2 ? 0 : 21);
        call.params.conv.tf32 = false;
        key = hc_conv_key_of(&call);
        plan = hc_conv_plan(queue->libraries, &key);
        cr_assert_eq(plan->engine, 0);
    }
    end();
}

/* The fp32 engine is hidden: what is left must be compiled. */
static int only_compiled(const void *descriptor, int name, int type, int64_t capacity,
                         int64_t *count, void *values)
{
    int status = hc_dnn_get(descriptor, name, type, capacity, count, values);
    int64_t engine = -1;
    int64_t got;
    if (name != HC_DNN_ENGINE_NOTES || status != 0)
        return status;
    (void)hc_dnn_get(descriptor, HC_DNN_ENGINE_INDEX, HC_DNN_TYPE_INT64, 1, &got, &engine);
    if (engine == 0) {
        *count = 1;
        *(int *)values = HC_DNN_NOTE_COUNT; /* a note of a later cuDNN */
    }
    return 0;
}

Test(conv_plan, is_compiled_where_there_is_no_other_and_never_of_an_unknown_note)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP16, HC_FP16);
    struct hc_conv_key key = hc_conv_key_of(&call);
    begin();
    altered.cudnn_get = only_compiled;
    struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
    cr_assert_eq(plan->engine, 1063);
    cr_assert_not_null(strstr(plan->text, "compiled here"), "%s", plan->text);
    end();
}

/* The proposals come after 35 that are refused. */
static int late(const void *descriptor, int name, int type, int64_t capacity, int64_t *count,
                void *values)
{
    int64_t got = 0;
    if (name != HC_DNN_HEURISTICS_RESULTS)
        return hc_dnn_get(descriptor, name, type, capacity, count, values);
    int status = hc_dnn_get(descriptor, name, type, 0, &got, NULL);
    for (int64_t i = 0; i < 35 && i < capacity; i++)
        (void)hc_dnn_get(descriptor, name, type, 1, count, (void **)values + i);
    if (capacity > 35)
        status = hc_dnn_get(descriptor, name, type, capacity - 35, count, (void **)values + 35);
    *count = 35 + got;
    return status;
}

Test(conv_plan, is_found_however_many_proposals_are_refused_before_it)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP32, HC_FP32);
    struct hc_conv_key key = hc_conv_key_of(&call);
    begin();
    altered.cudnn_get = late;
    struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
    cr_assert(plan && plan->plan, "%s", hc_message());
    cr_assert(plan->engine == 0 && plan->mode == HC_DNN_MODE_A && plan->refused == 38, "%s",
              plan->text);
    end();
}

static int no_results(const void *descriptor, int name, int type, int64_t capacity, int64_t *count,
                      void *values)
{
    return name == HC_DNN_HEURISTICS_RESULTS
               ? HC_DNN_NOT_SUPPORTED
               : hc_dnn_get(descriptor, name, type, capacity, count, values);
}

static int left;

static int scarce(int kind, void **descriptor)
{
    return left-- > 0 ? hc_dnn_create_descriptor(kind, descriptor) : HC_DNN_NO_MEMORY;
}

/* The graph takes six descriptors: without them there is no plan, not even an empty one. The
   heuristics, their four proposals, an engine of each and the plan of the last are ten more. */
Test(conv_plan, is_empty_where_heuristics_fail_and_is_none_where_the_graph_does)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP16, HC_FP16);
    begin();
    altered.cudnn_get = no_results;
    cr_assert_eq(run(&call, 0), 0, "%s", hc_message());
    cr_assert_str_eq(queue->libraries->plans->text, "our own kernel: no plan, 0 proposals refused");
    end();
    for (int most = 0; most < 40; most++) {
        struct hc_conv_key key = hc_conv_key_of(&call);
        begin();
        altered.cudnn_create_descriptor = scarce;
        left = most;
        struct hc_conv_plan *plan = hc_conv_plan(queue->libraries, &key);
        cr_expect_eq(plan != NULL, most >= 6, "%d descriptors", most);
        cr_expect_eq(plan && plan->plan, most >= 16, "%d descriptors: %s", most,
                     plan ? plan->text : "");
        end();
    }
}

static int created;

static int counted(int kind, void **descriptor)
{
    created++;
    return hc_dnn_create_descriptor(kind, descriptor);
}

Test(conv_plan, is_found_again_and_so_is_its_pack_without_a_descriptor_made)
{
    struct hc_call call = convolution(HC_OP_conv2d, shapes[0], HC_FP32, HC_FP32);
    struct hc_call elsewhere = convolution(HC_OP_conv2d, shapes[0], HC_FP32, HC_FP32);
    const struct hc_backend *backend = hc_backend_by_name("cuda-emulated");
    begin();
    altered.cudnn_create_descriptor = counted;
    size_t bytes = backend->scratch(queue, &call);
    call.scratch = elsewhere.scratch = backend->allocate(queue, bytes);
    for (int i = 0; i < 3; i++) {
        created = 0;
        cr_assert_eq(backend->scratch(queue, &call), bytes);
        cr_assert_eq(backend->kernel[HC_OP_conv2d](queue, &call), HC_OK);
        cr_assert_eq(backend->kernel[HC_OP_conv2d](queue, &elsewhere), HC_OK);
        cr_assert_eq(created, i == 0 ? 2 : 0, "round %d: %d", i, created);
    }
    for (int64_t i = 0; i < hc_tensor_count(&call.out[HC_CONV_RESULT]); i++)
        cr_assert_eq(hc_tensor_bits(&call.out[HC_CONV_RESULT], i),
                     hc_tensor_bits(&elsewhere.out[HC_CONV_RESULT], i));
    for (int i = 0; i < 2 * HC_CONV_PACKS; i++) { /* the oldest gives way */
        struct hc_call other = convolution(HC_OP_conv2d, shapes[0], HC_FP32, HC_FP32);
        other.scratch = call.scratch;
        cr_assert_eq(backend->kernel[HC_OP_conv2d](queue, &other), HC_OK);
        cr_assert_eq(hc_tensor_bits(&other.out[HC_CONV_RESULT], 0),
                     hc_tensor_bits(&call.out[HC_CONV_RESULT], 0));
    }
    backend->release(queue, call.scratch);
    end();
}
