/* view_table - what a run sees of the host, and what is made up for it. Printed by --print-policy.
 *
 * Of the host: all of /usr, and of /etc only what programs fail without. Nothing of /home, /root, /var, /run, /srv,
 * /opt, /mnt, /boot or /sys. The interpreter's own directories, where they lie elsewhere, are added by the worker.
 */
#include "policy/view.h"

static const struct view_rule rules[] = {
	{VIEW_SYSTEM, "/usr", NULL, "programs, libraries, Python"},
	{VIEW_SYSTEM, "/bin", NULL, "a link into /usr, or a directory of older systems"},
	{VIEW_SYSTEM, "/sbin", NULL, "as /bin"},
	{VIEW_SYSTEM, "/lib", NULL, "as /bin"},
	{VIEW_SYSTEM, "/lib32", NULL, "as /bin"},
	{VIEW_SYSTEM, "/lib64", NULL, "as /bin; the dynamic loader's path"},
	{VIEW_SYSTEM, "/libx32", NULL, "as /bin"},
	{VIEW_SYSTEM, "/etc/alternatives", NULL, "Debian's BLAS is found through it"},
	{VIEW_SYSTEM, "/etc/ld.so.cache", NULL, "where libraries are"},
	{VIEW_SYSTEM, "/etc/localtime", NULL, "the time zone"},
	{VIEW_SYSTEM, "/etc/mime.types", NULL, "mimetypes"},
	{VIEW_SYSTEM, "/etc/fonts", NULL, "fontconfig"},
	{VIEW_SYSTEM, "/etc/matplotlibrc", NULL, "Debian's matplotlib"},
	{VIEW_SYSTEM, "/etc/services", NULL, "socket.getservbyname"},
	{VIEW_SYSTEM, "/etc/protocols", NULL, "socket.getprotobyname"},
	{VIEW_SYSTEM, "/etc/ssl/certs", NULL, "ssl.create_default_context"},
	{VIEW_SYSTEM, "/etc/ssl/openssl.cnf", NULL, "as above"},
	{VIEW_SYSTEM, "/etc/pki/tls/certs", NULL, "as above, on Fedora"},

	{VIEW_FILE, "/etc/passwd", "sandbox:x:1000:1000:sandbox:/sandbox:/bin/sh\n",
	 "getpwuid works; no name of the host's users"},
	{VIEW_FILE, "/etc/group", "sandbox:x:1000:\n", "as above"},
	{VIEW_FILE, "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n",
	 "localhost resolves"},
	{VIEW_FILE, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n",
	 "a look-up fails at once, without a resolver"},

	{VIEW_DEVICE, "/dev/null", NULL, "harmless"},
	{VIEW_DEVICE, "/dev/zero", NULL, "harmless"},
	{VIEW_DEVICE, "/dev/full", NULL, "harmless"},
	{VIEW_DEVICE, "/dev/random", NULL, "harmless"},
	{VIEW_DEVICE, "/dev/urandom", NULL, "harmless"},
	{VIEW_LINK, "/dev/fd", "/proc/self/fd", "process substitution, /dev/stdin"},
	{VIEW_LINK, "/dev/stdin", "/proc/self/fd/0", "as above"},
	{VIEW_LINK, "/dev/stdout", "/proc/self/fd/1", "as above"},
	{VIEW_LINK, "/dev/stderr", "/proc/self/fd/2", "as above"},

	{VIEW_MASK, "/proc/acpi", NULL, "the host's hardware"},
	{VIEW_MASK, "/proc/bus", NULL, "as above"},
	{VIEW_MASK, "/proc/scsi", NULL, "as above"},
	{VIEW_MASK, "/proc/fs", NULL, "the host's file systems"},
	{VIEW_MASK, "/proc/irq", NULL, "the host's hardware"},
	{VIEW_MASK, "/proc/kcore", NULL, "the host's memory"},
	{VIEW_MASK, "/proc/kmsg", NULL, "the kernel's log"},
	{VIEW_MASK, "/proc/kallsyms", NULL, "where the kernel lies"},
	{VIEW_MASK, "/proc/keys", NULL, "the host's keyrings"},
	{VIEW_MASK, "/proc/key-users", NULL, "as above"},
	{VIEW_MASK, "/proc/sysrq-trigger", NULL, "commands to the kernel"},
	{VIEW_MASK, "/proc/timer_list", NULL, "the host's processes"},
	{VIEW_MASK, "/proc/latency_stats", NULL, "as above"},
	{VIEW_MASK, "/proc/sched_debug", NULL, "as above"},
	{VIEW_MASK, "/proc/cmdline", NULL, "how the host was started"},
	{VIEW_MASK, "/proc/sys/kernel/random/boot_id", NULL, "tells hosts apart"},
};

const struct view_rule *view_rule(size_t i)
{
	return i < sizeof(rules) / sizeof(*rules) ? &rules[i] : NULL;
}
