/* A program that breaks the protocol, in whatever way, costs one call: the call says what happened,
   nothing is written but its output, and the next call is answered by a new process. */
#include "kernels/pipe/testing.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sums sums;

static struct hc_queue *opened(const struct hc_backend *backend)
{
    struct hc_queue *queue;
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK, "%s", hc_message());
    return queue;
}

Test(pipe, a_right_program_adds)
{
    const struct hc_backend *backend = hostile("good");
    struct hc_queue *queue = opened(backend);
    static const int64_t lengths[] = {0, 1, 2, 37, 4099, MOST};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        cr_assert_eq(add(backend, queue, &sums, lengths[i]), HC_OK, "%s", hc_message());
        expect_sums(&sums, lengths[i]);
    }
    backend->close(queue);
}

static const struct {
    const char *mode;
    int64_t n; /* elements */
    const char *line;
} breaks[] = {
    {"signal", 40, "died by signal 11 in call 2, add fp32 [40]"},
    {"exit", 40, "ended with status 3 in call 2, add fp32 [40]"},
    {"close", 40, "closed its standard output in call 2, add fp32 [40]"},
    {"hang", 40, "was silent for 0.3 s in call 2, add fp32 [40]"},
    {"half-line", 40, "was silent for 0.3 s in call 2, add fp32 [40]"},
    {"print", 40, "answers 'debug: here I am' instead of ok, no or error in call 2, add fp32 [40]"},
    {"binary", 40, "answers '\xff' instead of ok, no or error in call 2, add fp32 [40]"},
    {"zero", 40, "answers 'ok' instead of ok, no or error in call 2, add fp32 [40]"},
    {"long-line", 40, "sent a line of more than 65536 bytes in call 2, add fp32 [40]"},
    {"short", 40,
     "was silent for 0.3 s after 158 of the 160 bytes of out in call 2, add fp32 [40]"},
    {"short-exit", 40,
     "ended with status 0 after 158 of the 160 bytes of out in call 2, add fp32 [40]"},
    {"more", 40, "sent more than the outputs in call 2, add fp32 [40]"},
    {"deaf", MOST, "was silent for 0.3 s in call 2, add fp32 [65536]"},
    {"dies-deaf", MOST, "ended with status 4 in call 2, add fp32 [65536]"},
    {"early", MOST,
     "answers 'no, not that' instead of ok, no or error in call 2, add fp32 [65536]"},
};

/* A busy machine may take long to start a program: only what is silent waits for a short limit. */
enum { LONG = 30 };

Test(pipe, each_break_is_told_with_its_call_and_the_next_call_is_right)
{
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "%s 2", breaks[i].mode);
        hc_pipe_set_time_limit(LONG);
        const struct hc_backend *backend = hostile(line);
        struct hc_queue *queue = opened(backend);
        cr_assert_eq(add(backend, queue, &sums, 40), HC_OK, "%s", hc_message());
        hc_pipe_set_time_limit(strstr(breaks[i].line, "silent") ? 0.3 : LONG);
        cr_expect_eq(add(backend, queue, &sums, breaks[i].n), HC_DEVICE, "%s", breaks[i].mode);
        hc_pipe_set_time_limit(LONG);
        (void)snprintf(line, sizeof line, "%s %s", breaks[i].mode, breaks[i].line);
        cr_expect_str_eq(hc_message(), line, "%s", hc_message());
        for (int n = 0; n < 3; n++) {
            cr_assert_eq(add(backend, queue, &sums, 40), HC_OK, "%s", hc_message());
            expect_sums(&sums, 40);
        }
        backend->close(queue);
    }
}

Test(pipe, no_and_error_are_answers_after_which_the_program_goes_on)
{
    const struct hc_backend *no = hostile("no");
    const struct hc_backend *error = hostile("error");
    struct hc_queue *queue = opened(no);
    cr_assert_eq(add(no, queue, &sums, 3), HC_UNSUPPORTED);
    cr_expect_str_eq(hc_message(), "no: no such luck", "%s", hc_message());
    cr_assert_eq(add(no, queue, &sums, 3), HC_OK, "%s", hc_message());
    no->close(queue);
    queue = opened(error);
    cr_assert_eq(add(error, queue, &sums, 3), HC_DEVICE);
    cr_expect_str_eq(hc_message(), "error: the device is on  [31mfire (call 1, add fp32 [3])", "%s",
                     hc_message());
    cr_assert_eq(add(error, queue, &sums, 3), HC_OK, "%s", hc_message());
    error->close(queue);
}

Test(pipe, a_program_that_never_answers_is_given_up)
{
    const struct hc_backend *backend = hostile("exit 0");
    struct hc_queue *queue = opened(backend);
    for (int i = 0; i < 21; i++) {
        cr_assert_eq(add(backend, queue, &sums, 3), HC_DEVICE);
        cr_expect_not_null(strstr(hc_message(), "ended with status 3"), "%s", hc_message());
    }
    cr_assert_eq(add(backend, queue, &sums, 3), HC_DEVICE);
    cr_expect_str_eq(hc_message(), "exit was started 21 times without a good call, and is given up",
                     "%s", hc_message());
    backend->close(queue);
}

Test(pipe, shared_memory_in_hostile_hands_harms_nothing)
{
    const struct hc_backend *backend = hostile("attack");
    struct hc_queue *queue = opened(backend);
    for (int64_t n = MOST / 8; n <= MOST; n *= 2)
        cr_assert_eq(add(backend, queue, &sums, n), HC_OK, "%lld: %s", (long long)n, hc_message());
    backend->close(queue);
}

static int open_files(void)
{
    int files = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        files++;
    (void)closedir(folder);
    return files;
}

/* The program writes its process group's number, which its child has, too. */
Test(pipe, nothing_is_left_of_a_program_and_its_children)
{
    char spelling[4096];
    char file[] = "/tmp/halfcheck-test-XXXXXX";
    long group = 0;
    int made = mkstemp(file);
    int before = open_files();
    (void)snprintf(spelling, sizeof spelling, "pipe:echo $$ >%s; sleep 1000 & %s hang", file,
                   HC_HOSTILE);
    const struct hc_backend *backend = hc_pipe_backend(spelling);
    cr_assert_not_null(backend, "%s", hc_message());
    struct hc_queue *queue = opened(backend);
    hc_pipe_set_time_limit(0.3);
    cr_assert_eq(add(backend, queue, &sums, 3), HC_DEVICE);
    FILE *in = fdopen(made, "r");
    cr_assert_eq(fscanf(in, "%ld", &group), 1);
    (void)fclose(in);
    (void)unlink(file);
    cr_expect(group > 0 && all_end(group), "group %ld", group);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a zombie is left");
    cr_expect_eq(open_files(), before - 1); /* without `made` */
    backend->close(queue);
}

Test(pipe, two_queues_have_a_process_each_and_a_closed_one_is_used_again)
{
    const struct hc_backend *backend = hostile("good");
    struct hc_queue *one = opened(backend);
    struct hc_queue *two = opened(backend);
    cr_assert_neq(one, two);
    cr_assert_eq(add(backend, one, &sums, 3), HC_OK, "%s", hc_message());
    cr_assert_eq(add(backend, two, &sums, 3), HC_OK, "%s", hc_message());
    backend->close(one);
    cr_expect_eq(opened(backend), one);
    cr_expect(backend->concurrent && backend->partial && backend->free_order && !backend->fp64);
    backend->close(one);
    backend->close(two);
}

Test(pipe, a_format_that_was_not_offered_is_not_asked_for)
{
    const struct hc_backend *backend = hostile("exit 0");
    struct hc_queue *queue = opened(backend);
    uint16_t half[1] = {0};
    struct hc_tensor t = hc_tensor1(HC_FP16, 1, half);
    struct hc_call call = {.op = HC_OP_add, .in = {t, t}, .out = {t}};
    cr_expect_eq(backend->kernel[HC_OP_add](queue, &call), HC_UNSUPPORTED);
    cr_expect_str_eq(hc_message(), "exit takes no fp16 in add", "%s", hc_message());
    cr_expect_null(backend->kernel[HC_OP_sub]);
    backend->close(queue);
}

Test(pipe, the_same_spelling_is_the_same_backend_and_a_name_is_had_once)
{
    char spelling[4096];
    const struct hc_backend *backend = hostile("good");
    cr_expect_eq(hostile("good"), backend);
    cr_expect_eq(hc_backend_by_name(backend->spelled), backend);
    (void)snprintf(spelling, sizeof spelling, "pipe:exec %s good", HC_HOSTILE);
    cr_expect_null(hc_pipe_backend(spelling));
    cr_expect_not_null(strstr(hc_message(), "calls itself good, as another backend does"), "%s",
                       hc_message());
    (void)snprintf(spelling, sizeof spelling, "pipe:%s exact", HC_HOSTILE);
    cr_expect_null(hc_pipe_backend(spelling));
    cr_expect_not_null(strstr(hc_message(), "calls itself exact"), "%s", hc_message());
}

Test(pipe, what_cannot_be_started_is_told_in_a_line)
{
    static const struct {
        const char *spelling;
        const char *line;
    } rows[] = {
        {"pipe:no-such-program a b", "pipe:no-such-program a b: there is no such program"},
        {"pipe:/nowhere/at/all", "pipe:/nowhere/at/all: there is no such program"},
        {"pipe:", "pipe: needs the command of a program"},
        {"pipe: \t", "pipe: needs the command of a program"},
        {"pipe:\n", "pipe: needs the command of a program"},
        {"pipe:true", "pipe:true ended with status 0 before it greeted"},
        {"pipe:exit 3", "pipe:exit 3 ended with status 3 before it greeted"},
        {"pipe:kill -9 $$", "pipe:kill -9 $$ died by signal 9 before it greeted"},
        {"pipe:sleep 9", "pipe:sleep 9 was silent for 0.3 s before it greeted"},
        {"pipe:cat", "pipe:cat greets wrongly: it lacks \"name\""},
        {"pipe:yes a | tr -d '\\n'",
         "pipe:yes a | tr -d '\\n' sent a line of more than 65536 bytes before it greeted"},
        {"pipe-fd:x", "pipe-fd: takes two descriptors R,W, not 'x'"},
        {"pipe-fd:1,2,", "pipe-fd: takes two descriptors R,W, not '1,2,'"},
        {"pipe-fd:97,98", "pipe-fd:97,98: descriptor 97 cannot be read"},
    };
    int before = open_files();
    hc_pipe_set_time_limit(0.3);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_null(hc_pipe_backend(rows[i].spelling), "%s", rows[i].spelling);
        cr_expect_str_eq(hc_message(), rows[i].line, "%s", hc_message());
    }
    cr_expect_eq(open_files(), before);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a zombie is left");
}
