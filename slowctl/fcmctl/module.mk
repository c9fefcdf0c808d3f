# SPDX-License-Identifier: GPL-2.0-or-later
# fcmctl, the command line: a noun a file, the table of commands.
$(eval $(call room,tdm $(addprefix slowctl/,param access query) $(addprefix slowctl/fcmctl/,show core record jobs) daemon/consumer,ncursesw))
$(eval $(call program,fcmctl,slowctl/fcmctl/main.c,slowctl/fcmctl,))
