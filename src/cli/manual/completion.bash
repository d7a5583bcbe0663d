# Completion of halfcheck for bash: halfcheck itself says what may come next.
_halfcheck() {
    local words=() word line i kind broken

    # bash parts words at = and :, too. They are joined as they were typed.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]})) && { [[ $word == [=:]* ]] || [[ ${words[-1]} == *[=:] ]]; }; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done

    # A quotation mark that is still open is none of the word's letters.
    for i in "${!words[@]}"; do
        word=${words[i]}
        case $word in
        \'* | \"*) words[i]=${word:1} ;;
        esac
    done
    word=${words[-1]}
    broken=${word%"${COMP_WORDS[COMP_CWORD]#[\'\"]}"}
    [[ $word == *[=:] ]] && broken=$word

    COMPREPLY=()
    while IFS= read -r line; do
        [[ -n $kind ]] && COMPREPLY+=("${kind#"$broken"}")
        kind=${line%%$'\t'*} # what the last line says
    done < <(OMP_WAIT_POLICY=passive "$1" manual --complete -- "${words[@]}" 2>/dev/null)

    case $kind in
    names) compopt +o default ;;
    folders) compopt -o dirnames +o default ;;
    esac
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _halfcheck halfcheck
