"""All cases, by theme. An id is for good: other tests and documents name it."""
import fnmatch

from . import (copies, environment, files, honest, http, http_heads, http_load, http_sessions, messages, network,
               output, privilege, processes, reports, resources, start, transport)

THEMES = (network, files, environment, processes, copies, start, privilege, resources, output, messages, honest, reports,
          transport, http, http_heads, http_load, http_sessions)
ALL = [case for theme in THEMES for case in theme.CASES]
if len({case.id for case in ALL}) != len(ALL):
    raise ValueError("an id twice: %s" % sorted(case.id for case in ALL))
for pattern, _ in transport.AGAIN:
    if not fnmatch.filter([case.id for case in ALL], pattern):
        raise ValueError("there is no case %s" % pattern)
