package cli

import "strings"

// shells are those for which there is a script. It asks COMMAND completion words, so that what it offers is what the
// command's tables and the processes have.
var shells = []struct{ name, script string }{
	{"bash", `# eval "$(COMMAND completion bash)"
_COMMAND() {
	local line
	COMPREPLY=()
	# What is after a = or a : is a word of its own to bash: so the line is split here.
	local words=(${COMP_LINE:0:COMP_POINT})
	[[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=('')
	local last=${words[-1]} cut=''
	[[ $last == *[=:]* ]] && cut=${last%"${last##*[=:]}"}
	while IFS=$'\t' read -r line _; do
		COMPREPLY+=("$(printf '%q' "${line#"$cut"}")")
	done < <(COMMAND completion words -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _COMMAND COMMAND
`},
	{"zsh", `#compdef COMMAND
# eval "$(COMMAND completion zsh)"
_COMMAND() {
	local -a found
	local value about
	while IFS=$'\t' read -r value about; do
		found+=("${value//:/\\:}:$about")
	done < <(COMMAND completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	if (( $#found )); then
		_describe COMMAND found
	else
		_files
	fi
}
compdef _COMMAND COMMAND
`},
	{"fish", `# COMMAND completion fish | source
function __COMMAND
	set -l words (commandline -opc) (commandline -ct)
	COMMAND completion words -- $words[2..-1] 2>/dev/null
end
complete -c COMMAND -a '(__COMMAND)'
`},
}

// Shells returns the names of the shells for which there is a script.
func Shells() (names []string) {
	for _, sh := range shells {
		names = append(names, sh.name)
	}
	return names
}

// Script returns what a shell reads to complete calls of the command, "" for a shell that is not known. The script calls
// "COMMAND completion words -- WORD ...", which prints what the last word may become: one a line, and after a tab what it is.
func Script(command, shell string) string {
	for _, sh := range shells {
		if sh.name == shell {
			return strings.ReplaceAll(sh.script, "COMMAND", command)
		}
	}
	return ""
}
