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

static double on_backend(struct hc_unit *unit, enum hc_format from, enum hc_op op,
                         const double operand[3])
{
    uint64_t in[3] = {0};
    uint64_t out = 0;
    struct hc_call call = {.op = op};
    if (unit->failed)
        return (double)NAN;
    for (int i = 0; i < 3 && i < hc_ops[op].inputs; i++) {
        call.in[i] = hc_tensor1(from, 1, &in[i]);
        hc_tensor_put(&call.in[i], 0, operand[i]);
    }
    call.out[0] = hc_tensor1(unit->format, 1, &out);
    if (hc_do(unit->check, &call) != HC_OK) {
        unit->failed = true;
        return (double)NAN;
    }
    return hc_tensor_get(&call.out[0], 0);
}

double hc_unit_op(struct hc_unit *unit, enum hc_op op, double x, double y, double z)
{
    const double operand[3] = {x, y, z};
    return unit->check ? on_backend(unit, unit->format, op, operand)
                       : by_definition(unit->format, op, operand);
}

double hc_unit_add(struct hc_unit *unit, double x, double y)
{
    return hc_unit_op(unit, HC_OP_add, x, y, 0);
}

double hc_unit_sub(struct hc_unit *unit, double x, double y)
{
    return hc_unit_op(unit, HC_OP_sub, x, y, 0);
}

double hc_unit_mul(struct hc_unit *unit, double x, double y)
{
    return hc_unit_op(unit, HC_OP_mul, x, y, 0);
}

double hc_unit_div(struct hc_unit *unit, double x, double y)
{
    return hc_unit_op(unit, HC_OP_div, x, y, 0);
}

double hc_unit_sqrt(struct hc_unit *unit, double x)
{
    return hc_unit_op(unit, HC_OP_sqrt, x, 0, 0);
}

double hc_unit_cast(struct hc_unit *unit, enum hc_format from, double x)
{
    const double operand[3] = {x, 0, 0};
    return unit->check ? on_backend(unit, from, HC_OP_cast, operand)
                       : by_definition(unit->format, HC_OP_cast, operand);
}

double hc_unit_model(struct hc_unit *unit, double master)
{
    const double operand[3] = {master, 0, 0};
    return unit->check ? on_backend(unit, HC_FP32, HC_OP_master_to_model, operand)
                       : by_definition(unit->format, HC_OP_master_to_model, operand);
}

double hc_decimal(enum hc_format format, const char *decimal)
{
    struct hc_real *x = hc_real_new(0);
    hc_real_set_text(x, decimal);
    double value = hc_decode(format, hc_real_bits(x, format, HC_NEAREST));
    hc_real_free(x);
    return value;
}
