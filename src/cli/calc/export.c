/* The numbers of a calculation for other programs: as tensors in .npz and safetensors, and as the
   cases of a test in Python.

   A tensor has the numbers of one shown expression in one arm, in its format: ARM/NAME. With a loop
   its first axis is that of the table's rows, and the tensor `step` has their steps; the elements
   of a list are an axis behind it. real/NAME is the real number to fp64, bound/ARM/NAME the running
   bound. A file that has no name for a format has its numbers in fp32, which has all of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calc/calc.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/typed.h"
#include "tensor_file/tensor_file.h"

enum { LONGEST_KEY = 240, LONGEST_SHOWN = 100, PATH = 1024 };

/* The tensors, with the memory of their names and numbers. */
struct tensors {
    struct hc_named_tensor *tensor;
    int count;
    bool (*has)(enum hc_format format);
};

/* The rows that are exported: those of the table, or the only one. */
static int rows_of(const struct hc_calc_run *run)
{
    return run->calc->loop ? run->rows.count : 1;
}

static const struct hc_calc_row *row_of(const struct hc_calc_run *run, int row)
{
    return run->calc->loop ? &run->rows.row[row] : &run->last;
}

/* What a column of numbers is: of an arm, by definition or by the backend, its bound, or real. */
enum column { WANT, GOT, BOUND, REAL };

static double number_of(const struct hc_calc_row *row, int item, int arm, enum column column)
{
    const struct hc_calc_cell *cell = &row->cell[item][arm];
    return column == WANT    ? cell->want
           : column == GOT   ? cell->got
           : column == BOUND ? cell->rad
                             : row->real[item].value.hi;
}

/* The format of an arm's numbers of an item and those behind it; fp64 if they have none, or if it
   changes from row to row. */
static enum hc_format format_of(const struct hc_calc_run *run, const struct tensors *tensors,
                                int item, int arm)
{
    enum hc_format format = row_of(run, 0)->cell[item][arm].format;
    for (int r = 0; r < rows_of(run); r++)
        if (row_of(run, r)->cell[item][arm].format != format)
            format = HC_FORMAT_COUNT;
    if (format == HC_FORMAT_COUNT)
        return HC_FP64;
    return tensors->has(format) ? format : HC_FP32;
}

/* Room for a tensor of this name; NULL if there is no memory. */
static struct hc_tensor *add_tensor(struct tensors *tensors, const char *name,
                                    struct hc_tensor tensor)
{
    struct hc_named_tensor *named = &tensors->tensor[tensors->count++];
    named->tensor = tensor;
    named->name = strdup(name);
    named->tensor.data = calloc((size_t)hc_tensor_count(&tensor) + 1, sizeof(double));
    return named->name && named->tensor.data ? &named->tensor : NULL;
}

static bool add_column(const struct hc_calc_run *run, struct tensors *tensors, int item, int items,
                       int arm, enum column column)
{
    char name[LONGEST_KEY];
    const struct hc_statement *shown = &run->calc->shown->statement[run->item[item].expression];
    const char *before = column == BOUND ? "bound/" : column == REAL ? "real" : "";
    bool list = run->item[item].element >= 0;
    int rows = rows_of(run);
    struct hc_tensor tensor = {
        .format = column == WANT || column == GOT ? format_of(run, tensors, item, arm) : HC_FP64,
        .shape = {1, 1, 1, 1}};
    if (run->calc->loop)
        tensor.shape[tensor.rank++] = rows;
    if (list)
        tensor.shape[tensor.rank++] = items;
    bool cut = shown->length > LONGEST_SHOWN;
    int used = snprintf(name, sizeof name, "%s%s%s%s/%.*s", before,
                        column == GOT ? run->calc->backend->name : "", column == GOT ? "/" : "",
                        column == REAL ? "" : run->calc->arm[arm].text,
                        cut ? LONGEST_SHOWN : shown->length, shown->at);
    if (cut) /* what is cut is told apart by its number */
        (void)snprintf(name + used, sizeof name - (size_t)used, "... (%d)",
                       run->item[item].expression + 1);
    struct hc_tensor *made = add_tensor(tensors, name, tensor);
    for (int r = 0; made && r < rows; r++)
        for (int i = 0; i < items; i++)
            hc_tensor_set(made, (int64_t)r * items + i,
                          number_of(row_of(run, r), item + i, arm, column));
    return made;
}

/* Whether the same expression is shown before: a file has it once. */
static bool is_shown_before(const struct hc_calc_run *run, int expression)
{
    const struct hc_statement *shown = run->calc->shown->statement;
    for (int i = 0; i < expression; i++)
        if (shown[i].length == shown[expression].length &&
            memcmp(shown[i].at, shown[expression].at, (size_t)shown[i].length) == 0)
            return true;
    return false;
}

static bool add_steps(const struct hc_calc_run *run, struct tensors *tensors)
{
    int rows = rows_of(run);
    bool small = run->calc->steps <= INT32_MAX;
    struct hc_tensor *made =
        add_tensor(tensors, "step", hc_tensor1(small ? HC_I32 : HC_FP64, rows, NULL));
    for (int r = 0; made && r < rows; r++)
        hc_tensor_set(made, r, (double)row_of(run, r)->step);
    return made;
}

static bool add_all(const struct hc_calc_run *run, struct tensors *tensors)
{
    bool added = !run->calc->loop || add_steps(run, tensors);
    for (int item = 0, next = 0; item < run->items; item = next) {
        while (next < run->items && run->item[next].expression == run->item[item].expression)
            next++;
        if (is_shown_before(run, run->item[item].expression))
            continue;
        added = added && add_column(run, tensors, item, next - item, 0, REAL);
        for (int a = 0; a < run->calc->arms && added; a++)
            added = add_column(run, tensors, item, next - item, a, WANT) &&
                    (!run->calc->backend || add_column(run, tensors, item, next - item, a, GOT)) &&
                    add_column(run, tensors, item, next - item, a, BOUND);
    }
    return added;
}

static enum hc_status write_npz(const struct tensors *tensors, const char *path)
{
    return hc_npz_write(path, tensors->tensor, tensors->count);
}

static enum hc_status write_safetensors(const struct tensors *tensors, const char *path)
{
    return hc_safetensors_write(path, tensors->tensor, tensors->count, NULL, 0);
}

static enum hc_status export_tensors(const struct hc_calc_run *run, const char *path,
                                     bool (*has)(enum hc_format),
                                     enum hc_status (*write)(const struct tensors *, const char *))
{
    size_t room = 1 + (size_t)run->items * (1 + 3 * (size_t)run->calc->arms);
    struct tensors tensors = {.tensor = calloc(room, sizeof(struct hc_named_tensor)), .has = has};
    enum hc_status status = tensors.tensor && add_all(run, &tensors)
                                ? write(&tensors, path)
                                : hc_fail(HC_NO_MEMORY, "cannot write %s: no memory", path);
    for (int i = 0; i < tensors.count; i++) {
        free((char *)tensors.tensor[i].name);
        free(tensors.tensor[i].tensor.data);
    }
    free(tensors.tensor);
    return status;
}

static enum hc_status export_npz(const struct hc_calc_run *run, const char *path)
{
    return export_tensors(run, path, hc_npz_has, write_npz);
}

static enum hc_status export_safetensors(const struct hc_calc_run *run, const char *path)
{
    return export_tensors(run, path, hc_safetensors_has, write_safetensors);
}

/* A parametrisation of pytest. An expression has no quotes and no backslash, since these mean
   nothing in a formula; a comment may have anything, and goes into comments. */

static void print_comment(FILE *out, const char *label, const char *text)
{
    for (; text && *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t length = strcspn(text, "\n");
        size_t blanks = strspn(text, " ;");
        if (blanks >= length)
            continue;
        (void)fprintf(out, "# %-8s ", label);
        for (size_t i = blanks; i < length; i++)
            (void)fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], out);
        (void)fputc('\n', out);
        label = "";
    }
}

static void print_hex(FILE *out, double x)
{
    if (isnan(x))
        (void)fputs(", number(\"nan\")", out);
    else
        (void)fprintf(out, ", number(\"%a\")", x);
}

static void print_rows(const struct hc_calc_run *run, FILE *out)
{
    for (int a = 0; a < run->calc->arms; a++)
        for (int i = 0; i < run->items; i++)
            for (int r = 0; r < rows_of(run); r++) {
                const struct hc_calc_row *row = row_of(run, r);
                char name[HC_CALC_NAME];
                hc_calc_name(run, i, HC_CALC_NAME - 1, name);
                (void)fprintf(out, "    (\"%s\", \"%s\", %lld", run->calc->arm[a].text, name,
                              (long long)row->step);
                for (int c = 0; c < 3; c++) {
                    static const enum column columns[] = {WANT, REAL, BOUND};
                    print_hex(out, number_of(row, i, a, columns[c]));
                }
                (void)fputs("),\n", out);
            }
}

/* The name that Python imports: the file's, without its folder and its ending. */
static void print_module(const char *path, FILE *out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    (void)fprintf(out, "%.*s", (int)(strlen(name) - strlen(".py")), name);
}

static void print_python(const struct hc_calc_run *run, const char *path, FILE *out)
{
    const struct hc_calc *calc = run->calc;
    (void)fputs("# Numbers by halfcheck calc, as cases of a test:\n#\n#     from ", out);
    print_module(path, out);
    (void)fputs(
        " import cases\n#\n"
        "#     @cases\n"
        "#     def test_mine(arm, name, step, want, real, bound):\n"
        "#         assert mine(arm, name, step) == want\n#\n"
        "# `want` is an arm's number, where every operation is rounded as the arm says, and\n"
        "# `real` the real number, to fp64. A number whose operations come in another order\n"
        "# has another running bound; this one is how far `want` may be from `real`.\n#\n",
        out);
    print_comment(out, "formula:", calc->start ? calc->start->text : NULL);
    print_comment(out, "each:", calc->loop ? calc->loop->text : NULL);
    print_comment(out, "show:", calc->shown->text);
    (void)fputs("import pytest\n\nnumber = float.fromhex\n\nROWS = [\n", out);
    (void)fputs("    # arm, name, step, want, real, bound\n", out);
    print_rows(run, out);
    (void)fputs("]\n\n"
                "cases = pytest.mark.parametrize(\n"
                "    \"arm, name, step, want, real, bound\", ROWS,\n"
                "    ids=[f\"{row[0]}-{row[1]}-{row[2]}\" for row in ROWS])\n",
                out);
}

static enum hc_status export_python(const struct hc_calc_run *run, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = hc_memory_stream(&text, &size);
    if (out)
        print_python(run, path, out);
    bool whole = out && !ferror(out);
    if (out && fclose(out) != 0)
        whole = false;
    enum hc_status status = whole ? hc_output_write(path, text, size)
                                  : hc_fail(HC_NO_MEMORY, "cannot write %s: no memory", path);
    free(text);
    return status;
}

static const struct kind {
    const char *ending;
    enum hc_status (*write)(const struct hc_calc_run *run, const char *path);
} kinds[] = {
    {".npz", export_npz},
    {".safetensors", export_safetensors},
    {".py", export_python},
};

static const struct kind *kind_of(const char *path)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].ending);
        if (strlen(path) > length && strcmp(path + strlen(path) - length, kinds[i].ending) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* The next path of the list. */
static enum hc_status next_path(const char *list, const char **at, char path[PATH])
{
    const char *text;
    size_t length;
    enum hc_status status = hc_list_next("--export", list, at, &text, &length);
    if (status == HC_OK && length >= PATH)
        status = hc_fail(HC_INVALID, "--export: a path is too long");
    if (status == HC_OK)
        (void)snprintf(path, PATH, "%.*s", (int)length, text);
    return status;
}

enum hc_status hc_calc_export_probe(const char *list, const char *const *others)
{
    char path[PATH];
    char later[PATH];
    for (const char *at = list; at;) {
        enum hc_status status = next_path(list, &at, path);
        if (status == HC_OK && !kind_of(path))
            status =
                hc_fail(HC_INVALID,
                        "--export writes FILE.npz, FILE.safetensors or FILE.py, not '%s'", path);
        for (int i = 0; status == HC_OK && others[i]; i++)
            if (hc_output_same(path, others[i]))
                status = hc_fail(HC_INVALID, "two options name the same file: %s", path);
        for (const char *next = at; status == HC_OK && next;) {
            status = next_path(list, &next, later);
            if (status == HC_OK && hc_output_same(path, later))
                status = hc_fail(HC_INVALID, "--export names the same file twice: %s", later);
        }
        if (status == HC_OK)
            status = hc_output_probe(path);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

enum hc_status hc_calc_export(const struct hc_calc_run *run, const char *list)
{
    enum hc_status status = HC_OK;
    char path[PATH];
    for (const char *at = list; at && status == HC_OK;) {
        status = next_path(list, &at, path);
        if (status == HC_OK)
            status = kind_of(path)->write(run, path);
    }
    return status;
}
