# Completions of colkit for fish: put this file into ~/.config/fish/completions

function __colkit_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l after (commandline -op)
    set -l done (count $before)
    test -n "$current"; and set done (math $done + 1)
    for word in (seq $done)
        set -e after[1]
    end
    set -l plain (string replace -r '^[\'"]' '' -- $current)
    set -l values ($before[1] __complete fish (count $before) $before "$plain" $after 2>/dev/null)
    set -l kind $values[1]
    set -e values[1]
    set -l typed (string match -r '^.*=' -- $current)
    switch "$kind"
        case files
            set values (__fish_complete_path (string replace -r '^.*=' '' -- $current))
        case folders
            set values (__fish_complete_directories (string replace -r '^.*=' '' -- $current))
        case '*'
            set typed
    end
    for value in $values
        echo "$typed$value"
    end
end

complete -c colkit -f -a '(__colkit_complete)'
