/* The program where memory is short: one line and status 2, whatever it was doing; never a
   signal. */
#include "cli/testing.h"

/* The sanitizers map more than any limit leaves. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* From too little to start (the loader's own message, status 127) to enough for two threads: with
   many the stacks alone are more, and libgomp ends the program itself. */
static const int limits[] = {60, 80, 120, 160, 200};

static void expect_an_orderly_end(const char *what)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, "ulimit -v %d; OMP_NUM_THREADS=2 $hc %s", limits[i] << 10,
                       what);
        const struct ran *ran = run_shell(line);
        bool whole = ran->status == 0;
        bool short_of_memory = ran->status == 2;
        cr_expect(whole || short_of_memory || ran->status == 127, "%s: status %d, %s", line,
                  ran->status, ran->err);
        cr_expect(ran->status != 2 || lines_of(ran->err) == 1, "%s: %s", line, ran->err);
    }
}

Test(limits, a_run_short_of_memory_ends_with_status_2, .init = enter_folder, .disabled = SANITIZED)
{
    expect_an_orderly_end("run 'op/gemm/*' 'op/conv2d*' 'op/bn_*' --backend host");
}

Test(limits, a_training_short_of_memory_ends_with_status_2, .init = enter_folder,
     .disabled = SANITIZED)
{
    expect_an_orderly_end("train --recipe amp --images 8 --epochs 1 --out t");
}

/* Below some limit the loader or libgomp says why the program does not begin, or the loader itself
   crashes. */
static bool begins(const struct ran *ran)
{
    return ran->status != 127 && !strstr(ran->err, "libgomp");
}

/* The loader's lines begin with the program's path, and its own with its name. */
static bool is_in_main(const struct ran *ran)
{
    return ran->status == 0 || strncmp(ran->err, "halfcheck: ", strlen("halfcheck: ")) == 0;
}

static bool is_whole(const struct ran *ran)
{
    return ran->status == 0;
}

/* Status 0 with another list than the one in the file `whole` becomes status 3. */
static const struct ran *list_within(int kib)
{
    char line[160];
    (void)snprintf(line, sizeof line,
                   "(ulimit -v %d; $hc list cases >got); status=$?; "
                   "[ $status != 0 ] || cmp -s whole got || status=3; exit $status",
                   kib);
    return run_shell(line);
}

/* The limit from which on this holds, to 64 KiB. */
static int least(bool (*holds)(const struct ran *))
{
    int enough = 32 << 10;
    while (!holds(list_within(enough))) {
        enough *= 2;
        cr_assert_lt(enough, 1 << 30, "no limit was enough");
    }
    int too_little = enough / 2;
    while (enough - too_little > 64) {
        int middle = (too_little + enough) / 2;
        if (holds(list_within(middle)))
            enough = middle;
        else
            too_little = middle;
    }
    return enough;
}

/* From the limit where the program begins to the one where it has what it needs, memory ends
   while the list of cases is made, or is printed. */
Test(limits, a_list_of_cases_short_of_memory_ends_with_status_2, .init = enter_folder,
     .disabled = SANITIZED)
{
    enum { STEPS = 64 };
    cr_assert_eq(run_shell("$hc list cases >whole")->status, 0);
    int first = least(is_in_main);
    int step = (least(is_whole) - first) / STEPS;
    int ended = 0;
    for (int i = 0; i < STEPS; i++) {
        int kib = first + i * step;
        const struct ran *ran = list_within(kib);
        cr_expect(!begins(ran) || ran->status == 0 || ran->status == 2, "%d KiB: status %d, %s",
                  kib, ran->status, ran->err);
        cr_expect(ran->status != 2 || lines_of(ran->err) == 1, "%d KiB: %s", kib, ran->err);
        ended += ran->status == 2;
    }
    cr_expect_gt(ended, STEPS / 2, "memory ended at %d of %d limits", ended, STEPS);
}
