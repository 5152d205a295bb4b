# preload - theory of operation
#
# The pristine interpreter imports modules ahead of the programs that may want them, and hides them: they are taken out
# of sys.modules into a *stash*. A program's import searches as ever, through sys.path and whatever else the program has
# changed; only when the module is to be loaded (importlib._bootstrap._load_unlocked, where module.c waits) and it is
# the very one of the stash, it is *thawed*: put back, with everything that its import would have loaded. So a program
# that imports nothing has nothing, and one that imports numpy alone has what plain Python has then.
#
# What belongs to a module is recorded while it is preloaded: all that was asked for while its body ran, and what that
# changed beside modules (warnings' filters, sys.meta_path, exit functions, the environment).
#
# All of this is compiled under importlib's own file name, so that tracebacks and warnings leave its frames out. It
# imports nothing but what every interpreter has loaded from the start.
import _frozen_importlib as bootstrap
import _frozen_importlib_external as _bootstrap_external
import builtins
import os
import sys
import _warnings

_base = set(sys.modules)
import _contextvars
import _locale
import _signal
import gc
import time

_collect = gc.collect
stash = {}      # name -> module, what is hidden
_edges = {}     # name -> {name: None}, what the body of a module asked for
_effects = {}   # name -> [(position, function())], what it did beside
_detached = {}  # name -> (parent, attribute), for submodules that their parent has not by itself
_closures = {}  # name -> [names], in the order of their loading
_order = {}     # name -> position
_count = iter(range(sys.maxsize))
_running = []   # names of the modules whose bodies run, the innermost last
_loaded = []    # names of modules whose bodies have run
_aside = {}     # name -> module, those that are not to be seen while an extension is loaded
_attributes = []
_old = {}       # name -> module, what was loaded anew
_anew = set()   # top-level names of what is not thawed in this copy, but loaded anew
_rigid = set()  # top-level names of what has extensions, or is imported by one
_plain = set()  # top-level names of what the three known libraries need
_stamps = {}    # path -> what stat had to say of it when it was loaded
_known = set(sys.modules)   # names of modules that were there before, or that are recorded
_fresh = {}     # name -> (module, its names when its body had ended)
_real = {}      # what is replaced while it is recorded


# --- recording --------------------------------------------------------------------------------------------------------

def _ask(name):
    """The body that runs needs this module, so also its parents."""
    if _running:
        needs = _edges[_running[-1]]
        while name:
            needs[name] = None
            name = name.rpartition(".")[0]


def _effect(function):
    """The body that runs has done what function would do again."""
    _effects.setdefault(_running[-1] if _running else "", []).append((next(_count), function))


def _enter(name):
    _edges.setdefault(name, {})
    _known.add(name)


def _leave(name):
    """Python moves a module to the end of sys.modules when its body has ended."""
    _order.setdefault(name, len(_order))


def _adopt_strays():
    """Modules that a body put into sys.modules itself."""
    if len(sys.modules) > len(_known):
        for name in [name for name in sys.modules if name not in _known]:
            _enter(name)
            _leave(name)
            _ask(name)


def _closure_of(name):
    found = {name: None}
    todo = [name]
    for one in todo:
        for other in list(_edges.get(one, ())) + [one.rpartition(".")[0]]:
            if other in _order and other not in found:
                found[other] = None
                todo.append(other)
    return found


def _set_aside():
    """An extension imports what is there without a word to Python, so nothing is there but what waits for it. Modules
    that were put into sys.modules by hand stay, for they are not found again."""
    for name in [name for name in _loaded if name in sys.modules and not any(
            (running + ".").startswith(name + ".") for running in _running)]:
        _aside[name] = sys.modules.pop(name)


def _take_back(name):
    for other in _closure_of(name):
        if other in _aside:
            parent, _, child = other.rpartition(".")
            _attributes.append((sys.modules.get(parent), child, getattr(sys.modules.get(parent), child, None)))
            sys.modules[other] = _aside.pop(other)
    return sys.modules[name]


def _take_all_back():
    for name, module in _aside.items():
        sys.modules.setdefault(name, module)
    _aside.clear()
    for parent, child, value in _attributes:
        if value is not None:
            setattr(parent, child, value)
    _attributes.clear()


def _run_body(spec):
    if not isinstance(spec.loader, _bootstrap_external.ExtensionFileLoader):
        return _real["load"](spec)
    outermost = not _aside
    _set_aside()
    try:
        return _real["load"](spec)
    finally:
        if outermost:
            _take_all_back()


def _record_load(spec):
    _ask(spec.name)
    if spec.name in _aside:
        return _take_back(spec.name)
    _adopt_strays()
    _enter(spec.name)
    _places_look()
    _running.append(spec.name)
    try:
        module = _run_body(spec)
        _loaded.append(spec.name)
        return module
    finally:
        _tables_add(spec.name)
        if type(sys.modules.get(spec.name)) is type(sys):
            _fresh[spec.name] = sys.modules[spec.name], vars(sys.modules[spec.name]).copy()
        _places_look()
        _adopt_strays()
        _leave(_running.pop())
        if spec.name == "matplotlib":
            _settings.update(_settings_of(sys.modules.get(spec.name)))


def _record_find(name, import_):
    _ask(name)
    return _real["find"](name, import_)


def _absolute(name, globals, level):
    if not level:
        return name
    package = globals.get("__package__")
    if package is None:
        package = globals["__name__"] if "__path__" in globals else globals["__name__"].rpartition(".")[0]
    base = package.rsplit(".", level - 1)[0]
    return base + "." + name if name else base


def _record_import(name, globals=None, locals=None, fromlist=(), level=0):
    result = _real["import"](name, globals, locals, fromlist, level)
    if _running:
        full = _absolute(name, globals, level)
        _ask(full)
        module = sys.modules.get(full)
        for item in getattr(module, "__all__", ()) if fromlist and "*" in fromlist else fromlist or ():
            below = sys.modules.get("%s.%s" % (full, item))
            if below is not None and getattr(module, item, None) is below:
                _ask("%s.%s" % (full, item))
    return result


def _record_register(function, *args, **kwargs):
    """atexit.register, for modules that may keep it."""
    if not _running:
        return _real["register"](function, *args, **kwargs)
    _effect(lambda: _real["register"](function, *args, **kwargs))
    return function


# --- what imports change beside modules -------------------------------------------------------------------------------

def _filters_changed():
    """What C knows of them it shall forget."""
    if hasattr(_warnings, "_filters_mutated"):
        _warnings._filters_mutated()
    else:       # from 3.14 on
        _warnings._acquire_lock()
        try:
            _warnings._filters_mutated_lock_held()
        finally:
            _warnings._release_lock()


_places = [_warnings.filters, sys.meta_path, sys.path_hooks, sys.path]
_seen = []      # the contents of the places, and of the environment, when they were last looked at
_before = []    # when nothing was preloaded


def _contents():
    return [list(place) for place in _places] + [os.environ._data.copy()]


def _place_effect(place, old, new):
    """What makes of a list that was `old` one that is `new`, where it is applied to another."""
    count = len(new) - len(old)
    if count > 0 and new[count:] == old:
        first, last = new[:count], []
    elif count > 0 and new[:len(old)] == old:
        first, last = [], new[len(old):]
    else:
        first, last = new, None

    def apply():
        if last is None:
            place[:] = first
        else:
            place[:] = first + [item for item in place if item not in first and item not in last] + last
        if place is _warnings.filters:
            _filters_changed()
    return apply


def _environment_effect(old, new):
    def apply():
        for key, value in new.items():
            if old.get(key) != value:
                os.environ[os.fsdecode(key)] = os.fsdecode(value)
        for key in old:
            if key not in new:
                os.environ.pop(os.fsdecode(key), None)
    return apply


def _places_look():
    """Whatever has changed since the last look is the doing of the body that runs."""
    now = _contents()
    _tables_look()
    if now == _seen:
        return
    for place, old, new in zip(_places, _seen, now):
        if old != new:
            _effect(_place_effect(place, old, new))
    if _seen[-1] != now[-1]:
        _effect(_environment_effect(_seen[-1], now[-1]))
    _seen[:] = now


# Dictionaries of modules, into which others put what is theirs: names, and the contents before that.
_tables = {"sys": (sys.path_importer_cache, sys.path_importer_cache.copy())}
_tables_seen = {"sys": set(sys.path_importer_cache)}
_threads = []   # how many threads were numbered when that was last looked at


def _table_of(name):
    module = sys.modules.get(name)
    if name == "logging":
        return module.root.manager.loggerDict
    return module.cache if name == "linecache" else module.dispatch_table


def _tables_add(name):
    """As its own body has left it."""
    if name in ("linecache", "logging", "copyreg") and name in sys.modules and name not in _tables:
        table = _table_of(name)
        _tables[name] = table, table.copy()
        _tables_seen[name] = set(table)
    if name == "threading" and name in sys.modules and not _threads:
        _threads.append(_count_threads(sys.modules[name]))


def _count_threads(threading):
    return int(repr(threading._counter.__self__)[6:-1])     # count(n)


def _logger_effect(name, logger):
    def apply():
        manager = logger.manager
        there = manager.loggerDict.get(name)
        if isinstance(there, type(logger)):     # the program's; from here on they are one
            logger.__dict__ = there.__dict__
            return
        manager.loggerDict[name] = logger
        logger._cache.clear()
        if there is not None:
            manager._fixupChildren(there, logger)
        manager._fixupParents(logger)
    return apply


def _table_effect(table, added):
    def apply():
        for key, value in added.items():
            table.setdefault(key, value)
    return apply


def _threads_effect(threading, count):
    def apply():
        for _ in range(count):
            threading._counter()
    return apply


def _tables_look():
    for name, (table, _) in _tables.items():
        seen = _tables_seen[name]
        if len(table) == len(seen):
            continue
        added = {key: value for key, value in table.items() if key not in seen}
        seen.update(added)
        if name != "logging":
            _effect(_table_effect(table, added))
            continue
        for key, value in added.items():
            if hasattr(value, "_cache"):        # others only hold a place
                _effect(_logger_effect(key, value))
            else:
                seen.discard(key)
    if _threads and "threading" in sys.modules:
        count = _count_threads(sys.modules["threading"])
        if count != _threads[-1]:
            _effect(_threads_effect(sys.modules["threading"], count - _threads[-1]))
            _threads.append(count)


def _tables_restore():
    for table, before in _tables.values():
        table.clear()
        table.update(before)
    threading = stash.get("threading") or sys.modules.get("threading")
    if _threads and threading is not None:
        threading._counter = type(threading._counter.__self__)(_threads[0]).__next__


def _places_restore():
    _tables_restore()
    for place, content in zip(_places, _before):
        if place != content:
            place[:] = content
    _filters_changed()
    _environment_effect(os.environ._data.copy(), _before[-1])()
    _seen[:] = _contents()


# --- preloading -------------------------------------------------------------------------------------------------------

def _start_recording():
    import atexit
    for name in ("linecache", "logging", "copyreg", "threading"):
        _tables_add(name)
    for name in ("gc", "atexit", "_contextvars", "_locale", "_signal", "time"):
        if name not in _base:
            _enter(name)
            _leave(name)
    add_audit_hook = sys.addaudithook

    def count_audit_hook(hook):
        _audits.append(hook)
        add_audit_hook(hook)
    sys.addaudithook = count_audit_hook
    _real.update({"audit": add_audit_hook, "load": bootstrap._load_unlocked, "find": bootstrap._find_and_load,
                  "import": builtins.__import__, "register": atexit.register})
    _before[:] = _contents()
    _seen[:] = _contents()
    bootstrap._load_unlocked = _record_load
    bootstrap._find_and_load = _record_find
    builtins.__import__ = _record_import
    atexit.register = _record_register


def _stop_recording():
    bootstrap._load_unlocked = _real["load"]
    bootstrap._find_and_load = _real["find"]
    builtins.__import__ = _real["import"]
    sys.modules["atexit"].register = _real["register"]
    sys.addaudithook = _real["audit"]


def _forget(names):
    """What a failed import left."""
    for name in names:
        sys.modules.pop(name, None)
        for table in (_edges, _effects, _order):
            table.pop(name, None)
        if name in _loaded:
            _loaded.remove(name)


# What a module imports only when it is used, and then in nearly every program. No loss where there is none of it.
_SOON = {"matplotlib.pyplot": ("matplotlib.backends.backend_agg",)}


def _import_one(name, main):
    """Returns whether it is there, and whether there is nothing else that came with it."""
    before = _Before(main)
    _fresh.clear()
    try:
        exec("import " + name, main)
        for more in _SOON.get(name, ()):
            try:
                exec("import " + more, main)
            except ImportError:
                pass
        loaded = True
    except BaseException:
        _forget([name for name in sys.modules if name not in before.modules])
        loaded = False
    if not before.is_clean(_top(name)) or loaded and _top(name) not in _KNOWN and _ends_seen(_top(name)):
        return False, False
    return loaded, True


def _closure(name):
    """Everything that an import of it loads, itself included, in that order."""
    if name not in _closures:
        _closures[name] = sorted(_closure_of(name), key=_order.__getitem__)
    return _closures[name]


def _detach(name, module):
    """A submodule is an attribute of its parent from its own import on, unless the parent imports it anyhow."""
    parent, _, child = name.rpartition(".")
    owner = stash.get(parent) or sys.modules.get(parent)
    if owner is None or getattr(owner, "__dict__", {}).get(child) is not module:
        return
    if parent in stash and name in _closure(parent):
        return
    _detached[name] = (owner, child)
    delattr(owner, child)


def _hide():
    for name in [name for name in sys.modules if name not in _base]:
        _order.setdefault(name, len(_order))
        stash[name] = sys.modules.pop(name)
    for name, module in stash.items():
        _detach(name, module)
    finalize = getattr(stash.get("weakref"), "finalize", None)
    if finalize is not None:    # it is registered at exit when there is one to call, and then for good
        finalize._registered_with_atexit = False
    _places_restore()


def preload(names, main):
    """Imports and hides each of names, which have commas between them, from the dict main. Returns which went well, as
    bits."""
    names = names.split(",") if names else []
    good = (1 << len(names)) - 1
    _start_recording()
    try:
        for i, name in enumerate(names):
            loaded, clean = _contextvars.Context().run(_import_one, name, main)
            if not loaded:
                good &= ~(1 << i)
            if not clean:       # nothing of this process will be used
                return good
    finally:
        _stop_recording()
    _hide()
    _take_back_settings()
    _keep_files()
    sys.path_importer_cache.pop(sys.path[0], None)
    for name in names:
        if name in _order:
            _closure(name)
    _learn()
    _remember()
    return good


# --- thawing ----------------------------------------------------------------------------------------------------------

def _same(module, spec):
    own = getattr(module, "__spec__", None)
    return own is not None and own.origin == spec.origin and type(own.loader) is type(spec.loader)


def _thaw(names):
    effects = []
    for name in names:
        module = stash.pop(name, None)
        if module is None:
            continue
        sys.modules[name] = module
        if name in _detached:
            setattr(*_detached.pop(name), module)
        effects += _effects.pop(name, ())
        if name in _waking:
            try:
                _waking[name](module)
            except OSError:
                pass
    if effects:
        for _, effect in sorted(effects, key=lambda pair: pair[0]):
            effect()
        _remember()


def load(spec):
    """In the place of _load_unlocked, for a module whose name is in the stash."""
    name = spec.name
    if not _same(stash[name], spec):
        _anew.add(_top(name))
    names = _closure(name)
    if _top(name) not in _anew and not (_is_undisturbed(name, names) and _is_unchanged(name)):
        _anew.update(_stale(names))
    if _top(name) in _anew:
        if not (_same(stash[name], spec) and isinstance(spec.loader, _bootstrap_external.ExtensionFileLoader)):
            _old[name] = stash.pop(name)
            return _real["load"](spec)
        names = [name]
    _thaw(names)
    if _top(name) in _anew:
        _renew(sys.modules[name])
    module = sys.modules.pop(name)
    sys.modules[name] = module
    return module


def _renew(extension):
    """A process can have an extension only once. What this one has imported is to be from the modules that there are now.
    """
    for other in _edges.get(extension.__name__, ()):
        if _top(other) in _anew and not extension.__name__.startswith(other + "."):
            __import__(other)
            old, new = _old.get(other), sys.modules[other]
            for name, value in list(vars(extension).items()) if old is not None else ():
                if value is not None and getattr(old, name, None) is value:
                    if not hasattr(new, name):
                        raise ImportError("cannot import name " + name)
                    setattr(extension, name, getattr(new, name))
    guard = vars(extension).get("_reload_guard")
    if guard is not None:   # numpy's, which would warn
        def once():
            extension._reload_guard = guard
        extension._reload_guard = once


# --- when not to thaw -------------------------------------------------------------------------------------------------

# What a program has changed may be what an import would have met: files that are found before those of a library,
# finders, the environment. Then it is asked for each package whether it is still the same, and those that are not are
# loaded anew, with all that need them. Only, the code of an extension stays as it is, and has hold of the classes of its
# package; so a package that has one is loaded anew for a better reason than that the environment is another.

_KNOWN = ("numpy", "pandas", "matplotlib")
_now = {}       # what a program would have to change


def _top(name):
    return name.partition(".")[0]


def _origin(module):
    spec = getattr(module, "__spec__", None)
    return spec.origin if spec is not None and spec.has_location and isinstance(spec.origin, str) else None


def _stat(path):
    try:
        result = os.stat(path)
        return result.st_mtime_ns, result.st_size, result.st_ino
    except OSError:
        return None


def _learn():
    for name, module in stash.items():
        origin = _origin(module)
        if origin is None:
            continue
        for path in (origin, os.path.dirname(origin)):
            if path not in _stamps:
                _stamps[path] = _stat(path)
        if isinstance(module.__spec__.loader, _bootstrap_external.ExtensionFileLoader):
            _rigid.update(_top(other) for other in list(_edges.get(name, ())) + [name])
    for name in list(stash):
        if _top(name) in _KNOWN:
            _plain.update(_top(other) for other in _closure(name))


def _surroundings():
    return [sys.meta_path[:], sys.path_hooks[:], sys.path[:], os.environ._data.copy(), os.getcwd(),
            sorted(os.listdir(sys.path[0]))]


def _remember():
    """What is here, and what thawing has changed, is not the program's doing."""
    try:
        _now["surroundings"] = _surroundings()
    except OSError:
        _now.pop("surroundings", None)
    _now["filters"] = _warnings.filters[:]


def _is_undisturbed(name, names):
    try:
        if _surroundings() != _now["surroundings"]:
            return False
    except (OSError, LookupError, AttributeError, TypeError):
        return False
    if builtins.__import__ is not _real["import"] or sys.gettrace() or sys.getprofile():
        return False
    if any(item[0] != "ignore" and item not in _now["filters"] for item in _warnings.filters):
        return False
    for finder in sys.path_importer_cache.values():
        if finder is not None and type(finder) is not _bootstrap_external.FileFinder:
            return False
    for one in names:
        if one in sys.modules and sys.modules[one] is not stash.get(one, sys.modules[one]):
            return False
    return not (_top(name) == "matplotlib" and _has_settings())


def _is_unchanged(name):
    """Files of a package that was installed anew are in directories that changed."""
    top, module = _top(name), stash[name]
    for origin in {_origin(module), _origin(stash.get(top) or sys.modules.get(top))}:
        if origin and any(_stat(path) != _stamps.get(path) for path in (origin, os.path.dirname(origin))):
            return False
    return True


def _has_settings():
    directories = [os.curdir, os.environ.get("MPLCONFIGDIR") or os.curdir]
    return any(_stat(os.path.join(directory, "matplotlibrc")) for directory in directories)


def _is_other_for_matplotlib():
    old, new = _now["surroundings"][3], os.environ._data
    return _has_settings() or any(
        key.startswith((b"MPL", b"MATPLOTLIB", b"XDG_", b"HOME", b"DISPLAY", b"WAYLAND", b"TMP")) and
        old.get(key) != new.get(key) for key in set(old) | set(new))


def _is_stale(top, names):
    module = stash.get(top)
    if getattr(module, "__spec__", None) is not None:   # others were put into sys.modules by hand
        try:
            found = bootstrap._find_spec(top, None)
        except Exception:
            return True
        if found is None or not _same(module, found):
            return True
    for name in names:
        if name in stash and (not _is_unchanged(name) or sys.modules.get(name, stash[name]) is not stash[name]):
            return True
    if top == "matplotlib":
        return _is_other_for_matplotlib()
    return top not in _plain and top not in _rigid


def _stale(names):
    """The top-level names of those that are to be loaded anew."""
    if "surroundings" not in _now:
        return set(map(_top, names))
    groups = {}
    for name in names:
        groups.setdefault(_top(name), []).append(name)
    stale = {top for top, group in groups.items() if top in _anew or top not in _base and _is_stale(top, group)}
    stale.update(_top(name) for name in names if name in sys.modules and name in stash)
    count = -1
    while count != len(stale):
        count = len(stale)
        stale.update(_top(name) for name in names if any(_top(other) in stale for other in _edges.get(name, ())))
    return stale


# --- what must not be the same in every copy --------------------------------------------------------------------------

def _wake_logging(logging):
    import time
    if isinstance(logging._startTime, float):
        logging._startTime = time.time()
    else:
        logging._startTime = time.time_ns()


_settings = {}  # of matplotlib, before and after others changed them
_changed = {}


def _settings_of(matplotlib):
    return dict(dict.items(matplotlib.rcParams)) if matplotlib else {}


def _take_back_settings():
    """pyplot changes how matplotlib finds a backend; without it nothing has."""
    matplotlib = stash.get("matplotlib")
    for key, value in _settings_of(matplotlib).items():
        if _settings.get(key, value) is not value:
            _changed[key] = value
            dict.__setitem__(matplotlib.rcParams, key, _settings[key])


def _wake_pyplot(pyplot):
    """What the program has set before stays."""
    for key, value in _changed.items():
        if dict.__getitem__(pyplot.rcParams, key) is _settings[key]:
            dict.__setitem__(pyplot.rcParams, key, value)


_files = {}     # path -> content, of matplotlib's list of fonts


def _keep_files():
    matplotlib = stash.get("matplotlib")
    if matplotlib is not None and "matplotlib.font_manager" in stash:
        directory = matplotlib.get_cachedir()
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                _files[file.name] = file.read()


def _wake_matplotlib(matplotlib):
    os.makedirs(matplotlib.get_configdir(), exist_ok=True)


def _wake_fonts(font_manager):
    for path, content in _files.items():
        with open(path, "xb") as file:
            file.write(content)


# By name: function(module), what an import does outside of the process, or what should not come from another time.
_waking = {"logging": _wake_logging, "matplotlib": _wake_matplotlib, "matplotlib.pyplot": _wake_pyplot,
           "matplotlib.font_manager": _wake_fonts}


# What most programs do, for a process that will not get one: pages.c. It prints into nothing.
_REHEARSAL = {"": '''
import sys
from os import path
class Line:
    def __init__(self, text, *more, **named):
        self.text, self.more = text, list(more)
    @property
    def size(self):
        return len(self.text) + sum(len(word) for word in self.more)
    def write(self, text):
        self.text = text
def double(value, by=2):
    """Doubles."""
    return value * by
line = Line("a b c", "d", end=1)
for i, word in enumerate(sorted(line.text.split(), reverse=True)):
    if i % 2 and word not in ("x", None):
        line.more.append(f"{word!r:>5} {i / 3:.2f} {double(i)}")
table = {key: [n ** 2 for n in range(3)] for key in "abc"}
table.update(zip("xy", map(double, (1, 2.5))))
found = set(table) | {1, 2} - {2}
text = ", ".join("%s=%s" % pair for pair in table.items())
print(text.upper(), found, line.size, (1, 2.5, True), max(found, key=str), 7 // 2, file=line)
try:
    assert isinstance(line, Line) and hasattr(line, "size") and table["none"]
except (KeyError, ValueError) as error:
    print(type(error).__name__, str(error), file=line)
finally:
    i = 10 ** 20 + len(text[1:-1].replace("a", "b").encode())
sys.stdout.write("")
while i > 10 ** 19:
    i //= 2
with_lambda = list(filter(lambda n: n > 1, [3, 1, 2]))
''', "numpy": '''
import numpy as np
numbers = np.arange(10)
for one in (numbers.sum(), numbers * 2.5, numbers.reshape(2, 5).mean(axis=0), numbers[numbers > 3], np.zeros((2, 2)),
            np.random.default_rng().random(3), np.linspace(0, 1, 5).dot(np.ones(5)), np.array([[1.5, 2], [3, 4]]).T):
    str(one), repr(one)
np.linalg.inv(np.eye(2) * 2)
''', "pandas": '''
import pandas as pd
frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "c": [1.5, None, 2]})
for one in (frame.a.sum(), frame, frame.describe(), frame.groupby("b").a.mean(), frame[frame.a > 1], frame.dtypes,
            frame.sort_values("a"), frame.merge(frame, on="a"), pd.Series([1, 2]).value_counts()):
    str(one)
pd.to_datetime(["2024-01-01"])
''', "matplotlib": '''
import io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.title("a")
plt.xlabel("b")
len(plt.gca().lines)
plt.savefig(io.BytesIO())
'''}


def is_known():
    """Whether all that is loaded is of libraries that were looked at, or what they need."""
    return all(_top(name) in _plain for name in stash)


def rehearse():
    for name, text in _REHEARSAL.items():
        if not name or name in stash:
            try:
                exec(text, {"__name__": "__rehearsal__"})
            except Exception:
                pass


def refresh():
    """In a copy, before it waits: new random numbers. Those of `random` come by its own hook of fork."""
    random = stash.get("numpy.random")
    if random is not None:
        random.seed()
    tempfile = stash.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
    process = stash.get("multiprocessing.process")
    if process is not None:
        process.current_process().authkey = os.urandom(32)
    threading = stash.get("threading") or sys.modules.get("threading")
    if hasattr(getattr(threading, "_main_thread", None), "_set_native_id"):
        threading._main_thread._set_native_id()
    _surroundings()
    _collect()
