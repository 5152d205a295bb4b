/* collector - see the header. */
#include "worker/gate/collector.h"

enum function {
	GET_OBJECTS,
	GET_REFERRERS,
	GET_FREEZE_COUNT,
	COLLECT,
	FREEZE,
	UNFREEZE,
	GET_STATS,
	GET_COUNT,
	GET_DEBUG
};

static const char *const names[] = {"get_objects", "get_referrers", "get_freeze_count",
				    "collect",	   "freeze",	    "unfreeze",
				    "get_stats",   "get_count",	    "get_debug"};

enum {
	FUNCTIONS = sizeof(names) / sizeof(*names),
	SEEING = GET_FREEZE_COUNT + 1,
	/* Of the program alone, in the middle generation: about half a million objects. The list of more would take a
	 * lot of the memory that a run may have. */
	MANY_COLLECTIONS = 64,
	MANY_OBJECTS = 200000,
};

static struct {
	PyObject *gc, *functions[FUNCTIONS];
	long collections;
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

/* The text of which Python makes __doc__ and __text_signature__; never freed. NULL if there is none. */
static char *doc_of(int function)
{
	PyObject *doc = PyObject_GetAttrString(collector.functions[function], "__doc__"),
		 *signature;
	char *text = NULL;

	signature = PyObject_GetAttrString(collector.functions[function], "__text_signature__");
	if (doc && !python_is_none(doc)) {
		bool has = signature && !python_is_none(signature);

		if (asprintf(&text, "%s%s%s%s", has ? names[function] : "",
			     has ? PyUnicode_AsUTF8(signature) : "", has ? "\n--\n\n" : "",
			     PyUnicode_AsUTF8(doc)) < 0)
			text = NULL;
	}
	Py_DecRef(signature);
	Py_DecRef(doc);
	PyErr_Clear();
	return text;
}

/* What is there instead is shown as the function is. */
static int replace(int function)
{
	static const python_keyword_function replacements[SEEING] = {get_objects, get_referrers,
								     get_freeze_count};
	static struct python_method methods[SEEING];
	PyObject *module_name = Py_BuildValue("s", "gc"), *replacement;
	int r;

	methods[function] = (struct python_method){
		names[function], (python_function)(void (*)(void))replacements[function],
		PYTHON_ARGUMENTS_AND_KEYWORDS, doc_of(function)};
	replacement = PyCFunction_NewEx(&methods[function], collector.gc, module_name);
	Py_DecRef(module_name);
	r = replacement ? PyObject_SetAttrString(collector.gc, names[function], replacement) : -1;
	Py_DecRef(replacement);
	return r;
}

int collector_prepare(PyObject *gc)
{
	collector.gc = gc;
	Py_IncRef(gc);
	for (int i = 0; i < FUNCTIONS; i++) {
		collector.functions[i] = PyObject_GetAttrString(gc, names[i]);
		if (!collector.functions[i])
			return -1;
	}
	for (int i = 0; i < SEEING; i++)
		if (replace(i) < 0)
			return -1;
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
	return r;
}

void collector_unfreeze(void)
{
	Py_DecRef(call(UNFREEZE));
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
	bool quiet = debug && PyLong_AsLong(debug) == 0 && is_empty_list("callbacks") &&
		     is_empty_list("garbage");

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
