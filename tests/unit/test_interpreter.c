/* Unit tests of interpreter: what of it is shown to runs, and what never is. */
#include "common/cleanup.h"
#include "tests/unit/shim.h"

static bool shows(const struct interpreter *interpreter, const char *target)
{
	for (size_t i = 0; i < interpreter->view.n; i++)
		if (!strcmp(interpreter->view.paths[i].target, target))
			return true;
	return false;
}

static bool notes(const struct interpreter_note *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].path, path))
			return *list[i].why;
	return false;
}

static void test_takes_one_of_the_system_and_shows_nothing_more(void **state)
{
	struct interpreter found;

	(void)state;
	assert_int_equal(interpreter_find(shim_make("good", GOOD("library", "/usr/lib")), &found),
			 INTERPRETER_OK);
	assert_string_equal(found.path, "/usr/bin/env");
	assert_int_equal(found.version, 0x033f02);
	assert_int_equal(found.view.n, 0);
	assert_null(found.bin_dir);
	assert_null(found.user_base);
	interpreter_clear(&found);
}

static void test_shows_a_prefix_below_home_and_nothing_else(void **state)
{
	const char *venv = shim_dir("venv"), *bin = shim_dir("venv/bin");
	const char *program = shim_file("venv/bin/python3", "", 0, 0755);
	struct interpreter found;

	(void)state;
	assert_int_equal(interpreter_find(shim_make("shim", WORDS("version", SHIM_VERSION,
								  "executable", program, "prefix",
								  "/usr", "prefix", venv)),
					  &found),
			 INTERPRETER_OK);
	assert_string_equal(found.path, program);
	assert_string_equal(found.bin_dir, bin);
	assert_int_equal(found.view.n, 1);
	assert_true(shows(&found, bin));
	interpreter_clear(&found);
}

/* A virtual environment in the root of a project must not show the project. */
static void test_shows_only_the_known_parts_of_an_environment(void **state)
{
	const char *project = shim_dir("project"), *bin = shim_dir("project/bin");
	const char *program = shim_file("project/bin/python3", "", 0, 0755);
	const char *config = shim_file("project/pyvenv.cfg", "", 0, 0644);
	const char *link = shim_at("project/lib64"), *lib;
	struct interpreter found;

	(void)state;
	shim_dir("project/lib");
	lib = shim_dir("project/lib/python3.63");
	shim_dir("project/lib/secret");
	shim_dir("project/etc");
	shim_file("project/.env", "", 0, 0644);
	assert_int_equal(symlink("lib", link), 0);
	assert_int_equal(
		interpreter_find(shim_make("shim", WORDS("version", SHIM_VERSION, "executable",
							 program, "prefix", project)),
				 &found),
		INTERPRETER_OK);
	assert_int_equal(found.view.n, 4);
	assert_true(shows(&found, bin) && shows(&found, config) && shows(&found, lib) &&
		    shows(&found, link));
	interpreter_clear(&found);
}

static void test_shows_more_of_an_installation(void **state)
{
	const char *base = shim_dir("base"), *bin = shim_dir("base/bin");
	const char *lib = shim_dir("base/lib"), *share = shim_dir("base/share");
	struct interpreter found;

	(void)state;
	shim_dir("base/src");
	assert_int_equal(interpreter_find(shim_make("shim", GOOD("base_prefix", base)), &found),
			 INTERPRETER_OK);
	assert_int_equal(found.view.n, 3);
	assert_true(shows(&found, bin) && shows(&found, lib) && shows(&found, share));
	interpreter_clear(&found);
}

static void test_shows_a_linked_prefix_under_both_names(void **state)
{
	const char *venv = shim_dir("venv"), *link = shim_at("link"), *program;
	const char *bin = shim_dir("venv/bin");
	struct interpreter found;

	(void)state;
	shim_file("venv/bin/python3", "", 0, 0755);
	assert_int_equal(symlink(venv, link), 0);
	program = shim_at("link/bin/python3");
	assert_int_equal(
		interpreter_find(shim_make("shim", WORDS("version", SHIM_VERSION, "executable",
							 program, "prefix", link)),
				 &found),
		INTERPRETER_OK);
	assert_int_equal(found.view.n, 2);
	assert_true(shows(&found, shim_at("link/bin")) && shows(&found, bin));
	for (size_t i = 0; i < found.view.n; i++)
		assert_string_equal(found.view.paths[i].source, bin);
	interpreter_clear(&found);
}

static void test_refuses_a_prefix_that_is_or_holds_what_is_private(void **state)
{
	static const char *const prefixes[] = {"/",	   "/home",	  "/etc",     "/root",
					       "/tmp",	   "/var",	  "/run",     "/opt",
					       "/var/lib", "/dev",	  "/dev/shm", "/proc",
					       "/proc/1",  "/sys/kernel", "/etc/ssl", "/var/log"};
	char above[SHIM_PATH];

	(void)state;
	snprintf(above, sizeof(above), "%s", shim_home);
	*strrchr(above, '/') = '\0';
	assert_int_equal(shim_find(shim_make("a", GOOD("prefix", shim_home))),
			 INTERPRETER_UNSAFE_PREFIX);
	assert_int_equal(shim_find(shim_make("a", GOOD("prefix", above))),
			 INTERPRETER_UNSAFE_PREFIX);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!access(prefixes[i], F_OK))
			assert_int_equal(shim_find(shim_make("a", GOOD("prefix", prefixes[i]))),
					 INTERPRETER_UNSAFE_PREFIX);
}

static void test_refuses_home_in_disguise(void **state)
{
	const char *link = shim_at("link");
	char dots[SHIM_PATH];

	(void)state;
	assert_int_equal(symlink(shim_home, link), 0);
	shim_dir("venv");
	snprintf(dots, sizeof(dots), "%s/venv/..", shim_home);
	assert_int_equal(shim_find(shim_make("a", GOOD("prefix", link))),
			 INTERPRETER_UNSAFE_PREFIX);
	assert_int_equal(shim_find(shim_make("a", GOOD("prefix", dots))),
			 INTERPRETER_UNSAFE_PREFIX);
	snprintf(dots, sizeof(dots), "%s/", shim_home);
	assert_int_equal(shim_find(shim_make("a", GOOD("prefix", dots))),
			 INTERPRETER_UNSAFE_PREFIX);
}

static void test_a_name_that_only_begins_like_home_is_another(void **state)
{
	char near[SHIM_PATH], bin[SHIM_PATH + 4];
	struct interpreter found;

	(void)state;
	snprintf(near, sizeof(near), "%s-near", shim_home);
	snprintf(bin, sizeof(bin), "%s/bin", near);
	mkdir(near, 0755);
	mkdir(bin, 0755);
	assert_int_equal(interpreter_find(shim_make("a", GOOD("prefix", near)), &found),
			 INTERPRETER_OK);
	assert_true(shows(&found, bin));
	interpreter_clear(&found);
	rmdir(bin);
	rmdir(near);
}

static void test_refuses_an_executable_outside_every_prefix(void **state)
{
	const char *program = shim_file("python", "", 0, 0755);

	(void)state;
	assert_int_equal(shim_find(shim_make("a", WORDS("version", SHIM_VERSION, "executable",
							program, "prefix", "/usr"))),
			 INTERPRETER_UNSAFE_PREFIX);
}

static void test_leaves_out_a_library_that_is_home_and_says_so(void **state)
{
	const char *lib = shim_dir("lib");
	struct interpreter found;

	(void)state;
	assert_int_equal(interpreter_find(shim_make("a", GOOD("library", shim_home, "library", lib,
							      "library", "/no/such/dir")),
					  &found),
			 INTERPRETER_OK);
	assert_int_equal(found.view.n, 1);
	assert_true(shows(&found, lib));
	assert_int_equal(found.n_left_out, 1);
	assert_true(notes(found.left_out, found.n_left_out, shim_home));
	interpreter_clear(&found);
}

static void test_leaves_out_what_came_from_elsewhere_and_says_so(void **state)
{
	const char *project = shim_dir("project");
	struct interpreter found;

	(void)state;
	setenv("PYTHONPATH", "/somewhere", 1);
	assert_int_equal(interpreter_find(shim_make("a", GOOD("path", "/usr/lib", "path", project,
							      "path", "/no/such/dir")),
					  &found),
			 INTERPRETER_OK);
	unsetenv("PYTHONPATH");
	assert_int_equal(found.view.n, 0);
	assert_int_equal(found.n_left_out, 2);
	assert_true(notes(found.left_out, found.n_left_out, project));
	assert_true(notes(found.left_out, found.n_left_out, "/somewhere"));
	interpreter_clear(&found);
}

static void test_shows_the_user_s_packages_and_not_what_lies_beside(void **state)
{
	const char *base = shim_dir("base"), *site = shim_dir("base/site");
	struct interpreter found;

	(void)state;
	assert_int_equal(
		interpreter_find(shim_make("a", GOOD("user_site", site, "user_base", base)),
				 &found),
		INTERPRETER_OK);
	assert_string_equal(found.user_base, base);
	assert_int_equal(found.view.n, 1);
	assert_true(shows(&found, site));
	interpreter_clear(&found);
}

static void test_more_directories_than_there_is_room_for_are_refused(void **state)
{
	const char *words[2 * (VIEW_MAX_PATHS + 4) + 8] = {"version", SHIM_VERSION, "executable",
							   "/usr/bin/env"};
	char names[VIEW_MAX_PATHS + 4][16];
	_cleanup_free_ char *kept = NULL;
	size_t n = 4;

	(void)state;
	for (int i = 0; i < VIEW_MAX_PATHS + 4; i++) {
		snprintf(names[i], sizeof(names[i]), "d%d/bin", i);
		*strchr(names[i], '/') = '\0';
		shim_dir(names[i]);
		names[i][strlen(names[i])] = '/';
		shim_dir(names[i]);
		*strchr(names[i], '/') = '\0';
		kept = strdup(shim_dir(names[i]));
		words[n++] = "prefix";
		words[n++] = take_ptr(kept);
	}
	assert_int_equal(shim_find(shim_make("a", words)), INTERPRETER_UNSAFE_PREFIX);
	for (size_t i = 5; i < n; i += 2)
		free((void *)(uintptr_t)words[i]);
}

static void test_more_to_say_than_there_is_room_for_is_no_harm(void **state)
{
	const char *words[2 * 40 + 8] = {"version",	 SHIM_VERSION, "executable",
					 "/usr/bin/env", "prefix",     "/usr"};
	struct interpreter found;
	size_t n = 6;

	(void)state;
	for (int i = 0; i < 40; i++) {
		char name[8];

		snprintf(name, sizeof(name), "p%d", i);
		words[n++] = "path";
		words[n++] = shim_dir(name);
	}
	assert_int_equal(interpreter_find(shim_make("a", words), &found), INTERPRETER_OK);
	assert_int_equal(found.n_left_out, INTERPRETER_NOTES);
	interpreter_clear(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM_TEST(test_takes_one_of_the_system_and_shows_nothing_more),
		SHIM_TEST(test_shows_a_prefix_below_home_and_nothing_else),
		SHIM_TEST(test_shows_only_the_known_parts_of_an_environment),
		SHIM_TEST(test_shows_more_of_an_installation),
		SHIM_TEST(test_shows_a_linked_prefix_under_both_names),
		SHIM_TEST(test_refuses_a_prefix_that_is_or_holds_what_is_private),
		SHIM_TEST(test_refuses_home_in_disguise),
		SHIM_TEST(test_a_name_that_only_begins_like_home_is_another),
		SHIM_TEST(test_refuses_an_executable_outside_every_prefix),
		SHIM_TEST(test_leaves_out_a_library_that_is_home_and_says_so),
		SHIM_TEST(test_leaves_out_what_came_from_elsewhere_and_says_so),
		SHIM_TEST(test_shows_the_user_s_packages_and_not_what_lies_beside),
		SHIM_TEST(test_more_directories_than_there_is_room_for_are_refused),
		SHIM_TEST(test_more_to_say_than_there_is_room_for_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
