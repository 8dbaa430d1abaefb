#compdef onceward
# Completion of onceward for zsh.
_onceward() {
  local -a fits
  local line
  for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && fits+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if (( ${#fits} )); then
    _describe onceward fits
  else
    _files
  fi
}
if [[ ${funcstack[1]} == _onceward ]]; then
  _onceward "$@"
else
  compdef _onceward onceward
fi
