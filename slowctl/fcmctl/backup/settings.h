/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files beside the database that a spare PC needs: configuration, dictionaries, lists of keys, secret keys. */
#pragma once

#include <jansson.h>

#include "slowctl/fcmctl/core/ctl.h"

/* [{path, secret}, ...] of those that exist: absolute paths, each once. */
json_t *settings_list(const struct ctl_station *station);
