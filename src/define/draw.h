/* Inputs of a definition: numbers of the families that generated cases have, too, in tensors of
   sizes that suit the text. */
#ifndef HC_DEFINE_DRAW_H
#define HC_DEFINE_DRAW_H

#include "define/value.h"

enum hc_family {
    HC_FAMILY_NORMAL,
    HC_FAMILY_LOGNORMAL,  /* over many powers of two */
    HC_FAMILY_BOUNDARIES, /* powers of two, limits, and their neighbours */
    HC_FAMILY_SUBNORMALS,
    HC_FAMILY_SPECIALS,   /* infinities, NaN and zeros of both signs among normal ones */
    HC_FAMILY_CANCELLING, /* along the last axis, each number nearly cancels another */
    HC_FAMILY_STAGNATING, /* a large number, then many of half an ulp of it or less */
    HC_FAMILY_CONSTANT,   /* the same number everywhere */
    HC_FAMILY_ONE_HOT,    /* one number in each row, and zeros */
    HC_FAMILY_WHOLE,      /* small whole numbers: sums of their products are exact in any order */
    HC_FAMILY_OFFSET,     /* a mean of 100 beside a deviation of 1 */
    HC_FAMILY_MIXED,      /* zeros, ones, large and subnormal numbers side by side */
    HC_FAMILY_FAR,        /* a mean of 3000 beside a small deviation */
    HC_FAMILY_SCALED,     /* each row times a power of two of its own, down to the size of eps */
    HC_FAMILY_SETTLED,    /* as many results as possible are the same bits in every right order */
    HC_FAMILY_ASKED,      /* normal, then changed to reach critical places (define/ask.h) */
    HC_FAMILIES
};

extern const char *const hc_family_names[HC_FAMILIES];

/* Fills a tensor in its format. `stream` differs between the tensors of a call. An index tensor
   gets indices from 0 to `places` - 1, whatever the family. */
void hc_family_draw(const struct hc_tensor *t, enum hc_family family, int64_t places, uint64_t seed,
                    uint64_t stream);

/* The lengths of the axes, in turn. */
enum hc_size_row {
    HC_SIZES_USUAL, /* 5, 17, 8, 32: at and beside borders of vectors and tiles; 257 for one axis */
    HC_SIZES_ONES,
    HC_SIZES_ODD,   /* 3, 33, 4, 64; 33 */
    HC_SIZES_LONG,  /* 2, 127, 3, 129; 1000 */
    HC_SIZES_TILES, /* 4, 64, 32, 64; 64 */
    HC_SIZE_ROWS
};

extern const char *const hc_size_row_names[HC_SIZE_ROWS];

/* Sizes of the row for the axes of the inputs; or, where these do not suit the text (an axis would
   have no place, groups would not share the channels), the row turned, and then small ones.
   HC_INVALID with a line if none of them suits. */
enum hc_status hc_define_sizes(const struct hc_definition *definition, enum hc_size_row row,
                               int64_t extent[HC_MAX_AXES]);

/* Borders: each axis of the inputs in turn has 0, 1, 2 or 3 places, or as many as a border of
   vectors and tiles, one less and one more: around 8, 16, 32, 64 and 128. The others are short. */
int hc_define_borders(const struct hc_definition *definition);

/* The sizes of a border, from 0 on. False if they do not suit the text. An axis is empty only
   if what is computed over it has a value there: a sum is 0, a mean or a maximum has none. */
bool hc_define_border(const struct hc_definition *definition, int border,
                      int64_t extent[HC_MAX_AXES]);

/* Sets the formats and shapes of the instance's inputs from its io format and the extents. */
void hc_define_shape_inputs(struct hc_instance *instance, const int64_t extent[HC_MAX_AXES]);

/* Fills these inputs, whose data the caller has allocated. If an equation compares an index tensor
   with an option, such as the label to ignore, every seventh element is that option. An input of a
   root or a logarithm gets no negative numbers, except among specials. */
void hc_define_fill_inputs(const struct hc_instance *instance, const int64_t extent[HC_MAX_AXES],
                           enum hc_family family, uint64_t seed);

/* What was found for HC_FAMILY_SETTLED. */
struct hc_settled {
    const char *what[HC_MAX_DEFINED_TENSORS]; /* by input: "powers of two"; NULL for integers */
    int64_t looked;                           /* elements of results, */
    int64_t settled;                          /* and those of them that have one right result */
};

/* Fills the inputs, which have data, with numbers whose results are settled (define/value.h), as
   far as the text has such. `settled` may be NULL. */
enum hc_status hc_define_settle(struct hc_instance *instance, const int64_t extent[HC_MAX_AXES],
                                uint64_t seed, struct hc_settled *settled);

#endif
