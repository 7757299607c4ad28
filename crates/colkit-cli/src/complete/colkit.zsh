#compdef colkit
# Completions of colkit for zsh: put this file as _colkit into a folder of $fpath, or source it behind compinit

_colkit() {
    local kind line
    local -a lines described before after
    before=("${(@Q)words[1,CURRENT-1]}")
    after=("${(@Q)words[CURRENT+1,-1]}")
    lines=("${(@f)$(${~words[1]} __complete zsh $((CURRENT - 1)) "${before[@]}" "${(Q)PREFIX}" "${after[@]}" 2>/dev/null)}")
    kind=$lines[1]
    case $kind in
        files) compset -P '*='; _files; return ;;
        folders) compset -P '*='; _files -/; return ;;
    esac
    for line in "${(@)lines[2,-1]}"; do
        described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    (( $#described )) || return 1
    if [[ $kind == list ]]; then
        _describe 'value' described -S ''
    else
        _describe 'value' described
    fi
}

if [[ $funcstack[1] == _colkit ]]; then
    _colkit "$@"
else
    compdef _colkit colkit
fi
