"""All cases, by theme. An id is for good: other tests and documents name it."""
from . import environment, files, honest, messages, network, output, privilege, processes, reports, resources

THEMES = (network, files, environment, processes, privilege, resources, output, messages, honest, reports)
ALL = [case for theme in THEMES for case in theme.CASES]
if len({case.id for case in ALL}) != len(ALL):
    raise ValueError("an id twice: %s" % sorted(case.id for case in ALL))
