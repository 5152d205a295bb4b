# bash completion for mcp-exec(1)

# Fills COMPREPLY with what compgen gives, a line each: names of files may have blanks.
_mcp_exec_offer()
{
	mapfile -t COMPREPLY < <(compgen "$@")
}

# What may follow a flag, beginning with $2.
_mcp_exec_value()
{
	case $1 in
	--transport) _mcp_exec_offer -W 'stdio http sse' -- "$2" ;;
	--cgroup) _mcp_exec_offer -W 'auto off required' -- "$2" ;;
	--warm) _mcp_exec_offer -W '0 1' -- "$2" ;;
	--log-level) _mcp_exec_offer -W 'error warn info debug' -- "$2" ;;
	--user) _mcp_exec_offer -u -- "$2" ;;
	--python | --auth-token-file) _mcp_exec_offer -f -- "$2" ;;
	esac
}

_mcp_exec()
{
	local settings=' --transport --default-timeout-s --max-timeout-s --max-output-bytes --max-stdin-bytes --max-code-bytes
		--python --memory-bytes --max-processes --cpus --max-cpu-s --tmp-bytes --cgroup --warm --preload --warm-idle-s
		--max-queue --user --log-level --addr --auth-token-file --allowed-origins --allowed-hosts --max-connections
		--max-sessions --session-idle-s --drain-s '
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= typed words
	COMPREPLY=()
	# bash takes "--flag=value" for three words.
	if [[ $word == = ]]; then
		word=
	elif [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	settings=${settings//[$'\n\t']/ }
	if [[ $before == --timeout || $before == --image || $before == --url || $settings == *" $before "* ]]; then
		_mcp_exec_value "$before" "$word"
		return
	fi
	for typed in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $typed in
		run | check | client-config | help | --print-policy | --version | --help) command=${command:-$typed} ;;
		esac
	done
	case $command in
	'') words="run check client-config help --print-policy --version --help $settings" ;;
	run) words="--json --timeout $settings" ;;
	check) words="--strict $settings" ;;
	client-config) words="--image --url $settings" ;;
	--print-policy) words=$settings ;;
	*) return ;;
	esac
	if [[ $command == run && $word != -* ]]; then
		_mcp_exec_offer -f -- "$word"
	elif [[ $command == client-config && $word != -* ]]; then
		_mcp_exec_offer -W 'claude-code claude-code-project claude-desktop cursor vscode' -- "$word"
	elif [[ $command == '' || $word == -* ]]; then
		_mcp_exec_offer -W "$words" -- "$word"
	fi
}

complete -o filenames -F _mcp_exec mcp-exec
