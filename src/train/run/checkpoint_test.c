#include "train/run/checkpoint.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char identity[] = "recipe=fastai-004b-flat network=tiny seed=1";

static char folder[] = "/tmp/halfcheck-checkpoint-XXXXXX";
static char path[64];

static void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/state", folder);
}

static void unmake(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

TestSuite(checkpoint, .init = make, .fini = unmake);

struct state {
    float masters[3];
    uint16_t model[3];
    char nothing;
};

static void tensors_of(struct state *state, struct hc_named_tensor tensors[3])
{
    tensors[0] = (struct hc_named_tensor){.name = "masters",
                                          .tensor = hc_tensor1(HC_FP32, 3, state->masters)};
    tensors[1] =
        (struct hc_named_tensor){.name = "model", .tensor = hc_tensor1(HC_FP16, 3, state->model)};
    tensors[2] = (struct hc_named_tensor){.name = "nothing",
                                          .tensor = hc_tensor1(HC_U8, 0, &state->nothing)};
}

static struct state sample(void)
{
    return (struct state){{1, -2.5f, 3e-8f}, {0x3c00, 0xc100, 1}, 'x'};
}

static enum hc_status save_as(const char *file, struct state *state, int first, int count)
{
    struct hc_named_tensor tensors[3];
    tensors_of(state, tensors);
    return hc_checkpoint_write(file, "a test", identity, tensors + first, count);
}

static void save(void)
{
    struct state state = sample();
    cr_assert_eq(save_as(path, &state, 0, 3), HC_OK, "%s", hc_message());
}

static enum hc_status load(const char *who, struct state *state)
{
    struct hc_named_tensor tensors[3];
    tensors_of(state, tensors);
    return hc_checkpoint_read(path, who, tensors, 3);
}

static long slurp(unsigned char *bytes, size_t limit)
{
    FILE *f = fopen(path, "rb");
    size_t got = fread(bytes, 1, limit, f);
    (void)fclose(f);
    return (long)got;
}

static void spill(const unsigned char *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    cr_assert_eq(fwrite(bytes, 1, count, f), count);
    (void)fclose(f);
}

/* Vectors of draft-eastlake-fnv, appendix: "", "a", "foobar". */
Test(checkpoint, the_checksum_is_fnv_1a)
{
    cr_assert_eq(hc_fnv(HC_FNV_START, "", 0), 0xcbf29ce484222325);
    cr_assert_eq(hc_fnv(HC_FNV_START, "a", 1), 0xaf63dc4c8601ec8c);
    cr_assert_eq(hc_fnv(HC_FNV_START, "foobar", 6), 0x85944171f73967e8);
}

Test(checkpoint, what_was_written_is_read_in_any_order)
{
    struct state want = sample();
    struct state got = {.nothing = 'x'};
    save();
    struct hc_named_tensor tensors[3];
    tensors_of(&got, tensors);
    struct hc_named_tensor turned[3] = {tensors[2], tensors[1], tensors[0]};
    cr_assert_eq(hc_checkpoint_read(path, identity, turned, 3), HC_OK, "%s", hc_message());
    cr_assert_eq(memcmp(got.masters, want.masters, sizeof want.masters), 0);
    cr_assert_eq(memcmp(got.model, want.model, sizeof want.model), 0);
}

static void refused_untouched(const char *what, long at)
{
    struct state state;
    struct state before;
    memset(&state, 0x55, sizeof state);
    memcpy(&before, &state, sizeof state);
    cr_assert_eq(load(identity, &state), HC_INVALID, "%s %ld", what, at);
    cr_assert_null(strchr(hc_message(), '\n'));
    cr_assert_not_null(strstr(hc_message(), path));
    cr_assert_eq(memcmp(&state, &before, sizeof state), 0);
}

Test(checkpoint, every_flipped_bit_is_seen_and_nothing_is_loaded)
{
    unsigned char bytes[1024];
    save();
    long count = slurp(bytes, sizeof bytes);
    int file = open(path, O_WRONLY);
    for (long bit = 0; bit < 8 * count; bit++) {
        unsigned char flipped = bytes[bit / 8] ^ (unsigned char)(1 << bit % 8);
        cr_assert_eq(pwrite(file, &flipped, 1, bit / 8), 1);
        refused_untouched("bit", bit);
        cr_assert_eq(pwrite(file, &bytes[bit / 8], 1, bit / 8), 1);
    }
    (void)close(file);
    struct state state;
    cr_assert_eq(load(identity, &state), HC_OK);
}

Test(checkpoint, every_cut_and_every_extension_is_seen)
{
    unsigned char bytes[1024] = {0};
    save();
    long count = slurp(bytes, sizeof bytes);
    spill(bytes, sizeof bytes);
    for (long length = sizeof bytes; length >= 0; length--) {
        cr_assert_eq(truncate(path, length), 0);
        if (length != count)
            refused_untouched("length", length);
    }
}

Test(checkpoint, another_runs_checkpoint_is_refused_by_the_word_that_differs)
{
    static const char *const others[][2] = {
        {"recipe=fp32 network=tiny seed=1", "recipe=fastai-004b-flat, not recipe=fp32"},
        {"recipe=fastai-004b-flat network=darknet seed=1", "network=tiny, not network=darknet"},
        {"recipe=fastai-004b-flat network=tiny seed=12", "seed=1, not seed=12"},
        {"recipe=fastai-004b-flat network=tiny", "its seed=1, which this run has not"},
        {"recipe=fastai-004b-flat network=tiny seed=1 more=1", "it has no more=1"},
        {"", "its recipe=fastai-004b-flat, which this run has not"}};
    save();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct state state = {.nothing = 0};
        cr_assert_eq(load(others[i][0], &state), HC_INVALID);
        cr_assert_not_null(strstr(hc_message(), others[i][1]), "%s", hc_message());
        cr_assert_eq(state.masters[0], 0);
    }
}

Test(checkpoint, other_names_formats_and_shapes_are_refused)
{
    struct state state = {.nothing = 0};
    struct hc_named_tensor tensors[3];
    save();
    tensors_of(&state, tensors);
    cr_assert_eq(hc_checkpoint_read(path, identity, tensors, 2), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "holds \"nothing\", which this run has not"));
    tensors[1].name = "models";
    cr_assert_eq(hc_checkpoint_read(path, identity, tensors, 3), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "\"model\""));
    tensors_of(&state, tensors);
    tensors[0].tensor.shape[0] = 2;
    cr_assert_eq(hc_checkpoint_read(path, identity, tensors, 3), HC_INVALID);
    cr_assert_not_null(
        strstr(hc_message(), ": \"masters\" is fp32 [3] where this run has fp32 [2]"), "%s",
        hc_message());
    tensors_of(&state, tensors);
    tensors[1].tensor.format = HC_BF16;
    cr_assert_eq(hc_checkpoint_read(path, identity, tensors, 3), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), ": \"model\" is fp16 [3] where this run has bf16 [3]"));
    cr_assert_eq(state.masters[0], 0);
}

Test(checkpoint, what_is_missing_is_named)
{
    struct state state = sample();
    cr_assert_eq(save_as(path, &state, 0, 2), HC_OK);
    cr_assert_eq(load(identity, &state), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), ": lacks \"nothing\" of this run's state"));
    cr_assert_eq(save_as(path, &state, 1, 1), HC_OK);
    memset(&state, 0, sizeof state);
    cr_assert_eq(load(identity, &state), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), ": lacks \"masters\" of this run's state, and 1 more"));
    cr_assert_eq(state.model[0], 0);
}

/* The header of the former layout: eight bytes that say what it is, and an u32, its version. */
Test(checkpoint, one_of_a_former_format_is_refused_with_the_version_that_wrote_it)
{
    static const char *const want[] = {"format 0, which halfcheck wrote",
                                       "format 1, which halfcheck 0.1.0 wrote",
                                       "format 2, which halfcheck 0.1.0 or 0.2.0 wrote"};
    unsigned char bytes[100] = "halfchk\n";
    for (unsigned char version = 0; version < 3; version++) {
        bytes[8] = version;
        spill(bytes, sizeof bytes);
        refused_untouched("former", version);
        cr_assert_not_null(strstr(hc_message(), want[version]), "%s", hc_message());
    }
}

Test(checkpoint, other_safetensors_are_no_checkpoints)
{
    struct state state = sample();
    struct hc_named_tensor tensors[3];
    struct hc_metadata metadata[] = {
        {"halfcheck.checkpoint", "4"}, {"identity", identity}, {"checksum", "0"}};
    tensors_of(&state, tensors);
    cr_assert_eq(hc_safetensors_write(path, tensors, 3, NULL, 0), HC_OK);
    refused_untouched("without metadata", 0);
    cr_assert_not_null(strstr(hc_message(), "not a checkpoint of halfcheck"));
    cr_assert_eq(hc_safetensors_write(path, tensors, 3, metadata, 3), HC_OK);
    refused_untouched("of a later version", 4);
    cr_assert_not_null(strstr(hc_message(), "of format 4; this version reads format 3"));
    metadata[0].value = "3";
    cr_assert_eq(hc_safetensors_write(path, tensors, 3, metadata, 3), HC_OK);
    refused_untouched("with a wrong checksum", 0);
    cr_assert_not_null(strstr(hc_message(), "its checksum does not match"));
}

Test(checkpoint, a_missing_or_unreadable_file_is_an_io_error)
{
    struct state state;
    cr_assert_eq(load(identity, &state), HC_IO);
    (void)mkdir(path, 0777);
    cr_assert_neq(load(identity, &state), HC_OK);
    (void)rmdir(path);
}

/* A file system that is full after so many bytes, as RLIMIT_FSIZE has it (EFBIG for ENOSPC). */
Test(checkpoint, a_full_disk_leaves_the_old_file_and_no_litter)
{
    char beside[80];
    unsigned char old[1024];
    unsigned char now[1024];
    struct state state = {{7, 7, 7}, {7, 7, 7}, 7};
    save();
    long count = slurp(old, sizeof old);
    (void)snprintf(beside, sizeof beside, "%s.part", path);
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    for (long room = 0; room < count; room += 5) {
        struct rlimit limit = {(rlim_t)room, RLIM_INFINITY};
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        enum hc_status status = save_as(path, &state, 0, 3);
        limit.rlim_cur = RLIM_INFINITY;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        cr_assert_eq(status, HC_IO);
        cr_assert_eq(slurp(now, sizeof now), count);
        cr_assert_eq(memcmp(old, now, (size_t)count), 0);
        cr_assert_neq(access(beside, F_OK), 0);
    }
    cr_assert_eq(save_as(path, &state, 0, 3), HC_OK);
    cr_assert_eq(load(identity, &state), HC_OK);
    cr_assert_eq(state.masters[0], 7);
}

Test(checkpoint, a_folder_that_is_not_there_is_one_line)
{
    struct state state = sample();
    cr_assert_eq(save_as("/nonexistent/state", &state, 0, 3), HC_IO);
    cr_assert_not_null(strstr(hc_message(), "/nonexistent/state"));
}
