#compdef halfcheck
# Completion of halfcheck for zsh: halfcheck itself says what may come next.
_halfcheck() {
    local line kind name
    local -a typed lines whole parts
    typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    lines=("${(@f)$(OMP_WAIT_POLICY=passive ${~words[1]} manual --complete -- \
        "${typed[@]}" 2>/dev/null)}")
    kind=$lines[-1]
    for line in "${(@)lines[1,-2]}"; do
        name=${line%%$'\t'*}
        if [[ $name == */ ]]; then
            parts+=("$name")
        elif [[ $line == *$'\t'* ]]; then
            whole+=("${name//:/\\:}:${line#*$'\t'}")
        else
            whole+=("${name//:/\\:}")
        fi
    done
    local found=1
    ((${#parts})) && compadd -S '' -- "${parts[@]}" && found=0
    ((${#whole})) && _describe -t values value whole && found=0
    [[ $kind == names ]] && return found
    compset -P '--*='
    compset -P '*='
    if [[ $kind == folders ]]; then
        _files -/ && found=0
    else
        _files && found=0
    fi
    return found
}
if [[ $funcstack[1] == _halfcheck ]]; then
    _halfcheck "$@"
elif (($+functions[compdef])); then
    compdef _halfcheck halfcheck
fi
