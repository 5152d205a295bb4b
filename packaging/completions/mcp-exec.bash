# bash completion for mcp-exec(1)                                                          -*- shell-script -*-

_mcp_exec_values()
{
	case $1 in
	--transport) COMPREPLY=($(compgen -W 'stdio http sse' -- "$2")) ;;
	--warm) COMPREPLY=($(compgen -W '0 1' -- "$2")) ;;
	--log-level) COMPREPLY=($(compgen -W 'error warn info debug' -- "$2")) ;;
	--user) COMPREPLY=($(compgen -u -- "$2")) ;;
	--python | --auth-token-file) COMPREPLY=($(compgen -f -- "$2")) ;;
	esac
}

# The command that was typed before the cursor, or nothing.
_mcp_exec_command()
{
	local word
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		run | check | help | --print-policy | --version | --help) printf '%s' "$word"; return ;;
		esac
	done
}

_mcp_exec()
{
	local settings='--transport --default-timeout-s --max-timeout-s --max-output-bytes --max-stdin-bytes
		--max-code-bytes --python --memory-bytes --max-processes --cpus --max-cpu-s --tmp-bytes --warm --preload
		--warm-idle-s --max-queue --user --log-level --addr --auth-token-file --allowed-origins --allowed-hosts
		--max-connections --max-sessions --session-idle-s --drain-s'
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command words
	command=$(_mcp_exec_command)
	COMPREPLY=()
	# bash takes "--flag=value" for three words.
	if [[ $word == = ]]; then
		word=
	elif [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
	if [[ $before == --timeout || " ${settings//[$'\n\t']/ } " == *" $before "* ]]; then
		_mcp_exec_values "$before" "$word"
		return
	fi
	case $command in
	'') words="run check help --print-policy --version --help $settings" ;;
	run) words="--json --timeout $settings" ;;
	check) words="--strict $settings" ;;
	--print-policy) words=$settings ;;
	*) return ;;
	esac
	if [[ $command == run && $word != --* ]]; then
		COMPREPLY=($(compgen -f -- "$word"))
	elif [[ $word == -* || -z $command ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$word"))
	fi
}

complete -o filenames -o bashdefault -F _mcp_exec mcp-exec
