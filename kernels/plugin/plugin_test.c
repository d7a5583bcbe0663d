#include "kernels/plugin/load.h"

#include <criterion/criterion.h>
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
