

# --- what an import may not leave -------------------------------------------------------------------------------------

# A copy has memory and nothing else of what an import has done: no threads, no children, no files. A module whose
# import leaves more than modules, or changes what programs have that do not import it, is not loaded ahead: it is looked
# before and after each one that was asked for, and the rest of what there is is not tried.

_LISTED = ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")
# The C library's own for threads, which stay when these have gone.
_SIGNALS_OF_THREADS = 3 << 31
_PATIENCE_S = 1.0
_audits = []


def _is_alone():
    """In a sandbox, that is; a test has none."""
    return sys.path[0] == _LISTED[0]


def _lines_of(path, *names):
    try:
        with open(path) as file:
            return [line for line in file if not names or line.startswith(names)]
    except OSError:
        return []


def _descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink("/proc/self/fd/" + name)
        except OSError:     # the one that lists
            pass
    return found


def _listing():
    """But for what libraries keep for the next time: it is in a cache, and their own matter."""
    found = {}
    caches = [os.environ.get(name, "/none") for name in ("XDG_CACHE_HOME", "MPLCONFIGDIR")]
    for top in _LISTED if _is_alone() else ():
        for directory, directories, files in os.walk(top):
            directories[:] = [name for name in directories if os.path.join(directory, name) not in caches]
            for name in directories + files:
                path = os.path.join(directory, name)
                found[path] = os.lstat(path).st_size if name in files else 0
    return found


def _signals():
    found = []
    for line in _lines_of("/proc/self/status", "SigBlk", "SigIgn", "SigCgt"):
        found.append(int(line.split()[1], 16) & ~_SIGNALS_OF_THREADS)
    return found


def _random_states():
    """Of those who say where they are; the numbers of copies are anew, so nobody may have chosen them."""
    states = []
    if "random" in sys.modules:
        states.append(sys.modules["random"].getstate())
    if "numpy.random" in sys.modules:
        kind, keys, *rest = sys.modules["numpy.random"].get_state()
        states.append((kind, keys.tobytes(), rest))
    return states


def _outside_python():
    umask = os.umask(0o22)
    os.umask(umask)
    return {"descriptors": _descriptors(), "files": _listing(), "directory": os.getcwd(), "umask": umask,
            "signals": _signals(), "handlers": [_signal.getsignal(n) for n in range(1, _signal.NSIG)],
            "timers": [_signal.getitimer(n)[0] > 0 for n in range(3)], "limits": _lines_of("/proc/self/limits"),
            "locale": _locale.setlocale(_locale.LC_ALL, None), "zone": (time.tzname, time.timezone),
            "session": (os.getpgrp(), os.getsid(0), os.getpriority(os.PRIO_PROCESS, 0)),
            "processes": [name for name in os.listdir("/proc") if name.isdigit()] if _is_alone() else ()}


def _of_python():
    streams = [getattr(getattr(sys, name), "closed", None) for name in ("stdin", "stdout", "stderr")]
    state = {"streams": streams, "argv": sys.argv[:], "recursion": sys.getrecursionlimit(),
             "switching": sys.getswitchinterval(), "tracing": (sys.gettrace(), sys.getprofile()),
             "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)),
             "generators": tuple(sys.get_asyncgen_hooks()), "audits": len(_audits)}
    if hasattr(sys, "get_int_max_str_digits"):
        state["digits"] = sys.get_int_max_str_digits()
    return state


def _threads_have_gone():
    """A timer that was told to end takes its time."""
    end = time.monotonic() + _PATIENCE_S
    while len(os.listdir("/proc/self/task")) > 1:
        threading = sys.modules.get("threading")
        others = threading.enumerate() if threading else []
        if time.monotonic() > end or any(
                not (isinstance(one, threading.Timer) and one.finished.is_set()) for one in others
                if one is not threading.main_thread()):
            return False
        time.sleep(0.001)
    return True


def _has_children():
    try:
        os.waitpid(-1, os.WNOHANG)
        return True
    except ChildProcessError:
        return False


_SIMPLE = (type(None), bool, int, float, str, bytes, tuple)


def _changed_names(before, after):
    """Of the dictionary of a module, but for submodules, which are there when they are loaded."""
    return [name for name in set(before) | set(after) if before.get(name) is not after.get(name) and
            "cache" not in name and not isinstance(after.get(name), type(sys)) and not (
                isinstance(before.get(name), _SIMPLE) and before.get(name) == after.get(name))]


# What is meant to change: where a number or a name of Python itself is counted, kept or noted.
_MAY_CHANGE = {"sys": ("last_type", "last_value", "last_traceback", "last_exc"), "warnings": ("_filters_version",),
               "threading": ("_counter",), "inspect": ("isgenerator",), "tempfile": ("_name_sequence", "tempdir")}


def _setting(module, name, value):
    return lambda: setattr(module, name, value)


class _Before:
    """What there is before an import that is asked for."""

    def __init__(self, main):
        self.main, self.modules, self.random = main, {}, _random_states()
        for name, module in list(sys.modules.items()):
            if type(module) is type(sys):
                self.modules[name] = module, vars(module).copy()
        self.names = main.copy()
        self.outside, self.python = _outside_python(), _of_python()

    def take_back_changes(self, top):
        """What the import has put into a module that was there before, or that is Python's, is there again when it is
        thawed. Returns False when that cannot be."""
        for name, (module, names) in list(self.modules.items()) + [
                (name, known) for name, known in _fresh.items()
                if name not in self.modules and "-packages/" not in (getattr(known[0], "__file__", None) or "")]:
            if _top(name) == top or name == "__main__" or getattr(module, "__spec__", None) is None:
                continue
            for one in _changed_names(names, vars(module)):
                if one in _MAY_CHANGE.get(name, ()):
                    continue
                if name in ("sys", "builtins") or one not in vars(module):
                    return False
                _effects.setdefault(top, []).append((next(_count), _setting(module, one, vars(module)[one])))
                if one in names:
                    setattr(module, one, names[one])
                else:
                    delattr(module, one)
        return True

    def is_clean(self, top):
        """Whether there is no more now than there was, but for modules."""
        added = _changed_names(self.names, self.main)
        return _threads_have_gone() and not _has_children() and self.outside == _outside_python() and \
            self.python == _of_python() and self.random == _random_states()[:len(self.random)] and \
            all(name == top for name in added) and \
            (top in _KNOWN or self.take_back_changes(top))


def _within(value):
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return list(vars(value).values()) if type(getattr(value, "__dict__", None)) is dict else []


def _ends_seen(top):
    """Whether a module of the package has an object whose end can be seen: looked for two levels deep."""
    found = []
    for name, module in list(sys.modules.items()):
        if _top(name) == top and type(module) is type(sys):
            values = [value for one, value in vars(module).items() if one[:2] != "__" and not isinstance(
                value, (type(sys), type))]
            found += values + [below for value in values for below in _within(value)]
    return any(getattr(value, "gi_frame", None) for value in found if type(value) is type(x for x in ())) or not ends_unseen(found)
