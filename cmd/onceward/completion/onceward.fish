# Completion of onceward for fish.
function __onceward_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l fits ($words[1] __complete $words[2..] "$last" 2>/dev/null)
    if test (count $fits) -gt 0
        printf '%s\n' $fits
    else
        __fish_complete_path "$last"
    end
end
complete -c onceward -f -a '(__onceward_complete)'
