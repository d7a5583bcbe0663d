/* A text in memory is whole, or its loss is told. The libc's own stream would fail these tests. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "op/memory_stream.h"

Test(memory_stream, a_text_is_what_was_printed)
{
    char *text;
    size_t length;
    FILE *out = hc_memory_stream(&text, &length);
    cr_assert_not_null(out);
    for (int i = 0; i < 3000; i++)
        cr_assert_eq(fprintf(out, "%04d", i), 4);
    cr_assert_eq(fflush(out), 0);
    cr_expect_eq(length, 12000);
    cr_expect_eq(strncmp(text + 11996, "2999", 5), 0);
    cr_assert_eq(fputs("end", out) >= 0 && fclose(out) == 0, 1);
    cr_expect_eq(length, 12003);
    cr_expect_str_eq(text + 12000, "end");
    cr_expect_not(hc_memory_lost());
    free(text);
}

Test(memory_stream, an_empty_text_is_a_text)
{
    char *text;
    size_t length;
    FILE *out = hc_memory_stream(&text, &length);
    cr_assert_eq(fclose(out), 0);
    cr_expect_str_eq(text, "");
    free(text);
}

/* A size that nobody has stands for memory that has run out. */
Test(memory_stream, a_loss_is_told_by_fclose)
{
    static char huge[1 << 20];
    struct rlimit limit = {64 << 20, 64 << 20};
    char *text;
    size_t length;
    FILE *out = hc_memory_stream(&text, &length);
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the sanitizer ends the program where memory is short");
#endif
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        cr_skip_test("no limit can be set");
    memset(huge, 'x', sizeof huge);
    size_t written = sizeof huge;
    for (int i = 0; i < 200 && written == sizeof huge; i++)
        written = fwrite(huge, 1, sizeof huge, out);
    cr_expect_lt(written, sizeof huge);
    (void)fputs("something small, which would fit", out);
    cr_expect_neq(fclose(out), 0);
    cr_expect_null(text);
    cr_expect(hc_memory_lost());
}
