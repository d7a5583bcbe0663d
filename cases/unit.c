#include "cases/unit.h"

#include <assert.h>
#include <math.h>

static double by_definition(enum hc_format format, enum hc_op op, const double operand[3])
{
    struct hc_real *x = hc_real_new(operand[0]);
    struct hc_real *y = hc_real_new(operand[1]);
    struct hc_real *z = hc_real_new(operand[2]);
    switch (op) {
    case HC_OP_add:
        hc_real_add(x, x, y);
        break;
    case HC_OP_sub:
        hc_real_sub(x, x, y);
        break;
    case HC_OP_mul:
        hc_real_mul(x, x, y);
        break;
    case HC_OP_div:
        hc_real_div(x, x, y);
        break;
    case HC_OP_sqrt:
        hc_real_sqrt(x, x);
        break;
    case HC_OP_fma:
        hc_real_mul(x, x, y);
        hc_real_add(x, x, z);
        break;
    default:
        assert(op == HC_OP_cast || op == HC_OP_master_to_model);
    }
    double result = hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
    hc_real_free(x);
    hc_real_free(y);
    hc_real_free(z);
    return result;
}

static double on_backend(struct hc_scalar *scalar, enum hc_format from, enum hc_op op,
                         const double operand[3])
{
    uint64_t in[3] = {0};
    uint64_t out = 0;
    struct hc_call call = {.op = op};
    if (scalar->failed)
        return (double)NAN;
    for (int i = 0; i < 3 && i < hc_ops[op].inputs; i++) {
        call.in[i] = hc_tensor1(from, 1, &in[i]);
        hc_tensor_set(&call.in[i], 0, operand[i]);
    }
    call.out[0] = hc_tensor1(scalar->format, 1, &out);
    if (hc_do(scalar->check, &call) != HC_OK) {
        scalar->failed = true;
        return (double)NAN;
    }
    return hc_tensor_get(&call.out[0], 0);
}

double hc_scalar_op(struct hc_scalar *scalar, enum hc_op op, double x, double y, double z)
{
    const double operand[3] = {x, y, z};
    return scalar->check ? on_backend(scalar, scalar->format, op, operand)
                       : by_definition(scalar->format, op, operand);
}

double hc_scalar_add(struct hc_scalar *scalar, double x, double y)
{
    return hc_scalar_op(scalar, HC_OP_add, x, y, 0);
}

double hc_scalar_sub(struct hc_scalar *scalar, double x, double y)
{
    return hc_scalar_op(scalar, HC_OP_sub, x, y, 0);
}

double hc_scalar_mul(struct hc_scalar *scalar, double x, double y)
{
    return hc_scalar_op(scalar, HC_OP_mul, x, y, 0);
}

double hc_scalar_div(struct hc_scalar *scalar, double x, double y)
{
    return hc_scalar_op(scalar, HC_OP_div, x, y, 0);
}

double hc_scalar_sqrt(struct hc_scalar *scalar, double x)
{
    return hc_scalar_op(scalar, HC_OP_sqrt, x, 0, 0);
}

double hc_scalar_cast(struct hc_scalar *scalar, enum hc_format from, double x)
{
    const double operand[3] = {x, 0, 0};
    return scalar->check ? on_backend(scalar, from, HC_OP_cast, operand)
                       : by_definition(scalar->format, HC_OP_cast, operand);
}

double hc_scalar_model(struct hc_scalar *scalar, double master)
{
    const double operand[3] = {master, 0, 0};
    return scalar->check ? on_backend(scalar, HC_FP32, HC_OP_master_to_model, operand)
                       : by_definition(scalar->format, HC_OP_master_to_model, operand);
}

double hc_decimal(enum hc_format format, const char *decimal)
{
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, decimal);
    double value = hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
    hc_real_free(x);
    return value;
}
