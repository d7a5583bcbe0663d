# Draws what the sources of rounding do, as svg and png, from attribution.csv and layers.csv of the folder
# that it runs in. Given: the number many of recipes with the arrays recipe_name and recipe_tic; steps;
# sources, how many there are; operands, whether any recipe quantises (0 or 1); per_layer, how many rows
# layers.csv has of a recipe; synthetic (0 or 1).
# attribution.csv: recipe, source, format, gradient_alone, gradient_without, free_alone, free_without,
# gradient_measured, free_measured, ..., `sources` rows and one for all of them per recipe; layers.csv:
# recipe, layer, error, cosine, underflow, lost, and with operands five columns for each of x, w and dy.

note = synthetic ? " (synthetic images, not CIFAR-10)" : ""
longest = 0
do for [i = 1:many] { longest = strlen(recipe_name[i]) > longest ? strlen(recipe_name[i]) : longest }
tall = 60 + 2 * (110 + 34 * many)
# The rows of layers.csv are recipe by recipe.
of(i, y) = int($0) / per_layer == i - 1 && column(y) > 0 ? column(y) : NaN

# A cell is a share of what was measured of the recipe. Alone: the darker, the more of it one source makes,
# in powers of ten. All but one: the greener, the more of it is gone without that source.
per = sources + 1
recipe(row) = int(row) / per
source(row) = int(row) % per
# Of no drift there is no share.
cell(y, measured) = number(measured) == 0 ? "-" : text(100 * share(y, measured))
share(y, measured) = number(measured) > 0 ? number(y) / number(measured) : NaN
# gnuplot 6 draws nothing, no label either, of a line of which it reads a column that is no number.
number(y) = strcol(y) eq "nan" ? NaN : column(y)
shade(x) = x != x ? NaN : x > 0 ? (x < 1e-3 ? -3 : x > 1 ? 0 : log10(x)) : -3
text(x) = x != x ? "NaN" : x == 0 ? "0" : x < 0.1 ? "<0.1" : x < 9.95 ? sprintf("%.1f", x) : sprintf("%.0f", x)
saved(x) = x != x ? NaN : x >= 0 ? (x < 1 ? 1 - x : 0) : 0
alone_palette = 'set palette defined (-3 paper, 0 blue); set cbrange [-3:0]'
without_palette = 'set palette defined (0 paper, 1 green); set cbrange [0:1]'
ink_on(dark) = dark ? 0xffffff : 0x222222

do for [type in "svg png"] {
    reset
    set datafile separator comma
    set datafile missing "nan"
    stats "layers.csv" using (column(3)) every ::1 name "L" nooutput
    set datafile missing # number() says NaN
    width = 1240
    height = tall
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "attribution." . type
    @begin_style
    unset grid
    unset colorbox
    set border 0
    set tics scale 0
    set yrange [many - 0.5:-0.5]
    left = 0.015 + 0.0058 * longest
    bottom = 85.0 / tall
    set multiplot layout 2, 2 margins left, 0.955, bottom, 1 - 85.0 / tall spacing left + 0.04, 125.0 / tall \
        title sprintf("which roundings make the drift from fp64, in per cent of it, %d step%s%s\nblue: the darker, the more one source makes alone, by powers of ten; green: the darker, the more is gone without it", steps, steps == 1 ? "" : "s", note)
    do for [how in "alone without"] {
        do for [what in "gradient free"] {
            y = (what eq "gradient" ? 4 : 6) + (how eq "alone" ? 0 : 1)
            m = what eq "gradient" ? 8 : 9
            last = how eq "alone" ? per : sources
            set xrange [-0.5:last - 0.5]
            set xtics rotate by -30 noenhanced font ",11"
            set ytics noenhanced
            set title sprintf("%s: %s", what eq "gradient" ? "gradients at the weights of fp64" : "weights after a free run", how eq "alone" ? "each source alone" : "all sources but one")
            paint(x) = how eq "alone" ? shade(x) : saved(x)
            dark(x) = how eq "alone" ? x >= 0.2 : x < 0.4
            if (how eq "alone") { @alone_palette } else { @without_palette }
            z(y, m) = paint(share(y, m))
            plot "attribution.csv" using (z(y, m) == z(y, m) && source($0) < last ? source($0) : NaN):(recipe($0)):(source($0) - 0.5):(source($0) + 0.5):(recipe($0) - 0.5):(recipe($0) + 0.5):(z(y, m)) every ::1 \
                with boxxyerror fillstyle solid 1 noborder linecolor palette notitle, \
                "" using (source($0)):(recipe($0)):xtic(source($0) < last ? strcol(2) : ""):ytic(recipe_tic[recipe($0) + 1]) every ::1 with dots linecolor rgb "#ffffffff" notitle, \
                "" using (source($0) < last ? source($0) : NaN):(recipe($0)):(cell(y, m)):(ink_on(dark(share(y, m)))) every ::1 with labels textcolor rgb variable font ",10" notitle
        }
    }
    unset multiplot

    reset
    set datafile separator comma
    set datafile missing "nan"
    width = 900
    height = 480
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "layers." . type
    @begin_style
    set logscale y
    set format y "10^{%T}"
    set xtics rotate by -45 nomirror noenhanced
    set ytics nomirror
    set key outside right top samplen 2 noenhanced
    set title "gradients against fp64, layer by layer" . note noenhanced
    set xlabel "layer, from the input on (all: of all together)"
    set ylabel "|g - g64| / |g64|"
    if (!exists("L_records")) { set xrange [0:per_layer]; set yrange [1e-3:1] }
    plot for [i = 1:many] "layers.csv" using (int($0) % per_layer):(of(i, 3)):xtic(2) every ::1 \
        with linespoints pointtype shapes[nth(i)] linecolor rgb palette[nth(i)] dashtype dashes[nth(i)] linewidth 2 title recipe_name[i]

    if (operands) {
        reset
        set datafile separator comma
        width = 1240
        height = 900
        if (type eq "svg") { @open_svg } else { @open_png }
        set output drawing . "operands." . type
        @begin_style
        set xtics rotate by -45 nomirror noenhanced font ",10"
        set ytics nomirror
        set multiplot layout 3, 3 margins 0.055, 0.86, 0.1, 0.92 spacing 0.045, 0.09 \
            title "what codes keep of the operands of quantised convolutions, layer by layer" . note
        do for [measure = 1:3] {
            do for [operand = 1:3] {
                # Columns 7 to 21 are error, at_max, flushed and two scales of x, then of w, then of dy.
                at = 5 * operand + 1 + measure
                of(i, y) = int($0) / per_layer == i - 1 ? column(y) : NaN
                if (measure == 1) { set logscale y; set format y "10^{%T}" } else { unset logscale; set format y "%g" }
                set yrange [measure == 1 ? 1e-2 : 0:*]
                set xrange [-0.5:per_layer - 1.5]
                set title sprintf("%s: %s", word("x w dy", operand), measure == 1 ? "|decoded - x| / |x|" : measure == 2 ? "codes at the largest number, %" : "numbers whose code is 0, %")
                if (measure == 1 && operand == 3) { set key at screen 0.87, screen 0.92 left top samplen 1.5 noenhanced font ",10" } else { unset key }
                factor = measure == 1 ? 1 : 100
                plot for [i = 1:many] "layers.csv" using (int($0) % per_layer):(factor * of(i, at)):xtic(2) every ::1 \
                    with linespoints pointtype shapes[nth(i)] linecolor rgb palette[nth(i)] dashtype dashes[nth(i)] linewidth 1.5 title recipe_name[i]
            }
        }
        unset multiplot
    }
}
