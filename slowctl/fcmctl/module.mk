# SPDX-License-Identifier: GPL-2.0-or-later
# fcmctl, the command line: the table of commands, and the nouns that change something.
$(eval $(call room,tdm $(addprefix slowctl/,param access query) $(addprefix slowctl/fcmctl/,show core record backup jobs watch doctor) daemon/consumer,))
$(eval $(call program,fcmctl,slowctl/fcmctl/main.c,slowctl/fcmctl,))
