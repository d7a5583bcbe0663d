/* A program: the text of one or more formulas as a tree. The language is described in
   docs/formulas.md. All blocks of a program share their names: what one assigns, another may read.

   Nothing in a program depends on formats or on values, so that the arms of a comparison and all
   four evaluations walk over the same tree. */
#ifndef HC_FORMULA_PROGRAM_H
#define HC_FORMULA_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "formula/arm.h"
#include "op/scale_rule.h"

/* The functions of a formula: functions.def as data. */

enum hc_function_kind {
    HC_FUNCTION_OP,      /* an op of the op table, rounded once */
    HC_FUNCTION_LIBRARY, /* rounded once, but no op: every backend has the definition's value */
    HC_FUNCTION_EXACT,   /* needs no rounding */
    HC_FUNCTION_TRUTH,   /* 0 or 1 */
    HC_FUNCTION_LIST,    /* takes a list, or a number of terms and a term */
    HC_FUNCTION_SCALE    /* takes a scale rule and a format of codes, and then numbers */
};

enum hc_function_word {
    HC_FUNCTION_OWN,    /* its spelling can be no name */
    HC_FUNCTION_SHARED, /* it can: a formula may call its mean `mean`; "(" tells them apart */
    HC_FUNCTION_SIGN    /* the grammar has it: an operator, a cast */
};

enum hc_function {
#define HC_FUNCTION(name, spelling, kind, word, least, most) HC_FN_##name,
#include "formula/functions.def"
#undef HC_FUNCTION
    HC_FUNCTION_COUNT
};

struct hc_function_info {
    const char *name;
    const char *spelling;
    enum hc_function_kind kind;
    enum hc_function_word word;
    int least; /* operands */
    int most;
};

extern const struct hc_function_info hc_functions[HC_FUNCTION_COUNT];

/* Whether it may have any number of operands: max(a, b, c) is max(max(a, b), c). */
static inline bool hc_function_chooses(enum hc_function f)
{
    return f == HC_FN_min || f == HC_FN_max;
}

/* Limits of a program; a text beyond one of them is refused with a line. */
enum {
    HC_LONGEST_FORMULA = 65536, /* characters of a text */
    HC_MAX_NAMES = 64,
    HC_LONGEST_NAME_IN_FORMULA = 31,
    HC_DEEPEST_FORMULA = 100 /* nested operands */
};

enum hc_node_kind {
    HC_NODE_NUMBER, /* a decimal or hexadecimal number, inf, nan or pi: `text` */
    HC_NODE_STEP,   /* the number of the step */
    HC_NODE_NAME,   /* a value, a constant or an index: `name` */
    HC_NODE_LIST,   /* [a, b, c]: `operand` */
    HC_NODE_AT,     /* operand[0] [ operand[1] ] */
    HC_NODE_APPLY,  /* `function` of `operand` */
    HC_NODE_OVER    /* sum(name: operand[0], operand[1]): `function` is of kind LIST */
};

struct hc_node {
    enum hc_node_kind kind;
    int id; /* 0, 1, 2, ... in the program: an index into what an evaluation notes about nodes */
    const char *at; /* where it stands in its block's text, */
    int length;     /* and how long it is */
    bool constant;  /* made of numbers, constants, step and indices alone; len(x) counts as one */
    int depth;      /* of the tree: 1 without operands, at most HC_DEEPEST_FORMULA */
    enum hc_function function;
    enum hc_format format;       /* of a cast; HC_FORMAT_COUNT: the arm's cast `cast_name`; and
                                    of the codes that a scale is for */
    enum hc_direction direction; /* of a cast */
    bool saturate;               /* a cast: too large is the largest number */
    enum hc_scale_rule rule;     /* of a function of kind SCALE; HC_SCALE_RULE_COUNT: `delayed` */
    enum hc_delayed_rule delayed;
    char cast_name[HC_LONGEST_CAST + 1];
    int name; /* an index into the program's names */
    int operands;
    struct hc_node **operand;
};

struct hc_statement {
    int name;       /* what is assigned; -1 in a block of expressions */
    bool constant;  /* by := */
    const char *at; /* the statement's text */
    int length;
    const struct hc_node *value;
};

/* Statements, or expressions to show, in their order. */
struct hc_block {
    const char *text; /* a copy of what was parsed */
    int count;
    const struct hc_statement *statement;
};

/* An error: what is wrong, in which text, and where. */
struct hc_formula_error {
    const char *text; /* the block's whole text; as long-lived as the caller's, or the program */
    int at;           /* an offset into it */
    int length;       /* of what is marked; 0 if the error is nowhere, as a lack of memory is */
    char what[160];   /* a sentence without a full stop */
};

struct hc_program;

/* An empty program. NULL if there is no memory. */
struct hc_program *hc_program_new(void);
void hc_program_free(struct hc_program *program);

/* Adds the name of a cast that arms give a format to (struct hc_arm); adding it again changes
   nothing. False if the word has a meaning already, or if there are too many. */
bool hc_program_add_cast(struct hc_program *program, const char *name);

/* Makes plain minus signs of the minus signs and dashes that pages and editors put in their place:
   U+2212, the en dash, and the two hyphens of Unicode. The text gets shorter. */
void hc_formula_plain(char *text);

/* Parses statements; or, with `expressions`, expressions between commas or semicolons. The block
   lives as long as the program. NULL with *error filled in if the text is no formula; the program
   is then as it was before. Names that are read before any block has assigned them are an error. */
const struct hc_block *hc_program_parse(struct hc_program *program, const char *text,
                                        bool expressions, struct hc_formula_error *error);

/* The names that were assigned, and the indices of sums. Sums of which none stands in a term of
   another may share the name of their indices. */
int hc_program_names(const struct hc_program *program);
const char *hc_program_name(const struct hc_program *program, int name);
int hc_program_nodes(const struct hc_program *program); /* ids are below it */

/* Whether a node, or an operand of it, reads `step`. */
bool hc_node_reads_step(const struct hc_node *node);

/* Prints an error for a terminal: a line that says what is wrong, the line of the text in which it
   is, and a caret below. At most 80 columns: a long line is cut around the place. Control
   characters are printed as '?'. `buffer` gets at most `size` bytes. */
void hc_formula_error_text(const struct hc_formula_error *error, char *buffer, size_t size);

#endif
