/* `got`: a right backend, one that flips a bit, and one that fails. */
#include "backend.h"
#include "formula/testing.h"

/* Runs calls on the backend exact. Call number `flipped` and all later ones return a wrong last
   bit, and call number `failing` fails. */
struct stand {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    int calls;
    int flipped;
    int failing;
};

static enum hc_status run_call(const struct hc_call *call, void *context)
{
    struct stand *s = context;
    s->calls++;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    if (s->calls == s->failing)
        return hc_fail(HC_DEVICE, "the device is gone");
    enum hc_status status = s->backend->kernel[call->op](s->queue, call);
    if (status == HC_OK && s->flipped > 0 && s->calls >= s->flipped)
        hc_tensor_set_bits(&call->out[HC_OUT], 0, hc_tensor_bits(&call->out[HC_OUT], 0) ^ 1);
    return status;
}

static struct stand *stand_on(const char *backend)
{
    static struct stand s;
    s = (struct stand){.backend = hc_backend_by_name(backend)};
    cr_assert(s.backend && s.backend->open(s.backend, &s.queue, 1) == HC_OK);
    return &s;
}

static const char formula[] =
    "x = list(50, 1 + i / 7); y = fp16(x) * x - sqrt(x) / 3; z = fma(y[3], 0.1, sum(x)); "
    "t = tree(50, exp(y[i] - 40)); u = select(t > 1, bf16_rz(z), 1)";

Test(backend, got_is_want_on_a_right_backend)
{
    static const char *const arms[] = {"fp16", "bf16", "fp32", "fp64", "fp32/fp16", "fp32/bf16"};
    struct stand *s = stand_on("exact");
    for (size_t i = 0; i < sizeof arms / sizeof *arms; i++) {
        s->calls = 0;
        struct trial t = begin_with(arms[i], formula,
                                    (struct hc_evaluation_options){.call = run_call, .context = s});
        const struct hc_evaluation_difference *d = hc_evaluation_difference(t.e);
        cr_assert_eq(d->differed, 0, "%s: %a, not %a", arms[i], d->want, d->got);
        cr_assert_null(d->node);
        cr_assert_gt(d->compared, 300);
        cr_assert_gt(s->calls, 60);
        for (int name = 0; name < hc_program_names(t.program); name++) {
            const struct hc_value *v = hc_evaluation_value(t.e, name);
            for (int64_t k = 0; v && k < v->n; k++)
                cr_assert(v->got[k] == v->want[k] && v->got != v->want);
        }
        finish(&t);
    }
    s->backend->close(s->queue);
}

/* All calls from one on are wrong. */
Test(backend, a_flipped_bit_is_noticed_wherever_it_is)
{
    struct stand *s = stand_on("exact");
    struct trial t = begin_with("fp32/fp16", formula,
                                (struct hc_evaluation_options){.call = run_call, .context = s});
    int calls = s->calls;
    finish(&t);
    for (int flipped = 1; flipped <= calls; flipped += 1 + flipped / 20) {
        *s = (struct stand){s->backend, s->queue, 0, flipped, 0};
        t = begin_with("fp32/fp16", formula,
                       (struct hc_evaluation_options){.call = run_call, .context = s});
        const struct hc_evaluation_difference *d = hc_evaluation_difference(t.e);
        cr_assert_geq(d->differed, 1, "call %d", flipped);
        cr_assert(d->node && d->want != d->got);
        finish(&t);
    }
    s->backend->close(s->queue);
}

Test(backend, a_difference_names_its_node_and_step_and_stays_in_what_follows)
{
    struct stand *s = stand_on("exact");
    struct trial t = begin_with("fp16", "w = 1; v = 0",
                                (struct hc_evaluation_options){.call = run_call, .context = s});
    s->flipped = 7; /* each step has three calls: the first product of step 3 */
    loop(&t, "w = w * 1.5 - 0.25 * w; v = exp(-w)", 5);
    const struct hc_evaluation_difference *d = hc_evaluation_difference(t.e);
    cr_assert_eq(d->differed, 2); /* of step 3: afterwards no operands are equal */
    cr_assert_eq(d->step, 3);
    cr_assert_eq(d->format, HC_FP16);
    cr_assert_eq(d->node->function, HC_FN_mul);
    cr_assert_eq(strncmp(d->node->at, "w * 1.5", 7), 0);
    cr_assert_eq(d->want, 1.25 * 1.25 * 1.5);
    cr_assert_eq(d->got, d->want + 0x1p-9);
    cr_assert_eq(d->compared, 7 + 1);
    const struct hc_value *v = value_of(&t, "v");
    cr_assert_neq(v->got[0], v->want[0]);
    finish(&t);
    s->backend->close(s->queue);
}

static enum hc_status run_without_signed_zeros(const struct hc_call *call, void *context)
{
    enum hc_status status = run_call(call, context);
    if (status == HC_OK && hc_tensor_get(&call->out[HC_OUT], 0) == 0)
        hc_tensor_set(&call->out[HC_OUT], 0, 0.0);
    return status;
}

Test(backend, the_sign_of_a_zero_is_compared)
{
    struct stand *s = stand_on("exact");
    struct trial t =
        begin_with("fp16", "w = -1; v = 0 * w",
                   (struct hc_evaluation_options){.call = run_without_signed_zeros, .context = s});
    const struct hc_evaluation_difference *d = hc_evaluation_difference(t.e);
    cr_assert(d->differed == 1 && signbit(d->want) && !signbit(d->got));
    finish(&t);
    s->backend->close(s->queue);
}

Test(backend, a_call_that_fails_ends_the_run)
{
    struct stand *s = stand_on("exact");
    struct trial t =
        begin_with("fp16", "w = 1", (struct hc_evaluation_options){.call = run_call, .context = s});
    struct hc_formula_error error = {.what = ""};
    enum hc_evaluated done;
    const struct hc_block *block = block_of(&t, "v = w + 1; v = v + 1; w = v + 1", false);
    const struct hc_block *show = block_of(&t, "w + 1", true);
    s->failing = 2;
    cr_assert_eq(hc_evaluation_run(t.e, block, 1, &error), HC_EVALUATED_FAILED);
    cr_assert_eq(hc_evaluation_status(t.e), HC_DEVICE);
    cr_assert_str_eq(hc_message(), "the device is gone");
    cr_assert_eq(hc_evaluation_value(t.e, 0)->want[0], 1);
    cr_assert_eq(hc_evaluation_value(t.e, 1)->want[0], 2);
    s->failing = 3;
    cr_assert_null(hc_evaluation_show(t.e, show, 0, 1, &done, &error));
    cr_assert_eq(done, HC_EVALUATED_FAILED);
    finish(&t);
    s->backend->close(s->queue);
}

/* 'acc(x)' is such a cast in the arm 'fp16 acc=fp16', and a backend may lack fp16 to fp16. */
Test(backend, a_cast_to_the_format_that_a_value_has_calls_nothing)
{
    struct stand *s = stand_on("exact");
    s->calls = 0;
    struct trial t = begin_with("fp16", "v = 0.1; w = half(fp16_rz(v)); t = tf32(float(float(w)))",
                                (struct hc_evaluation_options){.call = run_call, .context = s});
    cr_assert_eq(s->calls, 2, "want float and tf32 alone, got %d", s->calls);
    finish(&t);
    s->backend->close(s->queue);
}
