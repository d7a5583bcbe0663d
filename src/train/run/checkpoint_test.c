#include "train/run/testing.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "train/run/checkpoint.h"
#include "train/run/state.h"
#include "train/run/trainer_inner.h"
#include "train/update/recipe_fields.h"

static const char identity[] = "recipe=fastai-004b-flat network=tiny seed=1";

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
        {"recipe=fastai-004b-flat network=tiny", "its seed=1, which this run does not have"},
        {"recipe=fastai-004b-flat network=tiny seed=1 more=1", "it has no more=1"},
        {"", "its recipe=fastai-004b-flat, which this run does not have"}};
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
    cr_assert_not_null(strstr(hc_message(), "holds \"nothing\", which this run does not have"));
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

/* Checkpoints of a real run of which a piece was left out, or kept in another format, as other
   systems' loaders have it: each is refused with one line that names the piece. */

static char run_path[64];

static void make_run(void)
{
    open_two_classes();
    (void)snprintf(run_path, sizeof run_path, "%s/checkpoint", folder);
}

TestSuite(lacking, .init = make_run, .fini = remove_folder);

static enum hc_status train_under(const struct hc_recipe *recipe, bool resume)
{
    struct hc_train_result result;
    struct hc_train_options o = {.recipe = recipe,
                                 .network = &minute,
                                 .data = &data,
                                 .backend = hc_backend_by_name("exact"),
                                 .epochs = 1,
                                 .batch = 8,
                                 .seed = 11,
                                 .out = folder,
                                 .resume = resume};
    return hc_train(&o, &result);
}

static enum hc_status train(bool resume)
{
    return train_under(hc_recipe_by_name("amp"), resume);
}

static void take_apart(struct hc_tensor_file *parts)
{
    cr_assert_eq(hc_checkpoint_open(parts, run_path), HC_OK, "%s", hc_message());
    cr_assert_gt(parts->count, 20);
}

enum change { LEFT_OUT, CAST, TURNED, CHANGES };

/* Writes the checkpoint with a tensor changed (or with all whose names begin so, up to a dot):
   without it, with elements of another format, or with another shape of as many. */
static void rewrite(const struct hc_tensor_file *parts, const char *prefix, enum change change)
{
    struct hc_named_tensor *tensors = calloc((size_t)parts->count, sizeof *tensors);
    int count = 0;
    int changed = 0;
    cr_assert_not_null(tensors);
    for (int i = 0; i < parts->count; i++) {
        const char *name = parts->tensors[i].name;
        bool begins = change < CHANGES && strncmp(name, prefix, strlen(prefix)) == 0;
        bool meant = begins && (name[strlen(prefix)] == '\0' || prefix[strlen(prefix) - 1] == '.');
        changed += meant;
        if (meant && change == LEFT_OUT)
            continue;
        tensors[count] = parts->tensors[i];
        struct hc_tensor *t = &tensors[count++].tensor;
        if (meant && change == CAST)
            t->format = t->format == HC_U8 ? HC_E4M3 : HC_BF16;
        if (meant && change == TURNED)
            *t = hc_tensor2(t->format, 1, hc_tensor_count(t), t->data);
    }
    cr_assert(changed > 0 || change == CHANGES, "%s", prefix);
    cr_assert_eq(
        hc_checkpoint_write(run_path, "a test", hc_checkpoint_identity(parts), tensors, count),
        HC_OK, "%s", hc_message());
    free(tensors);
}

static void refused(const struct hc_tensor_file *parts, const char *prefix, enum change change,
                    const char *want)
{
    rewrite(parts, prefix, change);
    cr_assert_eq(train(true), HC_INVALID, "%s", prefix);
    cr_assert_not_null(strstr(hc_message(), want), "%s", hc_message());
    cr_assert_null(strchr(hc_message(), '\n'));
}

Test(lacking, every_piece_that_was_left_out_cast_or_turned_is_named)
{
    static const char *const pieces[] = {"scale",
                                         "optimizer.step",
                                         "counts.steps",
                                         "scaler.growth_tracker",
                                         "run.totals",
                                         "weights.2.inner.0.0.weight",
                                         "masters.5.bias",
                                         "optimizer.exp_avg.0.1.weight",
                                         "optimizer.exp_avg_sq.0.1.weight",
                                         "buffers.0.1.running_mean"};
    struct hc_tensor_file parts;
    char want[100];
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        (void)snprintf(want, sizeof want, "lacks \"%s\" of this run's state", pieces[i]);
        refused(&parts, pieces[i], LEFT_OUT, want);
        (void)snprintf(want, sizeof want, ": \"%s\" is ", pieces[i]);
        refused(&parts, pieces[i], CAST, want);
        refused(&parts, pieces[i], TURNED, want);
    }
    rewrite(&parts, "", CHANGES);
    cr_assert_eq(train(true), HC_OK, "%s", hc_message());
    hc_tensor_file_close(&parts);
}

/* Without them a weight is off by up to half an ulp, and nothing else would show it. */
Test(lacking, compensations_that_were_left_out_are_named)
{
    struct hc_tensor_file parts;
    const struct hc_recipe *recipe = hc_recipe_by_name("bf16-kahan");
    cr_assert_eq(train_under(recipe, false), HC_OK, "%s", hc_message());
    take_apart(&parts);
    rewrite(&parts, "optimizer.compensation.", LEFT_OUT);
    cr_assert_eq(train_under(recipe, true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "lacks \"optimizer.compensation."), "%s", hc_message());
    hc_tensor_file_close(&parts);
}

/* What a row was when the run began: overrides that keep its name stand for a table that was
   edited. */
Test(lacking, a_row_that_was_changed_since_is_named_by_its_field)
{
    static const char *const changes[] = {
        "norm=fp16",        "statistics=fp16",    "loss=fp16",
        "state=fp16",       "norm_rounded=true",  "scaler=apex-amp",
        "loss_scale=1024",  "growth=4",           "backoff=0.25",
        "interval=7",       "reciprocal=false",   "sum_loss=true",
        "optimizer=sgd",    "rate=0.5",           "beta2=0.9",
        "eps=0.0001",       "eps_inside=true",    "weight_decay=0",
        "decay=l2",         "decay_norm=false",   "apart=true",
        "flat=true",        "masters=from-model", "group_rates=0.5/1",
        "group_decays=0/1", "split_bn_bias=true", "clip=1"};
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hc_recipe changed = *hc_recipe_by_name("amp");
        cr_assert_eq(hc_recipe_set(&changed, changes[i], strlen(changes[i])), HC_OK, "%s",
                     hc_message());
        cr_expect_eq(train_under(&changed, true), HC_INVALID, "%s", changes[i]);
        cr_expect_not_null(strstr(hc_message(), changes[i]), "%s: %s", changes[i], hc_message());
    }
    cr_assert_eq(train(true), HC_OK, "%s", hc_message());
}

/* Fields that came later stand in an identity where they are not what all recipes had before. */
Test(lacking, a_field_that_one_of_the_two_runs_has_not_is_named)
{
    struct hc_recipe clipped = *hc_recipe_by_name("amp");
    clipped.clip = 0.5;
    cr_assert_eq(train(false), HC_OK, "%s", hc_message());
    cr_assert_eq(train_under(&clipped, true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "another run: it has no clip=0.5"), "%s", hc_message());
    cr_assert_eq(train_under(&clipped, false), HC_OK, "%s", hc_message());
    cr_assert_eq(train(true), HC_INVALID);
    cr_assert_not_null(strstr(hc_message(), "its clip=0.5, which this run does not have"), "%s",
                       hc_message());
}

/* Whatever stands in the struct comes back, each byte of it: no field is left out of the list, and
   none stands in it twice. */
Test(state_fields, the_list_names_every_byte_of_the_totals_once)
{
    static unsigned char want[1 << 16];
    static unsigned char got[sizeof want];
    static unsigned char file[sizeof want];
    size_t size = sizeof(struct hc_run_totals);
    cr_assert_leq(size, sizeof want);
    for (size_t i = 0; i < size; i++)
        want[i] = (unsigned char)(i * 37 + 11);
    hc_state_pack(hc_run_totals_fields, want, file);
    hc_state_unpack(hc_run_totals_fields, file, got);
    cr_expect_eq(hc_state_bytes(hc_run_totals_fields), size);
    cr_expect_eq(memcmp(want, got, size), 0);
}

Test(state_fields, the_list_names_every_counter_once)
{
    int seen[sizeof(struct hc_counters)] = {0};
    for (int f = 0; f < HC_COUNTER_FIELDS; f++) {
        const struct hc_counter_field *field = &hc_counter_fields[f];
        for (int b = 0; b < hc_formats[field->format].bytes; b++)
            seen[field->offset + (size_t)b]++;
    }
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        cr_expect_eq(seen[i], 1, "byte %zu", i);
}

Test(state_fields, numbers_are_little_endian)
{
    static const struct hc_state_field fields[] = {{8, 8, 1}, {0, 4, 2}, {0, 0, 0}};
    static const unsigned char want[] = {8, 7, 6, 5, 4, 3, 2, 1, 4, 3, 2, 1, 254, 255, 255, 255};
    struct {
        int32_t narrow[2];
        int64_t wide;
    } numbers = {{0x01020304, -2}, 0x0102030405060708};
    unsigned char got[sizeof want];
    cr_assert_eq(hc_state_bytes(fields), sizeof want);
    hc_state_pack(fields, &numbers, got);
    cr_expect_arr_eq(got, want, sizeof want);
}
