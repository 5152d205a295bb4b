#!/usr/bin/env python3
"""Nothing that should be drawn anew is drawn once for several runs: not by Python, by libraries, by C or by the kernel.

Copies of one interpreter share what it drew at its own start, the seed of hashes and the layout of its memory. For that
reason it is replaced after a number of them.
"""
import json

from _sandbox import check, equal, nothing_left, printed, server, structured
from mcp import cases, main, skip
import warm

RUNS = 200
# Started by exec nothing can be shared; few runs show that the program itself draws what it should.
COLD_RUNS = 12

DRAW = """
import ctypes, hashlib, hmac, json, os, random, secrets, string, sys, tempfile, uuid
drawn = {}
%s
print(json.dumps(drawn))
"""
PYTHON = """
import email.utils, multiprocessing, sqlite3, ssl
drawn["random"] = random.random()
drawn["random.Random"] = random.Random().random()
drawn["random.getrandbits"] = random.getrandbits(64)
drawn["random.randbytes"] = getattr(random, "randbytes", os.urandom)(16).hex()
drawn["random.shuffle"] = "".join(random.sample(string.ascii_letters * 4, 40))
drawn["random.gauss"] = random.gauss(0, 1)
drawn["random.getstate"] = hashlib.sha256(repr(random.getstate()).encode()).hexdigest()
drawn["SystemRandom"] = random.SystemRandom().random()
drawn["secrets"] = secrets.token_hex(16)
drawn["urandom"] = os.urandom(16).hex()
drawn["uuid4"] = str(uuid.uuid4())
drawn["uuid1"] = str(uuid.uuid1())
drawn["mktemp"] = tempfile.mktemp()
drawn["mkdtemp"] = tempfile.mkdtemp()
drawn["NamedTemporaryFile"] = tempfile.NamedTemporaryFile().name
drawn["authkey"] = bytes(multiprocessing.current_process().authkey).hex()
drawn["ssl"] = ssl.RAND_bytes(16).hex()
drawn["sqlite"] = sqlite3.connect(":memory:").execute("select random()").fetchone()[0]
drawn["message id"] = email.utils.make_msgid().split("@")[0].split(".", 2)[-1]
libc = ctypes.CDLL(None)
buffer = ctypes.create_string_buffer(16)
libc.getrandom(buffer, 16, 0)
drawn["getrandom"] = buffer.raw.hex()
if hasattr(libc, "arc4random_buf"):
    libc.arc4random_buf(buffer, 16)
    drawn["arc4random"] = buffer.raw.hex()
if os.path.exists("/proc/sys/kernel/random/uuid"):
    drawn["uuid of the kernel"] = open("/proc/sys/kernel/random/uuid").read()
if os.fork() == 0:
    # A child's own is another again.
    print(json.dumps([random.random(), str(uuid.uuid4()), tempfile.mktemp()]), file=sys.stderr, flush=True)
    os._exit(0)
os.wait()
"""
NUMPY = """
import numpy as np
drawn["rand"] = np.random.rand()
drawn["randint"] = int(np.random.randint(2 ** 62))
drawn["normal"] = np.random.normal()
drawn["permutation"] = str(np.random.permutation(40))
drawn["get_state"] = hashlib.sha256(np.random.get_state()[1].tobytes()).hexdigest()
drawn["default_rng"] = np.random.default_rng().random()
drawn["RandomState"] = np.random.RandomState().rand()
drawn["SeedSequence"] = str(np.random.SeedSequence().entropy)
drawn["PCG64"] = str(np.random.PCG64().state["state"]["state"])
drawn["random of Python"] = random.random()
drawn["uuid4"] = str(uuid.uuid4())
drawn["mktemp"] = tempfile.mktemp()
"""
PANDAS = """
import numpy as np, pandas as pd
drawn["sample"] = str(pd.Series(range(60)).sample(40).tolist())
drawn["of a frame"] = str(pd.DataFrame({"a": range(60)}).sample(frac=.7).a.tolist())
drawn["rand"] = np.random.rand()
"""
PYPLOT = """
import io, matplotlib.pyplot as plt, re
plt.plot([1, 2], clip_on=True)
text = io.StringIO()
plt.savefig(text, format="svg")
drawn["ids in a figure"] = re.search(r"url\\(#(\\w+)\\)", text.getvalue())[1]
"""

# name, what is drawn, whether libraries must have been loaded before, runs
SOURCES = [("python", PYTHON, False, RUNS), ("numpy", NUMPY, True, RUNS), ("pandas", PANDAS, True, RUNS // 4),
           ("pyplot", PYPLOT, True, RUNS // 8)]


def in_mode(mode, code, wanted, runs):
    """Results of so many runs that were started as wanted, one after the other; others in between count as well."""
    s = server(MCP_EXEC_WARM="0" if mode == "cold" else "1")
    results, found = [], 0
    warm.until_started(s, code, *wanted, each=results.append)
    while found < runs:
        results.append(s.exec(code))
        found += warm.start_of(results[-1]) in wanted
        check(len(results) < 3 * runs + 100, "few were started", *wanted)
    return [structured(result) for result in results]


MODES = [("cold", (warm.COLD,)), ("warm", (warm.WARM, warm.PRELOADED))]


@cases([("%s_%s" % (source[0], mode), mode, wanted) + source[1:] for source in SOURCES for mode, wanted in MODES])
def test_nothing_is_drawn_twice(mode, wanted, draw, loads, runs):
    if mode != "cold" and not warm.known():
        skip("the server has no warm runs")
    if mode != "cold" and loads:
        wanted = (warm.PRELOADED,)
    seen = {}
    for number, result in enumerate(in_mode(mode, DRAW % draw, wanted, COLD_RUNS if mode == "cold" else runs)):
        equal(result["exit_code"], 0, result["stderr"][-400:])
        values = list(json.loads(result["stdout"]).items())
        values += [("of a child", value) for line in result["stderr"].splitlines() for value in json.loads(line)]
        check(values, "nothing was drawn")
        for name, value in values:
            earlier = seen.setdefault((name, value), number)
            equal(earlier, number, "%s gave %r in run %d, and before in" % (name, value, number))


def test_what_is_seeded_is_the_same_again():
    code = "import random\nimport numpy as np\nnp.random.seed(0); random.seed(0)\nprint(np.random.rand(4), " \
        "np.random.default_rng(0).random(), np.random.RandomState(5).randint(9, size=9), random.random(), " \
        "random.Random('x').random())"
    for mode, _ in MODES if warm.known() else MODES[:1]:
        wanted = warm.COLD if mode == "cold" else warm.PRELOADED
        for result in in_mode(mode, code, (wanted,), 5):
            equal(result["stdout"], printed(code))


def test_the_id_of_a_machine_is_not_told_by_uuid1():
    """Two copies that draw at once must differ by more than the time."""
    code = "import uuid; u = uuid.uuid1(); print(u.node, u.clock_seq)"
    for mode, wanted in MODES if warm.known() else MODES[:1]:
        drawn = [result["stdout"] for result in in_mode(mode, code, wanted, COLD_RUNS)]
        equal(len(set(drawn)), len(drawn), "distinct of %r:" % drawn)


LAYOUT = "import ctypes\nlines = open('/proc/self/maps').read().splitlines()\n" \
    "print(hash('a string'), hash(b'bytes'), id(object()), [l.split('-')[0] for l in lines if " \
    "'[stack]' in l], [l.split('-')[0] for l in lines if '[heap]' in l], ctypes.addressof(ctypes.c_int.in_dll(" \
    "ctypes.CDLL(None), 'opterr')), sep=';')"
NAMES = ("hash of a string", "hash of bytes", "address of an object", "stack", "heap", "C library")


def shared(outputs):
    """For each value of a run's layout: how many runs had the most frequent one."""
    columns = list(zip(*[output.strip().split(";") for output in outputs]))
    equal(len(columns), len(NAMES))
    return {name: max(column.count(value) for value in set(column)) for name, column in zip(NAMES, columns)}


def test_started_by_exec_each_has_a_layout_of_its_own():
    most = shared([result["stdout"] for result in in_mode("cold", LAYOUT, (warm.COLD,), COLD_RUNS)])
    for name in NAMES:
        check(most[name] <= 2, "%s was shared:" % name, most)


def test_an_interpreter_is_replaced_before_it_has_many_copies():
    if not warm.known():
        skip("the server has no warm runs")
    runs = warm.COPIES * 2 + 200
    outputs = [result["stdout"] for result in in_mode("warm", LAYOUT, (warm.WARM,), runs)]
    most = shared(outputs)
    for name in NAMES:
        check(most[name] <= warm.COPIES + 1, "%s was shared by more than %d:" % (name, warm.COPIES), most)
    check(len(outputs) < runs * 1.2 + 100, "many were started by exec while it was replaced", len(outputs))


def test_a_child_that_starts_python_has_a_layout_of_its_own():
    code = "import subprocess, sys\nprint(*[subprocess.run([sys.executable, '-c', 'print(hash(\"x\"))'], stdout=-1)." \
        "stdout.decode().strip() for _ in range(2)])"
    for mode, wanted in MODES if warm.known() else MODES[:1]:
        hashes = " ".join(result["stdout"] for result in in_mode(mode, code, wanted, 5)).split()
        equal(len(set(hashes)), len(hashes), "distinct of %r:" % hashes)


def test_nothing_is_left():
    nothing_left()


main()
