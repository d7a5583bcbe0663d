/* An update over three parameters on the backend `exact`. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num/rng.h"
#include "train/update/update.h"

enum { SIZES = 3, MOST = 40 };

static const int64_t sizes[SIZES] = {37, 1, 16};
static const enum hc_role roles[SIZES] = {HC_ROLE_WEIGHT, HC_ROLE_NORM, HC_ROLE_WEIGHT};

static struct hc_device device;
static struct hc_parameter parameters[SIZES];
static struct hc_parameter *list[SIZES];
static struct hc_update *update;

static inline void open_exact(void)
{
    device.backend = hc_backend_by_name("exact");
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
}

static inline void close_exact(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* An update over three parameters that all start as 1 + i / 1000. */
static inline void begin(const struct hc_recipe *recipe)
{
    for (int p = 0; p < SIZES; p++) {
        float start[MOST];
        struct hc_tensor as = hc_tensor1(HC_FP32, sizes[p], NULL);
        list[p] = &parameters[p];
        cr_assert_eq(hc_parameter_open(list[p], &device, "p", roles[p], &as), HC_OK);
        list[p]->layer = p;
        for (int i = 0; i < sizes[p]; i++)
            start[i] = 1 + (float)i / 1000;
        cr_assert_eq(hc_storage_write(list[p]->storage, start), HC_OK);
    }
    cr_assert_eq(hc_update_open(&update, &device, recipe, list, SIZES), HC_OK);
}

static inline void end(void)
{
    hc_update_close(update);
    for (int p = 0; p < SIZES; p++)
        hc_parameter_close(&parameters[p]);
}

static inline double get(enum hc_state_tensor state, int p, int64_t i)
{
    double value;
    cr_assert_eq(hc_update_get(update, state, p, i, &value), HC_OK);
    return value;
}

static inline void set(enum hc_state_tensor state, int p, int64_t i, double value)
{
    cr_assert_eq(hc_update_set(update, state, p, i, value), HC_OK);
}

static inline struct hc_counters counters(void)
{
    struct hc_counters c;
    cr_assert_eq(hc_update_counters(update, &c), HC_OK);
    return c;
}

static inline void gradients(int step)
{
    for (int p = 0; p < SIZES; p++)
        for (int64_t i = 0; i < sizes[p]; i++)
            set(HC_STATE_GRADIENT, p, i,
                hc_random_normal(1, (uint64_t)p, (uint64_t)(step * MOST + i)));
}

static inline void step(double lr)
{
    cr_assert_eq(hc_update_step(update, lr, 0.9), HC_OK);
}

/* The state tensors of all parameters as bytes, but for the unscaled gradients, which a skipped
   step may change.
 */
static inline size_t all_bytes(unsigned char *to)
{
    size_t at = 0;
    for (int state = 0; state < HC_STATE_COUNT; state++) {
        for (int p = 0; p < SIZES && state != HC_STATE_MASTER_GRADIENT; p++) {
            struct hc_tensor t = hc_update_tensor(update, (enum hc_state_tensor)state, p);
            cr_assert_eq(hc_update_read(update, (enum hc_state_tensor)state, p, to + at), HC_OK);
            at += hc_tensor_bytes(&t);
        }
    }
    return at;
}

static struct hc_slot_plan plan_of(const char *recipe, enum hc_role role)
{
    return hc_slot_plan(hc_recipe_by_name(recipe), role, 0);
}

/* torch's optimizers compute in each parameter's own format. */
Test(slot_plan, an_fp32_parameter_without_a_master_is_stepped_in_fp32)
{
    struct hc_slot_plan norm = plan_of("bf16-pure", HC_ROLE_NORM);
    struct hc_slot_plan weight = plan_of("bf16-pure", HC_ROLE_WEIGHT);
    cr_assert_eq(norm.format[HC_STATE_MODEL], HC_FP32);
    cr_assert_eq(norm.format[HC_STATE_M], HC_FP32);
    cr_assert_eq(norm.arithmetic, HC_FP32);
    cr_assert_eq(weight.format[HC_STATE_MODEL], HC_BF16);
    cr_assert_eq(weight.format[HC_STATE_M], HC_BF16);
    cr_assert_eq(weight.arithmetic, HC_BF16);
}

Test(slot_plan, a_gradient_has_storage_of_its_own_only_if_something_happens_to_it)
{
    cr_assert(plan_of("amp", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    cr_assert_not(plan_of("amp-bf16", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    cr_assert_not(plan_of("fp16-pure", HC_ROLE_WEIGHT).own[HC_STATE_MASTER_GRADIENT]);
    struct hc_recipe narrowed = *hc_recipe_by_name("amp-bf16");
    narrowed.gradient = HC_FP16;
    cr_assert(hc_slot_plan(&narrowed, HC_ROLE_WEIGHT, 0).own[HC_STATE_MASTER_GRADIENT]);
}

Test(slot_plan, norms_and_biases_have_a_parameter_group_of_their_own_if_they_are_stepped_otherwise)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.group_rates = (struct hc_per_layer_group){2, {0.5, 1}};
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 1).group, 2);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_WEIGHT, 1).group, 2);
    recipe.decay_norm = false;
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_NORM, 1).group, 3);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_NORM, 1).decay, 0);
    recipe.decay_norm = true;
    recipe.split_bn_bias = true;
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).group, 1);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).decay, recipe.weight_decay);
    cr_assert_eq(hc_slot_plan(&recipe, HC_ROLE_BIAS, 0).rate, 0.5);
}

Test(slot_plan, a_recipe_without_a_state_tensor_owns_none)
{
    struct hc_slot_plan sgd = plan_of("sum-loss-fp16", HC_ROLE_WEIGHT);
    cr_assert_not(sgd.own[HC_STATE_V]);
    cr_assert_not(sgd.own[HC_STATE_MASTER]);
    cr_assert(sgd.own[HC_STATE_M]);
    cr_assert(plan_of("bf16-kahan", HC_ROLE_WEIGHT).own[HC_STATE_COMPENSATION]);
    cr_assert_not(plan_of("bf16-kahan", HC_ROLE_NORM).own[HC_STATE_COMPENSATION]);
}

/* What a step does to masters, weights, counts and the scale. */

TestSuite(update, .init = open_exact, .fini = close_exact);

/* w = 1, updates of 1e-4: five of them pass the middle between 1 and the next half, 1 + 2^-10. */
Test(update, a_half_weight_with_a_master_moves_at_the_fifth_step)
{
    struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    begin(&recipe);
    for (int s = 1; s <= 6; s++) {
        set(HC_STATE_GRADIENT, 0, 0, -512);
        set(HC_STATE_GRADIENT, 1, 0, -512);
        cr_assert_eq(hc_update_step(update, 1e-4, 0), HC_OK);
        cr_assert_eq(get(HC_STATE_MASTER_GRADIENT, 0, 0), -1.0);
        cr_assert_float_eq(get(HC_STATE_MASTER, 0, 0), 1 + s * 1e-4, s * 0x1p-24 + 1e-11);
        cr_assert_eq(get(HC_STATE_MODEL, 0, 0), s < 5 ? 1.0 : 1.0009765625);
        cr_assert_eq(get(HC_STATE_MODEL, 1, 0), get(HC_STATE_MASTER, 1, 0));
    }
    end();
}

Test(update, a_skipped_step_changes_no_byte_and_halves_the_scale)
{
    static unsigned char before[16384];
    static unsigned char after[16384];
    begin(hc_recipe_by_name("amp"));
    for (int s = 0; s < 3; s++) {
        gradients(s);
        step(1e-3);
    }
    for (int bad = 0; bad < SIZES; bad++) {
        static const double poison[] = {INFINITY, -INFINITY, NAN};
        struct hc_counters c = counters();
        gradients(3);
        set(HC_STATE_GRADIENT, bad, sizes[bad] - 1, poison[bad]);
        size_t bytes = all_bytes(before);
        step(1e-3);
        cr_assert_eq(all_bytes(after), bytes);
        cr_assert_arr_eq(before, after, bytes);
        struct hc_counters d = counters();
        cr_assert_eq(d.taken, c.taken);
        cr_assert_eq(d.skipped, c.skipped + 1);
        cr_assert_eq(d.scale, c.scale / 2);
    }
    gradients(4);
    step(1e-3);
    cr_assert_eq(counters().taken, 4);
    end();
}

/* Apex amp divides by the scale before all else: at 0 the run ends there, where torch's goes on
   with NaN. Nothing is found at scale 0, whose gradients are 0. */
Test(update, at_scale_0_apex_amp_ends_the_run_and_moves_no_byte_and_torch_writes_nan)
{
    static const char *const recipes[] = {"apex-O2", "amp"};
    for (int torch = 0; torch < 2; torch++) {
        static unsigned char before[32 * MOST * SIZES];
        static unsigned char after[32 * MOST * SIZES];
        begin(hc_recipe_by_name(recipes[torch]));
        gradients(0);
        step(1e-3);
        struct hc_counters c = counters();
        c.scale = 0;
        cr_assert_eq(hc_update_set_counters(update, &c), HC_OK);
        for (int p = 0; p < SIZES; p++)
            for (int64_t i = 0; i < sizes[p]; i++)
                set(HC_STATE_GRADIENT, p, i, 0);
        size_t bytes = all_bytes(before);
        step(1e-3);
        cr_assert_eq(all_bytes(after), bytes);
        struct hc_counters d = counters();
        cr_expect_eq(d.gave_up, !torch);
        cr_expect_eq(d.taken, c.taken + torch);
        cr_expect_eq(d.skipped, c.skipped + !torch);
        cr_expect_eq(d.found, c.found);
        cr_expect_eq(memcmp(before, after, bytes) == 0, !torch);
        cr_expect_eq(isnan(get(HC_STATE_MASTER, 0, 0)) != 0, torch);
        end();
    }
}

Test(update, static_scaling_lets_one_infinity_poison_a_master_for_ever)
{
    begin(hc_recipe_by_name("fastai-004b-flat"));
    gradients(0);
    set(HC_STATE_GRADIENT, 0, 5, INFINITY);
    step(1e-3);
    for (int s = 1; s < 5; s++) {
        gradients(s);
        step(1e-3);
    }
    cr_assert(isnan(get(HC_STATE_MASTER, 0, 5)));
    cr_assert(isfinite(get(HC_STATE_MASTER, 0, 4)));
    cr_assert_eq(counters().found, 1);
    cr_assert_eq(counters().skipped, 0);
    end();
}

Test(update, every_recipe_gives_its_pieces_the_formats_it_names)
{
    int n;
    const struct hc_recipe *recipes = hc_recipes(&n);
    for (int r = 0; r < n; r++) {
        begin(&recipes[r]);
        gradients(0);
        step(1e-3);
        for (int p = 0; p < SIZES; p++) {
            enum hc_format own = p == 1 ? recipes[r].norm : recipes[r].model;
            bool masters = recipes[r].masters != HC_MASTERS_NONE;
            enum hc_format state = !masters && own == HC_FP32 ? HC_FP32 : recipes[r].state;
            cr_assert_eq(hc_update_tensor(update, HC_STATE_MODEL, p).format, own);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_GRADIENT, p).format, own);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_M, p).format, state);
            if (recipes[r].optimizer == HC_OPTIMIZER_ADAM)
                cr_assert_eq(hc_update_tensor(update, HC_STATE_V, p).format, state);
            cr_assert_eq(hc_update_tensor(update, HC_STATE_MASTER, p).format,
                         masters ? HC_FP32 : own);
        }
        end();
    }
}

Test(update, masters_from_the_model_lose_what_rounding_took_and_from_fp32_do_not)
{
    begin(hc_recipe_by_name("fastai-004b-flat"));
    cr_assert_eq(get(HC_STATE_MASTER, 0, 1), hc_round(HC_FP16, (double)1.001f));
    end();
    begin(hc_recipe_by_name("amp"));
    cr_assert_eq(get(HC_STATE_MASTER, 0, 1), (double)1.001f);
    cr_assert_eq(get(HC_STATE_MODEL, 0, 1), hc_round(HC_FP16, (double)1.001f));
    end();
}

Test(update, a_contradictory_recipe_is_refused_in_one_line_that_names_it)
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    recipe.gradient = HC_FP16;
    cr_assert_eq(hc_update_open(&update, &device, &recipe, list, 0), HC_INVALID);
    cr_assert_str_eq(hc_message(), "recipe amp: GradScaler refuses to unscale 16-bit gradients");
    cr_assert_null(update);
}

/* Schedules and layer groups: which rate and which decay each parameter is stepped with. */

TestSuite(update_rates, .init = open_exact, .fini = close_exact);

static struct hc_recipe with_groups(const char *name)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.group_rates = (struct hc_per_layer_group){2, {0, 1}};
    recipe.group_decays = (struct hc_per_layer_group){2, {0.5, 0.25}};
    return recipe;
}

Test(update_rates, more_layer_groups_than_layers_are_refused)
{
    struct hc_recipe recipe = with_groups("amp");
    for (int p = 0; p < SIZES; p++) {
        struct hc_tensor as = hc_tensor1(HC_FP32, sizes[p], NULL);
        list[p] = &parameters[p];
        cr_assert_eq(hc_parameter_open(list[p], &device, "p", roles[p], &as), HC_OK);
    }
    cr_assert_eq(hc_update_open(&update, &device, &recipe, list, SIZES), HC_INVALID);
    cr_assert_str_eq(hc_message(), "recipe amp: more layer groups (2) than layers (1)");
    end();
}

/* A schedule's steps, queued one after the other, and the same rates given step by step. */
static void queued_and_given(const struct hc_recipe *recipe)
{
    static unsigned char given[16384];
    static unsigned char queued[16384];
    static const struct hc_rates rates[4] = {{1e-3, 0.9}, {2e-3, 0.8}, {3e-3, 0.85}, {1e-4, 0.95}};
    bool skips = !hc_recipe_steps_on_overflow(recipe);
    struct hc_storage *reported = NULL;
    for (int way = 0; way < 2; way++) {
        struct hc_step_log_row rows[3];
        begin(recipe);
        const float loss_right[2] = {0.5f, 7};
        reported = hc_storage_new(&device, HC_FP32, 2);
        cr_assert_eq(hc_storage_write(reported, loss_right), HC_OK);
        cr_assert_eq(hc_update_schedule(update, rates, 4), HC_OK);
        cr_assert_eq(hc_update_step_log(update, 3, hc_tensor1(HC_FP32, 1, reported->data),
                                        hc_tensor1(HC_FP32, 1, (float *)reported->data + 1)),
                     HC_OK);
        for (int s = 0; s < 4; s++) {
            gradients(s);
            if (s == 2)
                set(HC_STATE_GRADIENT, 1, 0, INFINITY);
            cr_assert_eq(way ? hc_update_queue(update)
                             : hc_update_step(update, rates[s].lr, rates[s].beta1),
                         HC_OK);
        }
        size_t bytes = all_bytes(way == 0 ? given : queued);
        if (way == 1)
            cr_assert_arr_eq(queued, given, bytes, "%s", recipe->name);
        cr_assert_eq(hc_update_read_step_log(update, rows), HC_OK);
        for (int r = 0; r < 3; r++) { /* steps 3, 1, 2 */
            cr_assert_eq(rows[r].loss, 0.5f);
            cr_assert_eq(rows[r].right, 7);
            cr_assert_eq(rows[r].found, r == 2 ? 1 : 0);
            cr_assert_eq(rows[r].scale, r == 0 ? 32768.0f : 65536.0f);
        }
        cr_assert_eq(counters().skipped, skips);
        cr_assert_eq(counters().taken, 4 - skips);
        end();
        hc_storage_drop(reported);
    }
}

Test(update_rates, queued_steps_have_the_bits_of_steps_with_given_rates_and_leave_their_rows)
{
    const struct hc_recipe recipes[] = {*hc_recipe_by_name("amp"), with_groups("amp"),
                                        with_groups("fastai-1.0.61-flat")};
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++)
        queued_and_given(&recipes[r]);
}

/* Three layers, of which the first is the first part: a rate of 0 leaves it where it began. */
Test(update_rates, layer_groups_of_a_schedule_have_rates_of_their_own)
{
    static const struct hc_rates rates[2] = {{1e-3, 0.9}, {2e-3, 0.8}};
    struct hc_recipe recipe = with_groups("amp");
    begin(&recipe);
    cr_assert_eq(hc_update_schedule(update, rates, 2), HC_OK);
    for (int s = 0; s < 2; s++) {
        gradients(s);
        cr_assert_eq(hc_update_queue(update), HC_OK);
    }
    for (int p = 0; p < SIZES; p++)
        cr_assert_eq(get(HC_STATE_MASTER, p, 0) == 1, p * 2 / SIZES == 0, "parameter %d", p);
    end();
}

/* Parameters that share a call, and parameters that do not: the bits are the same. */

TestSuite(update_spans, .init = open_exact, .fini = close_exact);

Test(update_spans, flat_and_per_tensor_masters_have_the_same_bits)
{
    static unsigned char flat[16384];
    static unsigned char apart[16384];
    size_t bytes[2];
    for (int way = 0; way < 2; way++) {
        struct hc_recipe recipe = *hc_recipe_by_name("fastai-004b-flat");
        recipe.apart = way != 0;
        recipe.flat = way == 0;
        recipe.decay_norm = false;
        begin(&recipe);
        for (int s = 0; s < 20; s++) {
            gradients(s);
            step(1e-3);
        }
        bytes[way] = all_bytes(way == 0 ? flat : apart);
        end();
    }
    cr_assert_eq(bytes[0], bytes[1]);
    cr_assert_arr_eq(flat, apart, bytes[0]);
}

static int calls[HC_OP_ROOM];

static void count_call(const struct hc_call *call, void *context)
{
    (void)context;
    calls[call->op]++;
}

/* Two fp16 weights with a norm between them, which is fp32: of each op one call for what has one
   format, and one optimizer for all masters that decay alike. */
Test(update_spans, neighbours_share_a_call_unless_the_recipe_keeps_them_apart)
{
    for (int apart = 0; apart < 2; apart++) {
        struct hc_recipe recipe = *hc_recipe_by_name("amp");
        recipe.apart = apart != 0;
        recipe.decay_norm = true;
        begin(&recipe);
        gradients(0);
        memset(calls, 0, sizeof calls);
        device.observe = count_call;
        step(1e-3);
        device.observe = NULL;
        cr_assert_eq(calls[HC_OP_rates], 1);
        cr_assert_eq(calls[HC_OP_scaler_update], 1);
        cr_assert_eq(calls[HC_OP_unscale], apart ? 3 : 2);
        cr_assert_eq(calls[HC_OP_adamw], apart ? 3 : 1);
        cr_assert_eq(calls[HC_OP_master_to_model], apart ? 3 : 2);
        end();
    }
}

static int64_t numbered[4 * MOST]; /* how often the number of an element was used */

static void count_numbers(const struct hc_call *call, void *context)
{
    const struct hc_stochastic *s = &call->params.adam.stochastic;
    (void)context;
    if (call->op != HC_OP_adamw)
        return;
    cr_assert_eq(s->on, call->in[HC_ADAM_W].format == HC_BF16);
    cr_assert_eq(s->seed, s->on ? 77 : 0);
    for (int64_t i = 0; s->on && i < hc_tensor_count(&call->in[HC_ADAM_W]); i++)
        numbered[s->first + i]++;
}

/* The fp32 norm comes first in memory and leaves numbers 0 to 63 to itself; of the weights 37 have
   64 to 100 and 16 have 128 to 143. */
Test(update_spans, stochastic_rounding_numbers_each_weight_once_however_the_calls_are_cut)
{
    for (int apart = 0; apart < 2; apart++) {
        struct hc_recipe recipe = *hc_recipe_by_name("bf16-sr");
        recipe.apart = apart != 0;
        begin(&recipe);
        hc_update_seed(update, 77);
        gradients(0);
        memset(numbered, 0, sizeof numbered);
        device.observe = count_numbers;
        step(1e-3);
        device.observe = NULL;
        for (int64_t i = 0; i < 4 * MOST; i++)
            if ((i >= 64 && i < 101) || (i >= 128 && i < 144))
                cr_assert_eq(numbered[i], 1, "%d", (int)i);
            else if (apart)
                cr_assert_eq(numbered[i], 0, "%d", (int)i);
        end();
    }
}

/* A parameter that got other storage is no neighbour any more, and the step still finds it. */
Test(update_spans, a_parameter_that_moved_is_stepped_where_it_is)
{
    static unsigned char stayed[16384];
    static unsigned char moved[16384];
    for (int way = 0; way < 2; way++) {
        begin(hc_recipe_by_name("fp32"));
        if (way == 1)
            cr_assert_eq(hc_parameter_place(list[2], hc_storage_new(&device, HC_FP32, sizes[2])),
                         HC_OK);
        for (int s = 0; s < 3; s++) {
            gradients(s);
            step(1e-3);
        }
        size_t bytes = all_bytes(way == 0 ? stayed : moved);
        if (way == 1)
            cr_assert_arr_eq(moved, stayed, bytes);
        end();
    }
}

Test(schedule, the_rate_starts_at_a_25th_peaks_in_the_middle_and_ends_at_a_250000th)
{
    struct hc_rates start = hc_one_cycle(3e-3, 101, 0);
    struct hc_rates peak = hc_one_cycle(3e-3, 101, 50);
    struct hc_rates end = hc_one_cycle(3e-3, 101, 100);
    cr_assert_eq(start.lr, 3e-3 / 25);
    cr_assert_float_eq(peak.lr, 3e-3, 1e-18);
    cr_assert_eq(end.lr, 3e-3 / 25 / 1e4);
    cr_assert_eq(start.beta1, 0.95);
    cr_assert_float_eq(peak.beta1, 0.85, 1e-15);
    cr_assert_eq(end.beta1, 0.95);
}

/* cos(pi/3) = 1/2 and cos(2 pi/3) = -1/2: a quarter and three quarters of the way down. */
Test(schedule, it_rises_on_a_line_and_falls_on_a_cosine)
{
    double low = 1.0 / 25;
    double end = low / 1e4;
    cr_assert_float_eq(hc_one_cycle(1, 13, 3).lr, low + (1 - low) / 2, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 3).beta1, 0.90, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 8).lr, end + 0.75 * (1 - end), 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 8).beta1, 0.95 - 0.75 * 0.1, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 10).lr, end + 0.25 * (1 - end), 1e-15);
}

Test(schedule, it_has_one_peak_for_odd_and_even_numbers_of_steps)
{
    for (int64_t steps = 1; steps < 40; steps++)
        for (int64_t step = 1; step < steps; step++) {
            struct hc_rates before = hc_one_cycle(1, steps, step - 1);
            struct hc_rates now = hc_one_cycle(1, steps, step);
            if (2 * step <= steps - 1)
                cr_assert(now.lr > before.lr && now.beta1 < before.beta1);
            else if (2 * (step - 1) >= steps - 1)
                cr_assert(now.lr < before.lr && now.beta1 > before.beta1);
        }
}
