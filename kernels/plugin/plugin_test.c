#include "kernels/plugin/load.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "cli/testing.h"

static const struct hc_plugin *load(const char *path)
{
    void *library = hc_plugin_load(path);
    return library ? hc_plugin_backends(library, path, "cuda") : NULL;
}

static void expect_no_plugin(const char *path, const char *word)
{
    cr_expect_null(load(path), "%s", path);
    cr_expect_not_null(strstr(hc_message(), word), "%s: %s", path, hc_message());
    cr_expect_null(strchr(hc_message(), '\n'), "%s: %s", path, hc_message());
}

Test(plugin, says_in_one_line_why_a_file_is_none, .init = enter_folder)
{
    write_text("text.so", "no shared object\n");
    write_text("empty.so", "");
    expect_no_plugin("./none.so", "./none.so cannot be read");
    expect_no_plugin("./text.so", "text.so");
    expect_no_plugin("./empty.so", "file too short");
    expect_no_plugin(HC_NO_PLUGIN, "is no plug-in of halfcheck");
}

/* Truncated to 63 lengths: some end in a header, some in code, some in the table of sections. */
Test(plugin, that_is_cut_short_is_refused_in_one_line, .init = enter_folder)
{
    FILE *whole = fopen(HC_OTHER_PLUGIN, "rb");
    static char bytes[1 << 20];
    cr_assert_not_null(whole);
    size_t n = fread(bytes, 1, sizeof bytes, whole);
    (void)fclose(whole);
    cr_assert(n > 4096 && n < sizeof bytes);
    for (size_t part = 1; part < 64; part++) {
        char name[32];
        (void)snprintf(name, sizeof name, "./cut%zu.so", part);
        FILE *cut = fopen(name, "wb");
        cr_assert_eq(fwrite(bytes, 1, n * part / 64, cut), n * part / 64);
        (void)fclose(cut);
        expect_no_plugin(name, "is cut short");
    }
}

Test(plugin, refuses_one_of_another_version)
{
    char version[64];
    (void)snprintf(version, sizeof version, "version %u, this program takes version %u",
                   HC_BACKEND_ABI + 1, HC_BACKEND_ABI);
    expect_no_plugin(HC_OTHER_PLUGIN, version);
}

Test(plugin, that_is_asked_for_and_cannot_be_loaded_ends_with_status_2, .init = enter_folder)
{
    expect_refusal("HALFCHECK_CUDA_PLUGIN=" HC_OTHER_PLUGIN " $hc run 'op/scale/*' --backend cuda",
                   "version");
    expect_refusal("HALFCHECK_CUDA_PLUGIN=./none.so $hc run 'op/scale/*' --backend cuda",
                   "cannot be read");
    expect_refusal("HALFCHECK_CUDA_PLUGIN=" HC_OTHER_PLUGIN " $hc train --recipe fp32"
                   " --backend cuda",
                   "version");
}

Test(plugin, that_cannot_be_loaded_lacks_its_other_backends_for_the_same_reason,
     .init = enter_folder)
{
    expect_refusal("HALFCHECK_CUDA_PLUGIN=./none.so $hc run 'op/add/*' --backend cuda-half",
                   "cannot be read");
    cr_expect_eq(run_shell("HALFCHECK_CUDA_PLUGIN=./none.so $hc list backends | "
                           "grep -P '^cuda-half\tno\t.*cannot be read\t-$'")
                     ->status,
                 0);
}

Test(plugin, list_says_why_it_is_not_there, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("HALFCHECK_CUDA_PLUGIN=./none.so $hc list backends | grep -P '^cuda\\tno\\t'");
    cr_assert_eq(ran->status, 0);
    cr_assert_not_null(strstr(ran->out, "./none.so cannot be read"), "%s", ran->out);
}

Test(plugin, a_run_on_all_backends_leaves_it_out_with_one_line, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("HALFCHECK_CUDA_PLUGIN=./none.so $hc run 'op/scale/*' --level quick");
    cr_assert_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    const char *line = strstr(ran->out, "./none.so cannot be read");
    cr_assert_not_null(line, "%s", ran->out);
    cr_assert_null(strstr(line + 1, "./none.so"), "%s", ran->out);
    cr_assert_null(strstr(ran->out, "cuda-emulated"), "%s", ran->out);
}

static const struct ran *run_broken(const char *how, const char *arguments)
{
    char line[512];
    (void)snprintf(line, sizeof line, "HC_BROKEN=\"%s\" HALFCHECK_CUDA_PLUGIN=%s $hc %s", how,
                   HC_BROKEN_PLUGIN, arguments);
    return run_shell(line);
}

Test(plugin, whose_table_is_broken_is_refused_in_one_line, .init = enter_folder)
{
    static const struct {
        const char *how;
        const char *line;
    } rows[] = {
        {"null", "backend 2 is NULL"},
        {"list", "has 2 backends"},
        {"count", "has -1 backends"},
        {"version", "backend 2 is of another version"},
        {"no name", "backend 2 has no name"},
        {"odd name", "backend 2 has no name"},
        {"same name", "backend 2 has another one's name"},
        {"exact's name", "backend 2 has another one's name"},
        {"title", "backend 1 has no title"},
        {"open", "backend 1 lacks open"},
        {"download", "backend 1 lacks open"},
        {"precision", "backend 1 has an impossible accumulator"},
        {"block", "backend 1 has an impossible accumulator"},
        {"border", "backend 1 has an impossible border"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ran *ran = run_broken(rows[i].how, "run 'op/scale/*' --backend cuda");
        cr_expect_eq(ran->status, 2, "%s: status %d", rows[i].how, ran->status);
        cr_expect_eq(lines_of(ran->err), 1, "%s: %s", rows[i].how, ran->err);
        cr_expect_not_null(strstr(ran->err, rows[i].line), "%s: %s", rows[i].how, ran->err);
    }
}

Test(plugin, that_calls_exit_does_not_end_a_run_as_one_in_which_all_is_right, .init = enter_folder)
{
    static const char *const ways[] = {"exits", "exits quickly"};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const struct ran *ran = run_broken(ways[i], "run 'op/scale/*' --backend cuda");
        cr_expect_eq(ran->status, 2, "%s: status %d", ways[i], ran->status);
        cr_expect_not_null(strstr(ran->err, "called exit before the command was done"), "%s",
                           ran->err);
    }
}

/* In a sanitized program the sanitizer's page says where it was. */
Test(plugin, that_crashes_is_named_with_the_case_that_it_was_in, .init = enter_folder)
{
    const struct ran *ran = run_broken("crashes", "run 'op/scale/*' --backend cuda");
    if (strstr(ran->err, "Sanitizer"))
        return;
    cr_expect_eq(ran->status, 2, "status %d: %s", ran->status, ran->err);
    cr_expect_not_null(strstr(ran->err, "halfcheck: signal 11 in op/scale/"), "%s", ran->err);
    cr_expect_not_null(strstr(ran->err, " on cuda, and the run ends there\n"), "%s", ran->err);
}

/* The handler has a stack of its own in each worker. */
Test(plugin, that_overflows_the_stack_is_named_with_the_case_that_it_was_in, .init = enter_folder)
{
    const struct ran *ran = run_broken("overflows", "run 'op/scale/*' --backend cuda");
    if (strstr(ran->err, "Sanitizer"))
        return;
    cr_expect_eq(ran->status, 2, "status %d: %s", ran->status, ran->err);
    cr_expect_not_null(strstr(ran->err, "halfcheck: signal 11 in op/scale/"), "%s", ran->err);
}

/* Whatever signal ends a process, and is not asked for by somebody outside. */
Test(plugin, that_ends_by_any_signal_is_named_with_the_case_that_it_was_in, .init = enter_folder)
{
    static const int signals[] = {SIGSYS,  SIGTRAP, SIGXFSZ, SIGXCPU,   SIGALRM,
                                  SIGPROF, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char how[32];
        char line[64];
        (void)snprintf(how, sizeof how, "raises %d", signals[i]);
        (void)snprintf(line, sizeof line, "halfcheck: signal %d in op/scale/", signals[i]);
        const struct ran *ran = run_broken(how, "run 'op/scale/*' --backend cuda");
        if (strstr(ran->err, "Sanitizer") || signals[i] == SIGXFSZ) /* which is ignored */
            continue;
        cr_expect_eq(ran->status, 2, "status %d: %s", ran->status, ran->err);
        cr_expect_not_null(strstr(ran->err, line), "%s%s", line, ran->err);
    }
}

/* The case that ran last is not accused. */
Test(plugin, that_crashes_when_the_program_ends_is_said_to, .init = enter_folder)
{
    const struct ran *ran = run_broken("crashes at the end", "run 'op/scale/*' --backend cuda");
    if (strstr(ran->err, "Sanitizer"))
        return;
    cr_expect_eq(ran->status, 2, "status %d: %s", ran->status, ran->err);
    cr_expect_not_null(
        strstr(ran->err, "halfcheck: signal 11 when the program ended, in a library"), "%s",
        ran->err);
}

/* The limit is as it was where the record is written, and the kernel is accused. */
Test(plugin, that_limits_files_does_not_take_the_record_or_the_last_word, .init = enter_folder)
{
    const struct ran *ran =
        run_broken("limits files",
                   "run 'op/scale/*' --backend cuda --json r.json >out 2>err; "
                   "status=$?; cat out; cat err >&2; test -s r.json || status=9; exit $status");
    cr_expect(ran->status == 1 || ran->status == 2, "status %d: %s%s", ran->status, ran->out,
              ran->err);
    cr_expect_not_null(strstr(ran->out, "limits files"), "%s%s", ran->out, ran->err);
}

Test(plugin, that_goes_to_another_folder_does_not_take_the_record_with_it, .init = enter_folder)
{
    const struct ran *ran =
        run_broken("goes elsewhere", "run 'op/scale/*' --backend cuda --json r.json");
    cr_expect_neq(ran->status, 0);
    cr_expect_eq(run_shell("test -s r.json")->status, 0, "%s%s", ran->out, ran->err);
}

/* Subnormal numbers of `exact` and `host` are what they were, and the library is named, once. This
   one has no kernel, so that nothing of it is checked. */
Test(plugin, that_changes_the_arithmetic_when_it_is_loaded_is_named_and_changes_no_verdict,
     .init = enter_folder)
{
    static const char *const moments[] = {"loaded", "asked", "opened"};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        char how[64];
        (void)snprintf(how, sizeof how, "flushes when %s", moments[i]);
        const struct ran *ran = run_broken(how, "run 'op/mul/*/subnormals' 'op/sum/*/subnormals' "
                                                "--backend exact,host,cuda");
        cr_expect_not_null(strstr(ran->out, ": 36 PASS 18 UNIMPLEMENTED"), "%s: %s", how, ran->out);
        const char *named = strstr(ran->err, " leaves ");
        cr_expect(named && !strstr(named + 1, " leaves "), "%s: %s", how, ran->err);
        cr_expect_not_null(strstr(ran->err, i < 2 ? "broken.so leaves " : "cuda leaves "), "%s: %s",
                           how, ran->err);
    }
}

/* The library is loaded into every program; no kernel is to blame. The address sanitizer, where the
   tests have it, is told that its own library may come after this one. */
Test(plugin, a_library_that_came_before_the_program_is_told_of, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("HC_BROKEN='flushes when loaded' ASAN_OPTIONS=verify_asan_link_order=0 "
                  "LD_PRELOAD=" HC_BROKEN_PLUGIN " $hc run 'op/mul/*/subnormals' --backend exact");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->err, "a library of this program leaves "), "%s", ran->err);
}

Test(plugin, without_any_kernel_has_shown_nothing, .init = enter_folder)
{
    const struct ran *ran = run_broken("", "run 'op/add/*' --backend cuda");
    cr_expect_eq(ran->status, 2, "status %d", ran->status);
    cr_expect_not_null(strstr(ran->err, "nothing was checked"), "%s", ran->err);
}

#ifdef HC_CUDA_PLUGIN
static const struct hc_backend *loaded(const char *name)
{
    const struct hc_plugin *plugin = load(HC_CUDA_PLUGIN);
    cr_assert_not_null(plugin, "%s", hc_message());
    for (int i = 0; i < plugin->count; i++)
        if (strcmp(plugin->backends[i]->name, name) == 0)
            return plugin->backends[i];
    cr_assert_fail("no backend %s", name);
    return NULL;
}

Test(plugin, cuda_is_loaded_and_complete)
{
    const struct hc_backend *cuda = loaded("cuda");
    const struct hc_backend *emulated = hc_backend_by_name("cuda-emulated");
    for (int op = 0; op < HC_OP_COUNT; op++)
        cr_expect_eq(cuda->kernel[op] != NULL, emulated->kernel[op] != NULL, "%s", hc_ops[op].name);
    cr_assert(cuda->unavailable && cuda->open && cuda->close && cuda->allocate && cuda->release &&
              cuda->upload && cuda->download);
    cr_assert(!cuda->host_memory);
}

Test(plugin, cuda_half_has_the_arithmetic_that_the_device_has)
{
    static const enum hc_op ops[] = {HC_OP_cast, HC_OP_add,  HC_OP_sub, HC_OP_mul,
                                     HC_OP_div,  HC_OP_sqrt, HC_OP_fma};
    const struct hc_backend *half = loaded("cuda-half");
    int others = 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        cr_expect_not_null(half->kernel[ops[i]], "%s", hc_ops[ops[i]].name);
    for (int op = 0; op < HC_OP_COUNT; op++)
        others += half->kernel[op] != NULL;
    cr_expect_eq(others, 7);
    cr_expect(half->partial);
}

/* If there is a device, this test checks nothing. */
Test(plugin, cuda_without_a_device_refuses_in_one_line)
{
    const struct hc_backend *cuda = loaded("cuda");
    const char *why = cuda->unavailable();
    if (!why)
        return;
    struct hc_queue *queue;
    cr_assert_null(strchr(why, '\n'));
    cr_assert_eq(cuda->open(cuda, &queue, 0), HC_DEVICE);
    cr_assert_not_null(strstr(hc_message(), why), "the program sees the plug-in's line: %s",
                       hc_message());
}
#endif
