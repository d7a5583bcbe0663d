# The curves of `halfcheck calc`, one frame above the other.
# Given: title_text; png (0: svg); the number frames with the arrays frame_name and axis (0: linear,
# 1: logarithmic, 2: no number is finite); the number n of curves in each frame with the array name,
# of which the first is the real number. Reads points: step and value, a block for each curve of
# each frame. Writes picture.
height = 80 + 300 * frames
width = 920
if (png) { @open_png } else { @open_svg }
set output drawing . "picture"
@begin_style
set key at screen 0.5, screen 6.0 / height bottom center horizontal Left reverse noenhanced samplen 3 width 2 maxcols 7
set xlabel "step"
set format x "%.0f"
set autoscale xfix
set lmargin 13
set rmargin 4

# The real number has the ink's colour and is wide, and lies under the others.

set multiplot
set label 1 title_text at screen 0.5, screen 1 - 18.0 / height center noenhanced
do for [f = 1 : frames] {
    set tmargin at screen 1 - (36.0 + 300.0 * (f - 1)) / height
    set bmargin at screen 1 - (36.0 + 300.0 * f - 54.0) / height
    set ylabel frame_name[f] noenhanced
    set yrange [*:*]
    if (axis[f] == 2) { set yrange [0:1] }
    if (axis[f] == 1) {
        set logscale y 10
        set format y "10^{%L}"
        unset offsets
    } else {
        unset logscale y
        set format y "%.6g"
        set offsets 0, 0, graph 0.05, graph 0.05
    }
    plot for [s = 1 : n] "points" index (f - 1) * n + s - 1 with lines linecolor rgb palette[s] \
        dashtype dashes[s] linewidth (s == 1 ? 5 : 2) title name[s]
    unset key
    unset label 1
}
unset multiplot
