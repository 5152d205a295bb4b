/* privilege - see the header. */
#include "policy/privilege.h"

#include <errno.h>
#include <linux/securebits.h>
#include <sys/capability.h>
#include <sys/prctl.h>

static const unsigned int securebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
				       SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
				       SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
				       SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

static void cleanup_cap(cap_t *caps)
{
	if (*caps)
		cap_free(*caps);
}

static int drop_bounding(void)
{
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (cap_drop_bound(cap))
			return -errno;
	return 0;
}

static int drop_sets(void)
{
	__attribute__((cleanup(cleanup_cap))) cap_t none = cap_init();

	if (!none)
		return -ENOMEM;
	/* The ambient set, too: what is not permitted cannot be in it. capabilities(7). */
	return cap_set_proc(none) ? -errno : 0;
}

/* Nothing may be left in any set; what libcap says is read back from the kernel. Of the ambient one there is nothing to
 * read: without what is permitted it is empty. */
static int verify(void)
{
	__attribute__((cleanup(cleanup_cap))) cap_t none = cap_init();
	__attribute__((cleanup(cleanup_cap))) cap_t now = cap_get_proc();

	if (!none || !now)
		return -ENOMEM;
	if (cap_compare(now, none))
		return -EPERM;
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (cap_get_bound(cap) > 0)
			return -EPERM;
	return 0;
}

int privilege_drop_capabilities(void)
{
	int r;

	if (cap_set_secbits(securebits))
		return -errno;
	if ((r = drop_bounding()) < 0 || (r = drop_sets()) < 0)
		return r;
	return verify();
}

int privilege_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

int privilege_undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

int privilege_dumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ? -errno : 0;
}
