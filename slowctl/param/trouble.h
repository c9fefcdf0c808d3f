/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an error of the database's disk means, for an operator. */
#ifndef SLOWCTL_PARAM_TROUBLE_H
#define SLOWCTL_PARAM_TROUBLE_H

struct journal_trouble {
	const char *what, *action;
};
/* `result`: the store's negative errno. */
struct journal_trouble journal_trouble(int result);

#endif
