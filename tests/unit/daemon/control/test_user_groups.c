// SPDX-License-Identifier: GPL-2.0-or-later
/* user_groups.h: the role that a socket's peer has by its groups, the socket's mode, and configured names of groups.
 * Cases with other users need root, and are skipped without. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/control/user_groups.h"

#define NO_ROLE	 9
#define EXPERTS	 70001
#define SHIFTERS 70002
#define READERS	 70003

static const struct control_groups all = {
	.roles = true,
	.has = {true, true, true},
	.gid = {[ACCESS_READER] = READERS, [ACCESS_OPERATOR] = SHIFTERS, [ACCESS_EXPERT] = EXPERTS},
};

/* In a process of its own: the role of such a user, or NO_ROLE. */
static int role_of(const struct control_groups *groups, uid_t uid, gid_t gid, const gid_t *more,
		   size_t count)
{
	enum access_role role = ACCESS_ROLES;
	int pair[2], status;
	pid_t child = fork();

	if (child == 0) {
		if (setgroups(count, more) < 0 || setgid(gid) < 0 || setuid(uid) < 0 ||
		    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) {
			_exit(100);
		}
		_exit(control_groups_role(groups, pair[0], &role) ? (int)role : NO_ROLE);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_groups(void **state)
{
	static const struct {
		gid_t gid, more[3];
		size_t count;
		int role;
	} cases[] = {
		{1000, {0}, 0, NO_ROLE},
		{1000, {1000, 27}, 2, NO_ROLE},
		{READERS, {0}, 0, ACCESS_READER}, /* by the first group alone */
		{1000, {READERS}, 1, ACCESS_READER},
		{1000, {1000, SHIFTERS}, 2, ACCESS_OPERATOR},
		{1000, {READERS, EXPERTS, SHIFTERS}, 3, ACCESS_EXPERT}, /* the best one counts */
		{EXPERTS, {READERS}, 1, ACCESS_EXPERT},
	};
	gid_t many[300];

	if (geteuid() != 0) {
		skip();
	}
	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		assert_int_equal(role_of(&all, 1000, cases[n].gid, cases[n].more, cases[n].count),
				 cases[n].role);
	}
	assert_int_equal(role_of(&all, 0, 0, NULL, 0), ACCESS_EXPERT); /* root is in none */
	for (gid_t n = 0; n < 300; n++) {
		many[n] = 80000 + n;
	}
	assert_int_equal(role_of(&all, 1000, 1000, many, 300), NO_ROLE);
	many[0] = SHIFTERS;
	assert_int_equal(role_of(&all, 1000, 1000, many, 300), ACCESS_OPERATOR);
}

/* Group 0 is nobody's when it is not configured; without any role whoever gets in is an expert. */
static void test_unset(void **state)
{
	const struct control_groups experts = {
		.roles = true,
		.has = {[ACCESS_EXPERT] = true},
		.gid = {[ACCESS_EXPERT] = EXPERTS},
	};
	const struct control_groups none = {.roles = false};
	const char *const users[ACCESS_ROLES] = {"", "users", ""};
	struct control_groups g = {.roles = false};
	struct sc_error error = {0};

	assert_int_equal(control_groups_mode(&none), 0660);
	assert_int_equal(control_groups_mode(&experts), 0666);
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(role_of(&experts, 1000, 0, NULL, 0), NO_ROLE);
	assert_int_equal(role_of(&none, 1000, 1000, NULL, 0), ACCESS_EXPERT);
	/* One group and no roles: its members, and root, are experts; the mode lets everybody ask. */
	assert_int_equal(control_groups_find(users, &g, &error), 0);
	assert_int_equal(control_groups_mode(&g), 0666);
	assert_int_equal(role_of(&g, 1000, g.gid[ACCESS_OPERATOR], NULL, 0), ACCESS_EXPERT);
	assert_int_equal(role_of(&g, 0, 0, NULL, 0), ACCESS_EXPERT);
	assert_int_equal(role_of(&g, 1000, 1000, NULL, 0), NO_ROLE);
}

static void test_names(void **state)
{
	struct control_groups g = {.roles = false};
	struct sc_error error = {0};
	const char *const empty[ACCESS_ROLES] = {"", "", ""};
	const char *const socket_only[ACCESS_ROLES] = {"", "root", ""};
	const char *const readers[ACCESS_ROLES] = {[ACCESS_READER] = "root", "", ""};
	const char *const wrong[ACCESS_ROLES] = {"root", "", "no-such-group"};

	assert_int_equal(control_groups_find(empty, &g, &error), 0);
	assert_false(g.roles || g.has[0] || g.has[1] || g.has[2]);
	assert_int_equal(control_groups_find(socket_only, &g, &error), 0);
	assert_false(g.roles);
	assert_true(g.has[ACCESS_OPERATOR]);
	assert_int_equal(g.gid[ACCESS_OPERATOR], 0);
	/* Operators are the daemon's own group, where none is named. */
	assert_int_equal(control_groups_find(readers, &g, &error), 0);
	assert_true(g.roles && g.has[ACCESS_READER] && g.has[ACCESS_OPERATOR]);
	assert_false(g.has[ACCESS_EXPERT]);
	assert_int_equal(g.gid[ACCESS_OPERATOR], getegid());
	g.gid[ACCESS_READER] = 4711;
	assert_int_equal(control_groups_find(wrong, &g, &error), -ESRCH);
	assert_int_equal(g.gid[ACCESS_READER], 4711); /* untouched */
	assert_non_null(strstr(error.message, "expert_group = no-such-group"));
	assert_non_null(strstr(error.hint, "groupadd"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_unset),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
