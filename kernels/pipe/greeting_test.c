#include "kernels/pipe/greeting.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct hc_greeting g;

static enum hc_status reads(const char *line)
{
    return hc_greeting_read(&g, "pipe:x", line, strlen(line));
}

Test(greeting, everything_that_can_be_said_is_read)
{
    cr_assert_eq(
        reads("{\"pipe\": 1, \"name\": \"mine-1.0_b\", \"title\": \"my\\tkernels\", \"ops\": "
              "{\"adamw\": {\"formats\": [\"fp32\", \"fp64\"], \"orders\": "
              "[\"torch-fused\", \"apex\"]}, \"gemm\": {}, \"cast\": {}}, "
              "\"layout\": \"nchw\", \"accumulator\": {\"precision\": 30, \"block\": 4, "
              "\"extra_bits\": 2, \"truncates\": true, \"flushes\": true, "
              "\"aligns_subnormals\": true}, "
              "\"borders\": {\"vector\": [8, 64], "
              "\"gemm_k\": [16]}, \"nondeterministic\": true, \"canonical_nan\": true, "
              "\"parallel\": true, \"shared\": true, \"facts\": {\"torch\": \"2.9.0\"}}"),
        HC_OK, "%s", hc_message());
    cr_expect_str_eq(g.name, "mine-1.0_b");
    cr_expect_str_eq(g.title, "my kernels");
    cr_expect(g.has[HC_OP_adamw] && g.has[HC_OP_gemm] && !g.has[HC_OP_adam]);
    cr_expect_eq(g.formats[HC_OP_adamw], 1u << HC_FP32 | 1u << HC_FP64);
    cr_expect_eq(g.formats[HC_OP_gemm], 1u << HC_FP32 | 1u << HC_BF16 | 1u << HC_FP16);
    cr_expect(g.formats[HC_OP_cast] >> HC_E4M3 & 1);
    cr_expect_eq(g.orders[HC_OP_adamw], 1u << HC_ORDER_TORCH_FUSED | 1u << HC_ORDER_APEX);
    cr_expect(g.nchw && g.nondeterministic && g.canonical_nan && g.parallel && g.shared);
    cr_expect(g.accumulator.precision == 30 && g.accumulator.block == 4 &&
              g.accumulator.extra_bits == 2 && g.accumulator.truncates && g.accumulator.flushes &&
              g.accumulator.aligns_subnormals);
    cr_expect(g.borders[0].extent == HC_EXTENT_VECTOR && g.borders[1].size == 64);
    cr_expect(g.borders[2].extent == HC_EXTENT_GEMM_K && g.borders[3].size == 0);
    cr_expect(g.facts == 1 && strcmp(g.fact[0].fact, "2.9.0") == 0);
}

Test(greeting, formats_that_are_flushed_are_read)
{
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {}}, \"accumulator\": "
                       "{\"precision\": 24, \"flushes\": [\"bf16\", \"tf32\"]}}"),
                 HC_OK, "%s", hc_message());
    cr_expect(!g.accumulator.flushes);
    cr_expect_eq(g.flushed[HC_OP_gemm], 1u << HC_BF16 | 1u << HC_TF32);
    cr_expect_eq(g.flushed[HC_OP_dot], 1u << HC_BF16 | 1u << HC_TF32);
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {}}, \"accumulator\": "
                       "{\"precision\": 24, \"flushes\": [\"tf32\", \"gemm/bf16\"]}}"),
                 HC_OK, "%s", hc_message());
    cr_expect_eq(g.flushed[HC_OP_gemm], 1u << HC_BF16 | 1u << HC_TF32);
    cr_expect_eq(g.flushed[HC_OP_dot], 1u << HC_TF32);
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {}}, \"accumulator\": "
                       "{\"precision\": 24, \"flushes\": []}}"),
                 HC_OK, "%s", hc_message());
    cr_expect(!g.accumulator.flushes && g.flushed[HC_OP_gemm] == 0);
    static const char *const wrong[] = {"gem/bf16", "gemm/bf17", "gemm/", "/bf16", "gemm/bf16/"};
    for (int i = 0; i < 5; i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {}}, \"accumulator\": "
                       "{\"precision\": 24, \"flushes\": [\"%s\"]}}",
                       wrong[i]);
        cr_expect_eq(reads(line), HC_INVALID, "%s", wrong[i]);
    }
}

Test(greeting, what_is_not_said_is_usual)
{
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"add\": {}}}"), HC_OK, "%s",
                 hc_message());
    cr_expect(!g.nchw && !g.nondeterministic && !g.canonical_nan && !g.parallel && !g.shared);
    cr_expect(g.accumulator.precision == 24 && g.accumulator.block == 1);
    cr_expect(!g.accumulator.flushes && !g.accumulator.aligns_subnormals);
    cr_expect(g.borders[0].size == 0 && g.facts == 0);
}

/* A program of before gemm took fp8 says no formats, and is not asked for it. */
Test(greeting, fp64_and_fp8_of_gemm_must_be_named)
{
    unsigned single = 1u << HC_FP32 | 1u << HC_BF16 | 1u << HC_FP16;
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {}, \"cast\": {}}}"),
                 HC_OK, "%s", hc_message());
    cr_expect_eq(g.formats[HC_OP_gemm], single);
    cr_expect(g.formats[HC_OP_cast] >> HC_E4M3 & 1);
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"gemm\": {\"formats\": "
                       "[\"e4m3\", \"fp64\"]}}}"),
                 HC_OK, "%s", hc_message());
    cr_expect_eq(g.formats[HC_OP_gemm], 1u << HC_E4M3 | 1u << HC_FP64);
    cr_assert_eq(reads("{\"pipe\": 1, \"name\": \"a\", \"ops\": {\"dot\": {\"formats\": "
                       "[\"e4m3\"]}}}"),
                 HC_INVALID);
}

/* A line that is refused, with ' for each ", and a part of the message. */
struct refused {
    const char *line;
    const char *why;
};

/* The rows' lines stand between `begin` and `end`. The last row has no line. */
static void are_refused(const char *begin, const struct refused *rows, const char *end)
{
    char line[256];
    for (; rows->line; rows++) {
        (void)snprintf(line, sizeof line, "%s%s%s", begin, rows->line, end);
        for (char *quote; (quote = strchr(line, '\'')) != NULL;)
            *quote = '"';
        cr_expect_eq(reads(line), HC_INVALID, "%s", line);
        cr_expect(strncmp(hc_message(), "pipe:x greets wrongly: ", 23) == 0, "%s", hc_message());
        cr_expect_not_null(strstr(hc_message(), rows->why), "%s: %s", line, hc_message());
    }
}

Test(greeting, what_is_no_greeting_is_told)
{
    static const struct refused rows[] = {
        {"", "it is no JSON"},
        {"ok", "it is no JSON"},
        {"[]", "it is no object"},
        {"{}", "it lacks \"pipe\""},
        {"{'pipe': 1, 'pipe': 1}", "it is no JSON: duplicate object key"},
        {"{'pipe': 2}", "\"pipe\" is not 1, the version that halfcheck speaks"},
        {"{'pipe': '1'}", "\"pipe\" is not 1"},
        {"{'pipe': 1, 'name': ''}", "\"name\" is not 1 to 40"},
        {"{'pipe': 1, 'name': 'A'}", "\"name\" is not 1 to 40"},
        {"{'pipe': 1, 'name': '../etc'}", "\"name\" is not 1 to 40"},
        {"{'pipe': 1, 'name': 'a'}", "it lacks \"ops\""},
        {NULL, NULL},
    };
    are_refused("", rows, "");
}

Test(greeting, what_is_wrong_with_its_ops_is_told)
{
    static const struct refused rows[] = {
        {"{}", "\"ops\" is no object of ops"},
        {"['add']", "\"ops\" is no object of ops"},
        {"{'ad': {}}", "there is no op 'ad'; did you mean 'add'?; see: halfcheck list ops"},
        {"{'add': 1}", "in \"ops\", add is no object"},
        {"{'add': {'format': []}}", "add has no 'format'; it has \"formats\""},
        {"{'add': {'formats': []}}", "the \"formats\" of add are no array of words"},
        {"{'add': {'formats': ['float']}}", "'float' is none of the \"formats\" of add"},
        {"{'add': {'formats': [7]}}", "'something' is none of the \"formats\" of add"},
        {"{'add': {'formats': ['i32']}}", "the first input of add is never i32"},
        {"{'add': {'orders': ['apex']}}", "add has no 'orders'; it has \"formats\""},
        {"{'adam': {'orders': ['torch']}}", "'torch' is none of the \"orders\" of adam"},
        {NULL, NULL},
    };
    are_refused("{'pipe': 1, 'name': 'a', 'ops': ", rows, "}");
}

Test(greeting, an_accumulator_that_cannot_be_is_told)
{
    static const struct refused rows[] = {
        {"{}", "\"accumulator\": "},
        {"{'precision': 24, 'blocks': 1}", "\"accumulator\": "},
        {"{'precision': 24, 'flushes': 1}",
         "\"flushes\" is neither true nor false nor an array of formats"},
        {"{'precision': 24, 'flushes': ['half']}",
         "\"accumulator\": 'half' in \"flushes\" is no format, such as bf16 or tf32"},
        {"{'precision': 24, 'flushes': ['BF16']}", "'BF16' in \"flushes\" is no format"},
        {"{'precision': 24, 'flushes': ['bf16', 7]}", "'something' in \"flushes\" is no format"},
        {"{'precision': 7}", "\"accumulator\" is impossible"},
        {"{'precision': 4294967320}", "\"accumulator\" is impossible"},
        {"{'precision': -4294967272}", "\"accumulator\" is impossible"},
        {"{'precision': 24, 'block': 4294967297}", "\"accumulator\" is impossible"},
        {"{'precision': 24, 'extra_bits': -4294967294}", "\"accumulator\" is impossible"},
        {"{'precision': 9223372036854775807}", "\"accumulator\" is impossible"},
        {NULL, NULL},
    };
    are_refused("{'pipe': 1, 'name': 'a', 'ops': {'add': {}}, 'accumulator': ", rows, "}");
}

Test(greeting, what_is_wrong_with_its_other_keys_is_told)
{
    static const struct refused rows[] = {
        {"'layout': 'nhcw'", "\"layout\" is neither"},
        {"'parallel': 1", "\"parallel\" is neither true nor false"},
        {"'paralel': true", "there is no key 'paralel'; did you mean 'parallel'?"},
        {"'title': 3", "\"title\" is no string"},
        {"'borders': {'vektor': [1]}", "there is no extent 'vektor'; did you mean 'vector'?"},
        {"'borders': {'vector': [0]}", "a size of vector is not 1 to 16777216"},
        {"'facts': {'a': 1}", "in \"facts\", 'a' is no string"},
        {NULL, NULL},
    };
    are_refused("{'pipe': 1, 'name': 'a', 'ops': {'add': {}}, ", rows, "}");
}
