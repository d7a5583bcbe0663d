# Draws loss against learning rate, as svg and png, from the lr_find.csv of the folder that it runs in:
# step, lr, loss, smooth, scale, skipped (so far). Given: the name recipe; synthetic (0 or 1); steepest and
# tenth, the learning rates that are suggested.

source = "lr_find.csv"
note = synthetic ? "\n(synthetic images, not CIFAR-10)" : ""
width = 800
height = 480

set datafile separator comma
set datafile missing "nan"
stats source using (column("smooth")) every ::1 name "S" nooutput
stats source using (column("lr")) name "L" nooutput

# Runaway losses leave the frame; what led there stays readable.
top = S_min + 3 * (S_lo_quartile > S_min ? S_up_quartile - S_min + 0.2 : 0.5)
skips = 0
skipped_at(x) = (before = skips, skips = x, x > before)

do for [type in "svg png"] {
    reset
    set datafile separator comma
    set datafile missing "nan"
    @begin_style
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "lr_find." . type
    set title recipe . ": loss while the learning rate grows by a factor each step" . note noenhanced
    set logscale x
    set format x "10^{%T}"
    set xlabel "learning rate"
    set ylabel "cross-entropy, nat"
    set xrange [L_min:L_max]
    set yrange [0:top]
    set key bottom left Left reverse samplen 3
    set arrow 1 from steepest, graph 0 to steepest, graph 1 nohead dashtype 2 linecolor rgb vermillion
    set label 1 sprintf("falls fastest\n%.1e", steepest) at steepest, graph 0.97 right offset -0.7,0 textcolor rgb vermillion
    set arrow 2 from tenth, graph 0 to tenth, graph 1 nohead dashtype 4 linecolor rgb green
    set label 2 sprintf("a tenth of the least\n%.1e", tenth) at tenth, graph 0.85 left offset 0.7,0 textcolor rgb green
    skips = 0
    plot source using (column("lr")):(column("loss")) with lines linecolor rgb behind title "loss of the batch", \
        "" using (column("lr")):(column("smooth")) with lines linewidth 2.5 linecolor rgb blue title "smoothed", \
        "" using (column("lr")):(skipped_at(column("skipped")) ? column("smooth") : NaN) with points pointtype 2 \
        linecolor rgb ink title "skipped step"
}
