/* Whatever a program sends, nothing but the call's outputs is written: answers and greetings that
   differ from right ones by chance. The sanitizers see the same (preset asan). */
#include "kernels/pipe/greeting.h"
#include "kernels/pipe/testing.h"
#include "num/rng.h"

static struct sums sums;

Test(fuzz, mutated_answers_write_nothing_but_the_output)
{
    enum { CALLS = 200 };
    int good = 0;
    int bad = 0;
    hc_pipe_set_time_limit(0.02);
    const struct hc_backend *backend = hostile("fuzz 1");
    struct hc_queue *queue;
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    for (int i = 0; i < CALLS; i++) {
        enum hc_status status = add(backend, queue, &sums, i % 97);
        good += status == HC_OK;
        bad += status == HC_DEVICE;
        cr_assert(status == HC_OK || status == HC_DEVICE || status == HC_UNSUPPORTED);
    }
    backend->close(queue);
    cr_expect_geq(good, CALLS / 20, "%d", good);
    cr_expect_geq(bad, CALLS / 4, "%d", bad);
}

Test(fuzz, mutated_greetings_are_read_or_refused)
{
    static const char right[] =
        "{\"pipe\": 1, \"name\": \"mine\", \"title\": \"my kernels\", \"ops\": {\"adamw\": "
        "{\"formats\": [\"fp32\", \"bf16\"], \"orders\": [\"torch-fused\"]}, \"gemm\": {}}, "
        "\"layout\": \"nchw\", \"accumulator\": {\"precision\": 24, \"block\": 1}, \"borders\": "
        "{\"vector\": [8, 64]}, \"shared\": true, \"facts\": {\"torch\": \"2.9.0\"}}";
    static struct hc_greeting greeting;
    int read = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        char line[sizeof right];
        memcpy(line, right, sizeof right);
        size_t length = sizeof right - 1;
        for (uint64_t m = 0; m < 1 + i % 3; m++) {
            uint64_t bits = hc_random(12, i, m);
            size_t at = bits % length;
            if (bits >> 60 < 8)
                line[at] = (char)(bits >> 32);
            else if (bits >> 60 < 12)
                line[at] = right[(bits >> 32) % length];
            else
                length = at + 1;
        }
        read += hc_greeting_read(&greeting, "pipe:x", line, length) == HC_OK;
    }
    cr_expect(read > 0 && read < 10000, "%d", read);
}
