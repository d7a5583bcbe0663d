# Draws what a study shows, as svg and png: to the left the difference of each pair of runs, with the
# interval of each arm beside the margin; to the right the accuracy of each arm after each epoch, as
# a band from the least to the most of its runs. Runs in the folder of the study. Given: the number n
# of arms with the arrays arm_name, arm_tic, arm_mean, arm_low and arm_high (points; NaN: none yet);
# margin; synthetic (0 or 1). Reads pairs.csv (arm, difference) and curves.csv (arm, epoch, mean,
# least, most).

note = synthetic ? " (synthetic images, not CIFAR-10)" : ""
width = 1000
height = 150 + 46 * (n < 5 ? 5 : n)
set datafile separator comma
c(a) = palette[nth(a + 1)]
least = -1.3 * margin
most = 1.3 * margin
stats "pairs.csv" using (column("difference")) name "D" nooutput
if (exists("D_min") && D_min < least) { least = D_min - 0.1 * margin }
if (exists("D_max") && D_max > most) { most = D_max + 0.1 * margin }
# An arm that is far away must not make the margin a line: its marks stand at the edge.
if (least < -3 * margin) { least = -3 * margin }
if (most > 3 * margin) { most = 3 * margin }
beyond = exists("D_min") && (D_min < least || D_max > most)
stats "curves.csv" using "epoch":"most" name "C" nooutput
epochs = exists("C_max_x") ? C_max_x : 1
top = exists("C_max_y") ? C_max_y : 100
bottom = exists("C_min_y") ? C_min_y : 0
stats "curves.csv" using "epoch":"least" name "C" nooutput
bottom = exists("C_min_y") ? C_min_y : bottom
room = 0.04 * (top - bottom + 1)
inside(x) = x < least ? least : x > most ? most : x
do for [kind = 1:2] {
    if (kind == 1) { @open_svg } else { @open_png }
    set output drawing . (kind == 1 ? "study.svg" : "study.png")
    @begin_style
    set multiplot
    set lmargin at screen 0.13
    set rmargin at screen 0.55
    set tmargin at screen 1 - 60.0 / height
    set bmargin at screen 60.0 / height
    set title "Accuracy against the base, of pairs with one seed" . note noenhanced
    set xlabel "points of accuracy" . (beyond ? "; marks at the edge lie beyond it" : "") noenhanced
    set xrange [least:most]
    set yrange [n + 0.6:0.4]
    set ytics ()
    set for [a = 1:n] ytics add (arm_tic[a] a)
    unset key
    set object 1 rectangle from first -margin, graph 0 to first margin, graph 1 behind fillcolor rgb mild fillstyle solid noborder
    set arrow 1 from first 0, graph 0 to first 0, graph 1 nohead linecolor rgb faint linewidth 1 dashtype 2
    plot for [a = 1:n] "pairs.csv" using (strcol("arm") eq arm_name[a] ? inside(column("difference")) : NaN):(a + 0.22) with points pointtype 6 pointsize 0.7 linecolor rgb behind, \
        for [a = 1:n] "+" using (inside(arm_mean[a])):(a):(inside(arm_low[a])):(inside(arm_high[a])) every ::0::0 with xerrorbars pointtype 7 pointsize 1 linewidth 2 linecolor rgb c(a)
    unset object 1
    unset arrow 1
    set lmargin at screen 0.62
    set rmargin at screen 0.98
    set title "Test accuracy after each epoch" noenhanced
    set xlabel "epoch" noenhanced
    set ylabel "%" offset 1, 0
    set xrange [1 - 0.02 * epochs:epochs + 0.02 * epochs]
    set yrange [bottom - room:(top + room < 100 ? top + room : 100)]
    tics = epochs < 12 ? 1 : int(epochs / 10)
    set xtics tics
    set ytics autofreq
    set key right center
    set style fill transparent solid 0.25 noborder
    plot "curves.csv" using (strcol("arm") eq "base" ? column("epoch") : NaN):"least":"most" with filledcurves linecolor rgb ink notitle, \
        for [a = 1:n] "curves.csv" using (strcol("arm") eq arm_name[a] ? column("epoch") : NaN):"least":"most" with filledcurves linecolor rgb c(a) notitle, \
        "curves.csv" using (strcol("arm") eq "base" ? column("epoch") : NaN):"mean" with linespoints pointtype 7 pointsize 0.4 linewidth 2.5 linecolor rgb ink title "base", \
        for [a = 1:n] "curves.csv" using (strcol("arm") eq arm_name[a] ? column("epoch") : NaN):"mean" with linespoints pointtype 7 pointsize 0.4 linewidth 1.5 dashtype dashes[nth(a + 1)] linecolor rgb c(a) title arm_name[a]
    unset multiplot
    unset output
    reset
    set datafile separator comma
}
