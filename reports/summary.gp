# Draws what every run of one comparison came to, a row for each recipe, as svg and png: a point for
# each run, a red cross for one that did not learn (at the rim where its accuracy is below all that did).
# Runs in the folder of the comparison and is given what compare.gp is, and the arrays recipe_tic,
# recipe_nan ("NaN from step 1", or nothing) and recipe_of_run, by the order of the rows of runs.csv
# (src/cli/training/comparison.h), which is read.
note = synthetic ? " (synthetic images, not CIFAR-10)" : ""
row(i) = n + 1 - recipe_of_run[int(i) + 1]

titles = "'accuracy, %' 'steps skipped' 'last scale' 'gradients of weights = 0, %' 'updates lost, %' 'memory, MiB' 'images/s'"
members = "accuracy skipped final_scale underflow update_lost memory images_per_second"
factors = "100 1 1 100 100 9.5367431640625e-7 1"
shown(p) = column(word(members, p)) * real(word(factors, p))
# Runs that set the range of a panel: those with a number, and of the accuracies those that learned.
counts(p) = shown(p) == shown(p) && (p > 1 || column("learned") == 1)
farther(x, least) = x < least ? least : x

# Three to five ticks: a step of 1, 2 or 5 times a power of ten.
even(x, e) = x <= e ? e : x <= 2 * e ? 2 * e : x <= 5 * e ? 5 * e : 10 * e
step(span) = span > 0 ? even(span / 4.0, 10.0 ** floor(log10(span / 4.0))) : 1
learned(yes, x) = column("learned") == yes && !(p == 6 && x == 0) ? x : NaN

width = 1200
height = 130 + 22 * n

do for [type in "svg png"] {
    reset
    set datafile separator comma
    set datafile columnheaders
    @begin_style
    set border 1
    set tics scale 0
    set ytics noenhanced
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "summary." . type
    set multiplot layout 1,7 margins 0.14, 0.98, 60.0 / height, 1 - 60.0 / height spacing 0.02, 0.1
    set label 1 "Every run" . note at screen 0.5, screen 1 - 16.0 / height center
    set for [i = 1:n] ytics (recipe_tic[i] n + 1 - i)
    unset key
    do for [p = 1:7] {
        set title word(titles, p)
        unset logscale x
        set xrange [*:*]
        set yrange [*:*]
        stats "runs.csv" using (counts(p) ? shown(p) : NaN) nooutput
        some = exists("STATS_min")
        least = p == 3 ? 1 : p > 1 || !some ? 0 : STATS_min
        most = some ? STATS_max : p == 1 ? 100 : 1
        if (p == 1 && most == least) { least = least - 1 }
        if (most <= least) { most = least + 1 }
        set yrange [0.5:n + 0.5]
        rim = p == 3 ? most ** 0.06 : 0.06 * (most - least)
        if (p == 3) { set xrange [1 / rim:most * rim] } else { set xrange [least - rim:most + rim] }
        set format x "%g"
        set xtics step(most - least)
        if (p == 3) { set logscale x 2; set format x "2^{%L}"; set xtics 16 }
        if (p == 1) {
            do for [r = 1:n] {
                set label r + 1 recipe_nan[r] at graph 0.02, first n + 1 - r left noenhanced textcolor rgb bad font ",9"
            }
        }
        if (p > 1) { set for [i = 1:n] ytics ("" n + 1 - i) }
        plot "runs.csv" using (learned(1, shown(p))):(row($0)) \
            with points pointtype 6 pointsize 0.8 linewidth 1.5 linecolor rgb blue, \
            "" using (farther(learned(0, shown(p)), least)):(row($0)) \
            with points pointtype 2 pointsize 0.8 linewidth 1.5 linecolor rgb bad
        unset label
    }
    unset multiplot
}
