/* fake_server - writes the result of a run for every output that it reads, without a run.
 *
 * stdin: records of four numbers of 32 bits in the machine's byte order (whether stdout and stderr
 * were cut, their bytes) and then the bytes. stdout: for each record one line, the JSON of a tool
 * result. tests/integration/results.py reads it strictly.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "supervisor/exec_tool.h"

struct record {
	uint32_t out_cut, err_cut;
	uint32_t out_bytes, err_bytes;
};

static bool read_stream(char *bytes, uint32_t size)
{
	return fread(bytes, 1, size, stdin) == size;
}

static int write_result(const struct outcome *outcome)
{
	static const struct config config = {.max_timeout_s = 300};
	const struct call_request request = {.timeout_ms = 1000, .output_max_bytes = 1000};
	_cleanup_(buf_clear) struct buf line = BUF_INIT;

	buf_add_byte(&line, '{');
	exec_tool_content(&line, &config, &request, outcome, true);
	buf_add_string(&line, ",\"_meta\":{");
	exec_tool_meta(&line, outcome);
	buf_add_string(&line, "}}\n");
	return !line.error && fwrite(line.data, 1, line.len, stdout) == line.len ? 0 : -1;
}

static int answer(const struct record *record)
{
	_cleanup_free_ char *out = malloc(record->out_bytes + 1);
	_cleanup_free_ char *err = malloc(record->err_bytes + 1);
	struct outcome outcome = {.kind = OUTCOME_DONE};

	if (!out || !err || !read_stream(out, record->out_bytes) ||
	    !read_stream(err, record->err_bytes))
		return -1;
	outcome.done.flags = (record->out_cut ? FRAME_STDOUT_CUT : 0U) |
			     (record->err_cut ? FRAME_STDERR_CUT : 0U);
	outcome.out = (struct blob_view){.data = out, .size = record->out_bytes};
	outcome.err = (struct blob_view){.data = err, .size = record->err_bytes};
	return write_result(&outcome);
}

int main(void)
{
	struct record record;

	while (fread(&record, sizeof(record), 1, stdin) == 1)
		if (answer(&record))
			return EXIT_FAILURE;
	return feof(stdin) && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
