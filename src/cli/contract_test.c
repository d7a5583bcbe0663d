/* The contract of an op, as list and explain print it. */
#include "cli/testing.h"

#include <jansson.h>

#include "op/op.h"
#include "op/params.h"

static json_t *op_named(json_t *ops, const char *name)
{
    size_t i;
    json_t *op;
    json_array_foreach(ops, i, op)
    {
        if (strcmp(json_string_value(json_object_get(op, "name")), name) == 0)
            return op;
    }
    return NULL;
}

/* The value of a slot's key as JSON. */
static const char *value(json_t *op, const char *slot, const char *key)
{
    static char text[256];
    json_t *slots = json_object_get(op, "slots");
    json_t *s = op_named(slots, slot);
    char *dump = s ? json_dumps(json_object_get(s, key), JSON_ENCODE_ANY) : NULL;
    (void)snprintf(text, sizeof text, "%s", dump ? dump : "missing");
    free(dump);
    return text;
}

Test(contract, list_ops_as_json_has_every_slot_with_what_it_takes, .init = enter_folder)
{
    cr_assert_eq(run_shell("$hc list ops --json > ops.json")->status, 0);
    json_t *ops = json_load_file("ops.json", 0, NULL);
    cr_assert_eq((int)json_array_size(ops), HC_OP_COUNT);
    size_t i;
    json_t *op;
    json_array_foreach(ops, i, op)
    {
        json_int_t slots = json_integer_value(json_object_get(op, "inputs")) +
                           json_integer_value(json_object_get(op, "outputs"));
        cr_expect_eq((json_int_t)json_array_size(json_object_get(op, "slots")), slots, "%s",
                     json_string_value(json_object_get(op, "name")));
    }
    json_t *adam = op_named(ops, "adam");
    cr_expect_str_eq(value(adam, "w", "formats"), "[\"fp32\", \"bf16\", \"fp16\"]");
    cr_expect_str_eq(value(adam, "w", "direction"), "\"in\"");
    cr_expect_str_eq(value(adam, "w", "shape"), "\"any\"");
    cr_expect_str_eq(value(adam, "hyper", "formats"), "[\"fp32\"]");
    cr_expect_str_eq(value(adam, "hyper", "shape"), "\"[3]\"");
    cr_expect_str_eq(value(adam, "hyper", "elements"), "[\"lr\", \"beta1\", \"step\"]");
    cr_expect_str_eq(value(adam, "found_inf", "optional"), "true");
    cr_expect_str_eq(value(adam, "m", "optional"), "false");
    cr_expect_str_eq(value(adam, "m", "in_place"), "null");
    cr_expect_str_eq(value(adam, "new_m", "direction"), "\"out\"");
    cr_expect_str_eq(value(adam, "new_m", "format_of"), "\"m\"");
    cr_expect_str_eq(value(adam, "new_m", "in_place"), "\"m\"");
    json_t *conv = op_named(ops, "conv2d");
    cr_expect_str_eq(value(conv, "w", "shape"), "\"[K, R, S, C]\"");
    cr_expect_str_eq(value(conv, "w", "format_of"), "\"x\"");
    json_t *norm = op_named(ops, "bn_train");
    cr_expect_str_eq(value(norm, "saved_mean", "formats"), "[\"fp32\"]");
    cr_expect_str_eq(value(norm, "saved_mean", "shape"), "\"[C]\"");
    cr_expect_str_eq(value(norm, "dy", "shape"), "missing");
    json_decref(ops);
}

Test(contract, the_text_of_list_ops_has_its_columns_as_before, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc list ops | grep ^adam'\t' | cut -f1-4");
    cr_expect_str_eq(ran->out, "adam\t7\t4\tAdam, decay added to the gradient\n");
    cr_expect_eq(run_shell("$hc list ops | awk -F'\t' 'NF != 5' | grep .")->status, 1);
}

Test(contract, explain_tells_the_contract_of_an_op, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc explain op/adam");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    const char *lines[] = {
        "op/adam: Adam, decay added to the gradient\n",
        "src/op/optimizer.h",
        "\n  w                 fp32, bf16, fp16 or fp64; any shape\n",
        "\n  hyper             fp32 [3]: lr, beta1, step\n",
        "\n  found_inf         fp32 [1]; optional\n",
        "\n  new_m             m's format; as many elements as w; may be m itself\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        cr_expect_not_null(strstr(ran->out, lines[i]), "no '%s' in:\n%s", lines[i], ran->out);
    for (const char *at = ran->out; *at; at += strcspn(at, "\n") + 1)
        cr_expect_leq(strcspn(at, "\n"), 80, "%.90s", at);
}

Test(contract, explain_suggests_an_op_whose_name_is_not_quite_right, .init = enter_folder)
{
    expect_refusal("$hc explain op/adem", "did you mean 'op/adam'?");
}

Test(contract, explain_of_an_op_refuses_a_backend_that_is_none, .init = enter_folder)
{
    expect_refusal("$hc explain op/adam --backend nonsense", "no backend 'nonsense'");
    expect_refusal("$hc explain op/adam --backend ''", "--backend");
    expect_refusal("$hc explain op/adam --backend exact,,host", "exact,,host");
    cr_expect_eq(run_shell("$hc explain op/adam --backend exact")->status, 0);
}

Test(contract, explain_has_a_line_for_every_slot_and_parameter_of_every_op, .init = enter_folder)
{
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char line[128];
        (void)snprintf(line, sizeof line, "$hc explain op/%s", hc_ops[op].name);
        const struct ran *ran = run_shell(line);
        cr_assert_eq(ran->status, 0, "%s", ran->err);
        int lines = 0;
        const char *at = strstr(ran->out, "\ninputs\n");
        for (; at && (at = strstr(at, "\n  ")) != NULL; at++)
            lines += at[3] != ' ';
        int params = 0;
        for (const struct hc_param *p = hc_op_params((enum hc_op)op); p->name; p++)
            params++;
        cr_expect_eq(lines, hc_ops[op].inputs + hc_ops[op].outputs + params, "%s", ran->out);
    }
}

/* A call is in fp64 if its first input is; both kinds of call are told apart. */
Test(contract, list_ops_as_json_tells_calls_in_fp64_from_others, .init = enter_folder)
{
    cr_assert_eq(run_shell("$hc list ops --json > ops.json")->status, 0);
    json_t *ops = json_load_file("ops.json", 0, NULL);
    json_t *adam = op_named(ops, "adam");
    cr_expect_str_eq(value(adam, "w", "formats"), "[\"fp32\", \"bf16\", \"fp16\"]");
    cr_expect_str_eq(value(adam, "w", "formats_fp64"), "[\"fp64\"]");
    cr_expect_str_eq(value(adam, "g", "formats"), "[\"fp32\", \"bf16\", \"fp16\"]");
    cr_expect_str_eq(value(adam, "g", "formats_fp64"), "[\"fp64\"]");
    cr_expect_str_eq(value(adam, "hyper", "formats_fp64"), "[\"fp32\"]");
    cr_expect(json_is_true(json_object_get(adam, "fp64")));
    cr_expect(json_is_true(json_object_get(adam, "same_bits")));
    cr_expect_str_eq(json_string_value(json_object_get(adam, "contract")), "src/op/optimizer.h");
    json_t *gemm = op_named(ops, "gemm");
    cr_expect_str_eq(value(gemm, "b", "formats"),
                     "[\"fp32\", \"bf16\", \"fp16\", \"e4m3\", \"e5m2\", \"e4m3fnuz\", "
                     "\"e5m2fnuz\"]");
    cr_expect_str_eq(value(gemm, "c", "formats"), "[\"fp32\", \"bf16\", \"fp16\"]");
    cr_expect_str_eq(value(gemm, "b", "formats_fp64"), "[\"fp64\"]");
    cr_expect(json_is_false(json_object_get(gemm, "same_bits")));
    json_t *add = op_named(ops, "add"); /* takes fp64, without a rule about it */
    cr_expect_str_eq(value(add, "x", "formats"), "[\"fp64\", \"fp32\", \"bf16\", \"fp16\"]");
    cr_expect_str_eq(value(add, "x", "formats_fp64"), "null");
    cr_expect(json_is_false(json_object_get(add, "fp64")));
    json_decref(ops);
}

/* What hc_call_check accepts where every element is computed from those at the same place. */
Test(contract, any_input_may_be_overwritten_by_elementwise_ops, .init = enter_folder)
{
    const char *line = "an output may be any input of the same format and size";
    cr_expect_not_null(strstr(run_shell("$hc explain op/axpy")->out, line));
    cr_expect_null(strstr(run_shell("$hc explain op/adam")->out, line));
    cr_expect_null(strstr(run_shell("$hc explain op/bn_train")->out, line));
    cr_assert_eq(run_shell("$hc list ops --json > ops.json")->status, 0);
    json_t *ops = json_load_file("ops.json", 0, NULL);
    cr_expect(json_is_true(json_object_get(op_named(ops, "add"), "in_place_any")));
    cr_expect(json_is_false(json_object_get(op_named(ops, "adam"), "in_place_any")));
    cr_expect(json_is_false(json_object_get(op_named(ops, "bn_train"), "in_place_any")));
    json_decref(ops);
}

Test(contract, rules_between_operands_are_told, .init = enter_folder)
{
    static const struct {
        const char *op;
        const char *line;
    } rules[] = {
        {"bn_train",
         "\n  x                 fp32, bf16, fp16 or fp64 [N, H, W, C]; any rank from 2 on\n"},
        {"bn_bwd", " [N, H, W, C]; any rank from 2 on\n"},
        {"bn_leaky_train", " [N, H, W, C]; any rank from 2 on\n"},
        {"bn_leaky_bwd", " [N, H, W, C]; any rank from 2 on\n"},
        {"bn_infer", "\n  x                 fp32, bf16, fp16 or fp64; any shape\n"},
        {"gemm", "e5m2fnuz or fp64\n                    [M, K]; [K, M] with transpose_a\n"},
        {"gemm", "or of their\n                    FNUZ formats [K, N]"},
        {"gemm", "; optional\n                    if beta is 0\n"},
        {"unscale", "fp32 with an override"},
        {"conv2d", "\n  stride            an integer; default 1\n"},
        {"quantize",
         "\n  rows              an integer: the rows of a block, 0 for all; default 0\n"},
        {"quantize", "mx-floor"},
        {"cast", "nearest, toward-zero, upward or downward; default"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "$hc explain op/%s", rules[i].op);
        const struct ran *ran = run_shell(line);
        cr_expect_not_null(strstr(ran->out, rules[i].line), "no '%s' in:\n%s", rules[i].line,
                           ran->out);
    }
    cr_assert_eq(run_shell("$hc list ops --json > ops.json")->status, 0);
    json_t *ops = json_load_file("ops.json", 0, NULL);
    json_t *gemm = op_named(ops, "gemm");
    cr_expect_str_eq(value(gemm, "a", "note"), "\"[K, M] with transpose_a\"");
    cr_expect_str_eq(value(gemm, "out", "note"), "null");
    cr_expect_str_eq(value(op_named(ops, "bn_train"), "x", "shape"), "\"[N, H, W, C]\"");
    json_decref(ops);
}

Test(contract, sums_in_a_format_of_16_bits_have_the_same_bits, .init = enter_folder)
{
    const char *line = "with a 16-bit accumulator every backend gives the same bits";
    cr_expect_not_null(strstr(run_shell("$hc explain op/sum")->out, line));
    cr_expect_not_null(strstr(run_shell("$hc explain op/dot")->out, line));
    cr_expect_null(strstr(run_shell("$hc explain op/sum_squares")->out, line));
    cr_expect_not_null(strstr(run_shell("$hc explain op/leaky_relu_bwd")->out,
                              "slope * dy where the output is not above zero"));
}

Test(contract, explain_of_no_op_names_both_lists, .init = enter_folder)
{
    expect_refusal("$hc explain op/Foo", "no case or op 'op/Foo'");
    expect_refusal("$hc explain op/Foo", "see: halfcheck list");
}

Test(contract, list_ops_as_json_has_every_parameter_with_what_it_takes, .init = enter_folder)
{
    cr_assert_eq(run_shell("$hc list ops --json > ops.json")->status, 0);
    json_t *ops = json_load_file("ops.json", 0, NULL);
    json_t *params = json_object_get(op_named(ops, "adamw"), "params");
    cr_assert_not_null(params);
    char *order = json_dumps(op_named(params, "order"), 0);
    cr_expect_str_eq(order,
                     "{\"name\": \"order\", \"kind\": \"word\", \"elements\": 1, \"choices\": "
                     "[\"ours\", \"torch-fused\", \"torch-loop\", \"apex\"], "
                     "\"usual\": \"ours\"}",
                     "%s", order);
    char *beta2 = json_dumps(op_named(params, "beta2"), 0);
    cr_expect_str_eq(
        beta2,
        "{\"name\": \"beta2\", \"kind\": \"real\", \"elements\": 1, \"choices\": null, "
        "\"usual\": \"0.999\"}",
        "%s", beta2);
    cr_expect_eq(json_array_size(json_object_get(op_named(ops, "add"), "params")), 0);
    free(order);
    free(beta2);
    json_decref(ops);
}
