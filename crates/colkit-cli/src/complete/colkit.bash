# Completions of colkit for bash: source this file, or put it into ~/.local/share/bash-completion/completions/colkit

_colkit() {
    local kind='' value about
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        if [[ -z $kind ]]; then
            kind=$value
        else
            if [[ $value == *[!A-Za-z0-9_.,:/@%+=-]* && ${COMP_WORDS[COMP_CWORD]} != [\'\"]* ]]; then
                printf -v value %q "$value"
            fi
            COMPREPLY+=("$value")
        fi
    done < <("${1/#\~/$HOME}" __complete bash "$COMP_CWORD" "${COMP_WORDS[@]}" 2>/dev/null)
    case $kind in
        values) compopt +o default +o bashdefault 2>/dev/null ;;
        list) compopt -o nospace +o default +o bashdefault 2>/dev/null ;;
    esac
}

complete -o bashdefault -o default -F _colkit colkit
