/* collector - see the header. */
#include "worker/gate/collector.h"

enum function {
	GET_OBJECTS,
	GET_REFERRERS,
	GET_FREEZE_COUNT,
	FREEZE,
	COLLECT,
	UNFREEZE,
	GET_STATS,
	GET_COUNT,
	GET_DEBUG,
	IS_ENABLED
};

enum {
	FUNCTIONS = IS_ENABLED + 1,
	REPLACED = FREEZE + 1,
	GENERATIONS = 3,
	/* Nothing counts as far by itself. */
	MAX_COUNT = 4096,
	/* Of the program alone, in the middle generation: about half a million objects. The list of more would take a
	 * lot of the memory that a run may have. */
	MANY_COLLECTIONS = 64,
	MANY_OBJECTS = 200000,
};

static const char *const names[FUNCTIONS] = {
	"get_objects", "get_referrers", "get_freeze_count", "freeze",	 "collect",
	"unfreeze",    "get_stats",	"get_count",	    "get_debug", "isenabled"};

static struct {
	PyObject *gc, *functions[FUNCTIONS];
	long collections, counts[GENERATIONS];
	bool frozen;
} collector;

/* Returns a new reference, or NULL without an exception. */
static PyObject *call(enum function function)
{
	PyObject *result = PyObject_CallFunction(collector.functions[function], NULL);

	if (!result)
		PyErr_Clear();
	return result;
}

static PyObject *unfrozen(enum function function, PyObject *arguments, PyObject *keywords)
{
	collector_unfreeze();
	PyObject_GC_UnTrack(arguments); /* or it would be found to refer to what it has */
	return PyObject_Call(collector.functions[function], arguments, keywords);
}

static PyObject *get_objects(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	(void)self;
	return unfrozen(GET_OBJECTS, arguments, keywords);
}

static PyObject *get_referrers(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	(void)self;
	return unfrozen(GET_REFERRERS, arguments, keywords);
}

static PyObject *get_freeze_count(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	(void)self;
	return unfrozen(GET_FREEZE_COUNT, arguments, keywords);
}

/* What is frozen is the program's from here on: everything, as it is in a plain interpreter. */
static PyObject *freeze(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	(void)self;
	collector.frozen = false;
	return PyObject_Call(collector.functions[FREEZE], arguments, keywords);
}

/* Imports gc as if for the first time, and asks it for its counts. Returns the module, or NULL with an exception. */
static PyObject *import_and_count(PyObject *modules, long counts[static GENERATIONS])
{
	PyObject *gc = PyImport_ImportModule("gc");
	PyObject *all = gc ? PyObject_CallMethod(gc, "get_count", NULL) : NULL;

	for (int i = 0; all && i < GENERATIONS; i++)
		counts[i] = PyLong_AsLong(PyTuple_GetItem(all, i));
	Py_DecRef(all);
	if (PyErr_Occurred() || PyDict_DelItemString(modules, "gc") < 0) {
		Py_DecRef(gc);
		return NULL;
	}
	return gc;
}

/* What the import itself counts for is known when there has been another. */
int collector_note(void)
{
	PyObject *modules = PySys_GetObject("modules");
	long again[GENERATIONS] = {0};
	PyObject *first = import_and_count(modules, collector.counts);
	PyObject *second = first ? import_and_count(modules, again) : NULL;
	int r = second ? 0 : -1;

	if (second && again[1] == collector.counts[1] && again[0] < 2 * collector.counts[0])
		collector.counts[0] -= again[0] - collector.counts[0];
	Py_DecRef(second);
	Py_DecRef(first);
	return r;
}

int collector_prepare(PyObject *gc)
{
	static const python_keyword_function functions[REPLACED] = {get_objects, get_referrers,
								    get_freeze_count, freeze};
	static struct python_method methods[REPLACED];

	collector.gc = gc;
	Py_IncRef(gc);
	for (int i = 0; i < FUNCTIONS; i++) {
		if (i < REPLACED) {
			methods[i].name = names[i];
			methods[i].function = (python_function)(void (*)(void))functions[i];
			methods[i].flags = PYTHON_ARGUMENTS_AND_KEYWORDS;
			collector.functions[i] = python_replace(gc, &methods[i]);
		} else
			collector.functions[i] = PyObject_GetAttrString(gc, names[i]);
		if (!collector.functions[i])
			return -1;
	}
	return 0;
}

/* How many there were of the middle generation. */
static long collections(void)
{
	PyObject *stats = call(GET_STATS);
	PyObject *middle = stats ? PyList_GetItem(stats, 1) : NULL;
	PyObject *number = middle ? PyDict_GetItemString(middle, "collections") : NULL;
	long n = number ? PyLong_AsLong(number) : -1;

	Py_DecRef(stats);
	PyErr_Clear();
	return n;
}

int collector_freeze(void)
{
	PyObject *collected = call(COLLECT), *frozen = call(FREEZE);
	int r = collected && frozen ? 0 : -1;

	Py_DecRef(collected);
	Py_DecRef(frozen);
	collector.collections = collections();
	collector.frozen = true;
	return r;
}

static void collect(int generation, long times)
{
	for (long i = 0; i < times && i < MAX_COUNT; i++)
		Py_DecRef(PyObject_CallFunction(collector.functions[COLLECT], "i", generation));
}

/* A collection of a generation counts for the next older one; for the youngest it is objects that count, while they
 * live. */
void collector_resume(void)
{
	PyObject *counts;
	long n;

	collect(1, collector.counts[2]);
	collect(0, collector.counts[1]);
	counts = call(GET_COUNT);
	n = counts ? PyLong_AsLong(PyTuple_GetItem(counts, 0)) : MAX_COUNT;
	Py_DecRef(counts);
	for (; n < collector.counts[0] && n < MAX_COUNT; n++)
		PyCell_New(NULL);
	PyErr_Clear();
}

static bool is_enabled(void)
{
	PyObject *enabled = call(IS_ENABLED);
	bool is = enabled && PyObject_IsTrue(enabled) > 0;

	Py_DecRef(enabled);
	return is;
}

void collector_unfreeze(void)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (collector.frozen)
		Py_DecRef(call(UNFREEZE));
	collector.frozen = false;
	PyErr_Restore(type, value, traceback);
}

/* UNFREEZE puts what is frozen behind all others, and FREEZE others behind what is frozen. The oldest of those shall
 * be first. */
void collector_unfreeze_in_order(void)
{
	if (collector.frozen) {
		collect(1, is_enabled());
		Py_DecRef(call(FREEZE));
	}
	collector_unfreeze();
}

static bool is_empty_list(const char *attribute)
{
	PyObject *list = PyObject_GetAttrString(collector.gc, attribute);
	bool empty = list && PyList_Size(list) == 0;

	Py_DecRef(list);
	PyErr_Clear();
	return empty;
}

bool collector_is_quiet(void)
{
	PyObject *debug = call(GET_DEBUG);
	bool quiet = debug && PyLong_AsLong(debug) == 0 && collector.frozen &&
		     is_empty_list("callbacks") && is_empty_list("garbage");

	Py_DecRef(debug);
	return quiet;
}

static bool are_many(void)
{
	PyObject *counts = call(GET_COUNT);
	PyObject *young = counts ? PyTuple_GetItem(counts, 0) : NULL;
	long n = young ? PyLong_AsLong(young) : MANY_OBJECTS;

	Py_DecRef(counts);
	PyErr_Clear();
	return n >= MANY_OBJECTS || collections() - collector.collections >= MANY_COLLECTIONS;
}

PyObject *collector_objects(void)
{
	return are_many() ? NULL : call(GET_OBJECTS);
}
