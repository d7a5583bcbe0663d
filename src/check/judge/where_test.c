/* Where wrong elements lie: planted patterns. */
#include "check/judge/testing.h"

enum { RIGHT = 1, WRONG = 2 };

struct planted {
    const char *text;
    bool (*wrong)(int64_t n, int64_t h, int64_t w, int64_t c);
};

static bool border(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)c;
    return h == 0 || h == 4 || w == 0 || w == 5;
}
static bool border_of_one(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return border(n, h, w, c) && n == 1 && c == 3;
}
static bool channel(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)h, (void)w;
    return c == 7;
}
static bool image(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)h, (void)w, (void)c;
    return n == 2;
}
static bool row(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)w, (void)c;
    return h == 4;
}
static bool last_columns(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)h, (void)c;
    return w >= 4;
}
static bool strided(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)h, (void)w;
    return c % 3 == 1;
}
static bool first_images(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)h, (void)w, (void)c;
    return n < 2;
}
static bool middle(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)h, (void)w;
    return c >= 4 && c < 8;
}
static bool scattered(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (n * 7 + h * 5 + w * 11 + c * 13) % 17 == 0;
}
static bool one(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return n == 1 && h == 1 && w == 1 && c == 1;
}
static bool all(int64_t n, int64_t h, int64_t w, int64_t c)
{
    (void)n, (void)h, (void)w, (void)c;
    return true;
}

static const struct planted rows[] = {
    {"the border", border},
    {"image 1, the border, channel 3", border_of_one},
    {"channel 7", channel},
    {"image 2", image},
    {"row 4", row},
    {"the last 2 columns", last_columns},
    {"every 3rd channel from 1 on", strided},
    {"the first 2 images", first_images},
    {"channels 4 to 7", middle},
    {"", scattered},
    {"", one},
    {"", all},
};

/* Images [3, 5, 6, 16]. */
Test(where, patterns_in_images_are_told)
{
    enum { N = 3, H = 5, W = 6, C = 16 };
    struct hc_tensor t = hc_tensor4(HC_FP16, N, H, W, C, NULL);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        unsigned char judged[N * H * W * C];
        char text[HC_WHERE_TEXT];
        for (int64_t i = 0; i < N * H * W * C; i++)
            judged[i] =
                rows[r].wrong(i / (H * W * C), i / (W * C) % H, i / C % W, i % C) ? WRONG : RIGHT;
        hc_judge_where(&t, false, judged, text, sizeof text);
        cr_expect_str_eq(text, rows[r].text, "'%s', not '%s'", text, rows[r].text);
    }
}

Test(where, filters_are_no_images)
{
    struct hc_tensor t = hc_tensor4(HC_FP16, 3, 1, 1, 2, NULL);
    const unsigned char judged[] = {RIGHT, RIGHT, RIGHT, RIGHT, WRONG, WRONG};
    char text[HC_WHERE_TEXT];
    hc_judge_where(&t, true, judged, text, sizeof text);
    cr_expect_str_eq(text, "filter 2", "%s", text);
}

static const char *of_vector(int64_t n, const int64_t *wrong, int64_t count, const int64_t *right,
                             int64_t right_count)
{
    static char text[HC_WHERE_TEXT];
    unsigned char judged[1000] = {0};
    struct hc_tensor t = hc_tensor1(HC_FP32, n, NULL);
    for (int64_t i = 0; i < count; i++)
        judged[wrong[i]] = WRONG;
    for (int64_t i = 0; i < right_count; i++)
        judged[right[i]] = RIGHT;
    hc_judge_where(&t, false, judged, text, sizeof text);
    return text;
}

/* Elements that were not judged are neither right nor wrong. */
Test(where, patterns_in_vectors_are_told)
{
    const int64_t tail[] = {995, 996, 997, 998, 999};
    const int64_t steps[] = {5, 37, 69, 101};
    const int64_t two[] = {5, 37};
    const int64_t right[] = {0, 6, 500, 38, 39};
    const int64_t inside[] = {6, 7};
    cr_expect_str_eq(of_vector(1000, tail, 5, right, 3), "the last 5 elements");
    cr_expect_str_eq(of_vector(1000, steps, 4, right, 3), "every 32nd element from 5 on");
    cr_expect_str_eq(of_vector(1000, two, 2, right, 5), "");
    cr_expect_str_eq(of_vector(1000, tail, 4, tail + 4, 1), "elements 995 to 998");
    cr_expect_str_eq(of_vector(1000, (int64_t[]){5, 8}, 2, inside, 1), "");
    cr_expect_str_eq(of_vector(1000, (int64_t[]){4, 5, 8, 9}, 4, inside, 1), "elements 4 to 9");
    cr_expect_str_eq(of_vector(1000, (int64_t[]){4, 5, 8, 9}, 4, inside, 2), "");
}

Test(where, patterns_in_matrices_are_told)
{
    struct hc_tensor t = hc_tensor2(HC_FP32, 4, 8, NULL);
    unsigned char judged[32];
    char text[HC_WHERE_TEXT];
    for (int i = 0; i < 32; i++)
        judged[i] = i % 8 >= 6 && i / 8 == 2 ? WRONG : RIGHT;
    hc_judge_where(&t, false, judged, text, sizeof text);
    cr_expect_str_eq(text, "row 2, the last 2 columns");
}
