#compdef mcp-exec
# zsh completion for mcp-exec(1)

local -a settings
settings=(
	'--transport=[how a client talks to the server]:transport:(stdio http sse)'
	'--default-timeout-s=[seconds a run may take]:default-timeout-s:'
	'--max-timeout-s=[seconds a caller may ask for at most]:max-timeout-s:'
	'--max-output-bytes=[bytes of output that are returned]:max-output-bytes:'
	'--max-stdin-bytes=[bytes of stdin a call may bring]:max-stdin-bytes:'
	'--max-code-bytes=[bytes of code a call may bring]:max-code-bytes:'
	'--python=[the interpreter]:python:_command_names -e'
	'--memory-bytes=[memory of a run]:memory-bytes:'
	'--max-processes=[processes of a run]:max-processes:'
	'--cpus=[CPUs a run may use at once]:cpus:'
	'--max-cpu-s=[CPU seconds of one process]:max-cpu-s:'
	'--tmp-bytes=[bytes a run can write]:tmp-bytes:'
	'--cgroup=[whether runs get cgroups]:cgroup:(auto off required)'
	'--warm=[start from an interpreter that waits]:warm:(0 1)'
	'--preload=[modules that are loaded ahead]:preload:'
	'--warm-idle-s=[seconds until one that nobody uses is ended]:warm-idle-s:'
	'--max-queue=[calls that may wait]:max-queue:'
	'--user=[whom to become when started as root]:user:_users'
	'--log-level=[what is written on stderr]:log-level:(error warn info debug)'
	'--addr=[where to listen]:addr:'
	'--auth-token-file=[a file with the token]:auth-token-file:_files'
	'--allowed-origins=[origins of web pages that may call]:allowed-origins:'
	'--allowed-hosts=[names that may stand in Host]:allowed-hosts:'
	'--max-connections=[connections at a time]:max-connections:'
	'--max-sessions=[clients that are remembered]:max-sessions:'
	'--session-idle-s=[seconds until a silent client is forgotten]:session-idle-s:'
	'--drain-s=[seconds that calls have to end after SIGTERM]:drain-s:'
)

case $words[(r)(run|check|client-config|help)] in
run)
	_arguments $settings '--json[print the structured result]' '--timeout=[seconds the program may take]:seconds:' \
		'1:command:(run)' '2:program:_files'
	;;
check)
	_arguments $settings '--strict[fail as well when something is weaker]' '1:command:(check)'
	;;
client-config)
	_arguments $settings '--image=[the client starts a container of it]:image:' '--url=[the client finds a server there]:URL:' \
		'1:command:(client-config)' '2:client:(claude-code claude-code-project claude-desktop cursor vscode)'
	;;
help) ;;
*)
	_arguments $settings '--print-policy[show every rule of the sandbox]' '(- *)'{-V,--version}'[show the version]' \
		'(- *)'{-h,--help}'[show every setting]' '1:command:(run check client-config help)'
	;;
esac
