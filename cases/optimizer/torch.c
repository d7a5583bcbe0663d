/* What a real PyTorch computed: the tensor methods of its Adam, one after the other, on the CPU. */
#include "cases/fixture/defined.h"

static const struct {
    enum hc_op op;
    enum hc_format format; /* of all tensors */
    double t;
    double decay;
    struct {
        double lr, beta1, beta2, eps;
    } hyper;
    uint32_t before[HC_ADAM_V + 1];    /* w, g, m, v in fp32's bits */
    uint32_t after[HC_ADAM_NEW_V + 1]; /* w, m, v */
} rows[] = {
#include "cases/optimizer/torch.inc"
};

/* In fp32 PyTorch's fused kernel and its loop give the same result. */
static void row(struct hc_check *check, size_t i, enum hc_adam_order order)
{
    enum hc_format f = rows[i].format;
    static const char *const names[] = {"w", "m", "v"};
    struct hc_call call = {.op = rows[i].op,
                           .params.adam = {.beta2 = rows[i].hyper.beta2,
                                           .eps = rows[i].hyper.eps,
                                           .weight_decay = rows[i].decay,
                                           .order = order,
                                           .arithmetic = f}};
    for (int s = HC_ADAM_W; s <= HC_ADAM_V; s++) {
        call.in[s] = hc_check_vector(check, f, 1);
        hc_tensor_set(&call.in[s], 0, (double)hc_fp32_value(rows[i].before[s]));
    }
    call.in[HC_ADAM_HYPER] =
        hc_hyper_tensor(check, rows[i].hyper.lr, rows[i].hyper.beta1, rows[i].t);
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        call.out[o] = hc_check_vector(check, f, 1);
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        hc_claim_bits(check, names[o], HC_FP32, rows[i].after[o],
                      hc_fp32_bits((float)hc_tensor_get(&call.out[o], 0)));
}

static void measured(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        row(check, i, HC_ORDER_TORCH_LOOP);
        if (rows[i].format == HC_FP32)
            row(check, i, HC_ORDER_TORCH_FUSED);
    }
}

static const struct hc_case cases[] = {
    {.name = "optimizer/as-pytorch-gave",
     .title =
         "Adam and AdamW in PyTorch's order have the bits that PyTorch's own tensor methods gave, "
         "in fp32 and bf16",
     .source =
         "measured with torch 1.13 on a CPU with FMA (benches/pytorch/adam_order.py); pytorch "
         "torch/optim/adam.py, _single_tensor_adam, from 2.0 on",
     .level = HC_QUICK,
     .run = measured},
};

HC_CASES(optimizer_torch, cases);
