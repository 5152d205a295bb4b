/* stage - the names of the steps, from the one table in stage.h. */
#include "common/stage.h"

struct stage_text {
	const char *name;
	const char *what;
};

#define STAGE_TEXT(symbol, stage_name, stage_what)                                                 \
	[STAGE_##symbol] = {.name = stage_name, .what = stage_what},
static const struct stage_text STAGE_TEXTS[STAGE_COUNT] = {STAGES(STAGE_TEXT)};
#undef STAGE_TEXT

const char *stage_name(unsigned int stage)
{
	return stage < STAGE_COUNT ? STAGE_TEXTS[stage].name : "unknown";
}

const char *stage_what(unsigned int stage)
{
	return stage < STAGE_COUNT ? STAGE_TEXTS[stage].what : "doing something unknown";
}

const char *interpreter_reason_name(int reason)
{
	static const char *const names[INTERPRETER_REASON_COUNT] = {
		[INTERPRETER_OK] = "ok",
		[INTERPRETER_NOT_FOUND] = "not_found",
		[INTERPRETER_NOT_RUNNABLE] = "not_runnable",
		[INTERPRETER_NO_ANSWER] = "no_answer",
		[INTERPRETER_NOT_PYTHON3] = "not_python3",
		[INTERPRETER_UNSAFE_PREFIX] = "unsafe_prefix",
	};

	return reason >= 0 && reason < INTERPRETER_REASON_COUNT ? names[reason] : "unknown";
}
