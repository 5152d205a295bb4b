/* pristine - see the header. */
#include "worker/pristine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/mechanism.h"
#include "common/packet.h"
#include "worker/gate/plan.h"
#include "worker/gate_image.h"
#include "worker/report.h"

/* For what it was given to load: pandas takes half a second on a fast machine that has nothing else to do. */
#define LOAD_US UINT64_C(30000000)
/* While it serves, nothing in it should grow. */
#define SERVING_LOOK_US UINT64_C(10000000)

int pristine_start(struct pristine *pristine, const struct inside *inside,
		   const struct warm_modules *table, uint32_t modules, uint64_t now_us)
{
	static const struct purpose purpose = {.pristine = true};
	int r;

	*pristine = (struct pristine){.control = -1,
				      .output = -1,
				      .inside = inside,
				      .table = table,
				      .modules = modules,
				      .since_us = now_us};
	sandbox_init(&pristine->sandbox);
	r = sandbox_spawn(&pristine->sandbox, inside, &purpose);
	pristine->state = r < 0 ? PRISTINE_GONE : PRISTINE_BUILDING;
	return r;
}

/* The names to import, in the order of their bits. Returns the plan's memfd or a negative errno. */
static int make_plan(const struct pristine *pristine)
{
	_cleanup_(buf_clear) struct buf names = BUF_INIT;

	for (size_t i = 0; i < pristine->table->n; i++)
		if (pristine->modules >> i & 1)
			buf_printf(&names, "%s%s", names.len ? "," : "",
				   pristine->table->at[i].import);
	buf_add_byte(&names, '\0');
	return names.error ? names.error : plan_write(pristine->inside, names.data);
}

static int open_control(struct pristine *pristine)
{
	int pair[2];
	int r = report_pair(pair);

	if (r < 0)
		return r;
	pristine->control = pair[0];
	return pair[1];
}

/* One pipe for both outputs. */
static int open_output(struct pristine *pristine)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pristine->output = ends[0];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return ends[1];
}

/* A pipe at whose end it is, as a program without input has it. */
static int open_input(void)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	close(ends[1]);
	return ends[0];
}

/* Gives the sandbox its program, which is ours. The streams are pipes, for the interpreter looks at once what they are. */
static int give(struct pristine *pristine)
{
	int fds[GIVE_ALL_FDS] = {blob_from(gate_program, gate_program_size()),
				 open_input(),
				 open_output(pristine),
				 -1,
				 open_control(pristine),
				 make_plan(pristine)};
	int r = 0;

	fds[GIVE_STDERR] =
		fds[GIVE_STDOUT] < 0 ? -EMFILE : fcntl(fds[GIVE_STDOUT], F_DUPFD_CLOEXEC, 0);
	for (int i = 0; i < GIVE_ALL_FDS && r == 0; i++)
		r = fds[i] < 0 ? fds[i] : 0;
	if (r == 0)
		r = sandbox_give(&pristine->sandbox, fds, GIVE_ALL_FDS);
	for (int i = 0; i < GIVE_ALL_FDS; i++)
		cleanup_fd(&fds[i]);
	return r;
}

/* There may be two of it while it loads: gate/pages.h. A cgroup counts what they have in common once, and needs no watch. */
static int start_watch(struct pristine *pristine)
{
	struct limits limits = pristine->inside->limits;

	limits.memory_bytes *= 2;
	return limits.by_cgroup & BY_CGROUP_MEMORY
		       ? 0
		       : watch_init(&pristine->watch, &limits, pristine->sandbox.init, clock_us());
}

static void on_built(struct pristine *pristine)
{
	if (give(pristine) < 0 || start_watch(pristine) < 0) {
		pristine_stop(pristine);
		return;
	}
	pristine->state = PRISTINE_LOADING;
}

/* bits has one for each module of the list that it was given. */
static uint32_t loaded_modules(const struct pristine *pristine, uint32_t bits)
{
	uint32_t loaded = 0;

	for (size_t i = 0; i < pristine->table->n; i++)
		if (pristine->modules >> i & 1) {
			loaded |= (bits & 1U) << i;
			bits >>= 1;
		}
	return loaded;
}

static void read_output(struct pristine *pristine)
{
	char bytes[4096];
	ssize_t n;

	while ((n = read(pristine->output, bytes, sizeof(bytes))) > 0)
		pristine->printed |= pristine->state == PRISTINE_LOADING;
	if (n == 0)
		cleanup_fd(&pristine->output);
}

static void on_serving(struct pristine *pristine, uint32_t bits)
{
	uint32_t loaded = loaded_modules(pristine, bits);

	/* What it printed came before what it says. */
	if (pristine->output >= 0)
		read_output(pristine);
	pristine->watch.limits = pristine->inside->limits;
	pristine->missing = pristine->modules & ~loaded;
	pristine->modules = loaded;
	pristine->state = PRISTINE_SERVING;
	pristine->served = true;
}

static void read_control(struct pristine *pristine)
{
	struct report_beside beside;
	struct report report;
	int r;

	while ((r = report_recv(pristine->control, &report, &beside)) == 1) {
		for (size_t i = 0; i < NAMESPACES; i++)
			cleanup_fd(&beside.fds[i]);
		if (report.kind == REPORT_SERVING && pristine->state == PRISTINE_LOADING)
			on_serving(pristine, report.loaded);
	}
	if (r == -EAGAIN)
		return;
	cleanup_fd(&pristine->control);
	pristine_stop(pristine);
}

void pristine_poll(const struct pristine *pristine, struct pollfd polls[PRISTINE_POLLS])
{
	sandbox_poll(&pristine->sandbox, polls);
	polls[SANDBOX_POLLS] = (struct pollfd){.fd = pristine->control, .events = POLLIN};
	polls[SANDBOX_POLLS + 1] = (struct pollfd){.fd = pristine->output, .events = POLLIN};
}

static void follow(struct pristine *pristine)
{
	if (pristine->sandbox.state == SANDBOX_READY && pristine->state == PRISTINE_BUILDING)
		on_built(pristine);
	if (pristine->sandbox.state == SANDBOX_ENDING && pristine->state != PRISTINE_ENDING)
		pristine->state = PRISTINE_ENDING;
	if (pristine->sandbox.state == SANDBOX_REAPED)
		pristine->state = PRISTINE_GONE;
}

void pristine_read(struct pristine *pristine, const struct pollfd polls[PRISTINE_POLLS])
{
	sandbox_read(&pristine->sandbox, polls);
	if (polls[SANDBOX_POLLS].fd >= 0 && polls[SANDBOX_POLLS].revents)
		read_control(pristine);
	if (polls[SANDBOX_POLLS + 1].fd >= 0 && polls[SANDBOX_POLLS + 1].revents &&
	    pristine->output >= 0)
		read_output(pristine);
	follow(pristine);
}

int pristine_tick(struct pristine *pristine, uint64_t now_us)
{
	uint64_t late_us = pristine->since_us + LOAD_US;
	bool watched = pristine->watch.now != NULL;

	if (pristine->state != PRISTINE_LOADING && pristine->state != PRISTINE_SERVING)
		return -1;
	if ((watched && watch_look(&pristine->watch, now_us)) ||
	    (pristine->state == PRISTINE_LOADING && now_us > late_us)) {
		pristine_stop(pristine);
		return -1;
	}
	if (!watched)
		return pristine->state == PRISTINE_LOADING ? clock_wait_ms(late_us, now_us) : -1;
	if (pristine->state == PRISTINE_SERVING)
		watch_defer(&pristine->watch, now_us + SERVING_LOOK_US);
	return clock_wait_ms(pristine->watch.next_us, now_us);
}

int pristine_send_copy(struct pristine *pristine, struct sandbox *sandbox, bool hurried)
{
	_cleanup_fd_ int gate = -1;
	int fds[NAMESPACES + 1];
	char byte = hurried;
	int r;

	if (pristine->state != PRISTINE_SERVING || pristine->control < 0 ||
	    pristine->copies >= PRISTINE_COPIES)
		return -ESRCH;
	if ((r = sandbox_open_gate(sandbox, &gate)) < 0)
		return r;
	memcpy(fds, sandbox->namespaces, sizeof(sandbox->namespaces));
	fds[NAMESPACES] = gate;
	r = packet_send(pristine->control, &byte, sizeof(byte), fds, NAMESPACES + 1);
	pristine->copies++;
	return r;
}

void pristine_reaped(struct pristine *pristine, pid_t pid, const struct rusage *usage)
{
	sandbox_reaped(&pristine->sandbox, pid, usage);
	follow(pristine);
}

/* At the end of its control socket it ends by itself; what does not listen is ended with its namespaces. */
void pristine_stop(struct pristine *pristine)
{
	if (pristine->state == PRISTINE_GONE)
		return;
	cleanup_fd(&pristine->control);
	pristine->state = PRISTINE_ENDING;
	if (!pristine->users)
		pristine_end(pristine);
}

void pristine_end(struct pristine *pristine)
{
	if (pristine->state == PRISTINE_GONE)
		return;
	pristine->state = PRISTINE_ENDING;
	sandbox_kill(&pristine->sandbox);
}

void pristine_hold(struct pristine *pristine)
{
	pristine->users++;
}

void pristine_release(struct pristine *pristine)
{
	pristine->users--;
	if (!pristine->users && pristine->state == PRISTINE_ENDING)
		pristine_end(pristine);
}

void pristine_clear(struct pristine *pristine)
{
	cleanup_fd(&pristine->control);
	cleanup_fd(&pristine->output);
	watch_clear(&pristine->watch);
	sandbox_clear(&pristine->sandbox);
}
