// SPDX-License-Identifier: GPL-2.0-or-later
/* Objects, their names, advices filled in. See observation.h. */
#include "daemon/incidents/observation.h"

#include <stdio.h>
#include <string.h>

/* --- objects --- */

struct alarm_object object_thing(const char *name)
{
	return (struct alarm_object){
		.of = OF_THING, .name = name, .link = OBJECT_NONE, .group = OBJECT_NONE};
}

struct alarm_object object_link(unsigned link)
{
	return (struct alarm_object){.of = OF_LINK, .link = (int8_t)link, .group = OBJECT_NONE};
}

struct alarm_object object_floor(uint8_t tower, uint8_t floor, unsigned link)
{
	return (struct alarm_object){.of = OF_FLOOR,
				     .tower = tower,
				     .floor = floor,
				     .link = (int8_t)link,
				     .group = OBJECT_NONE};
}

struct alarm_object object_feed(uint8_t tower, uint8_t floor, unsigned link, unsigned group)
{
	return (struct alarm_object){.of = OF_FEED,
				     .tower = tower,
				     .floor = floor,
				     .link = (int8_t)link,
				     .group = (int8_t)group};
}

struct alarm_object object_group(unsigned group, const char *name)
{
	return (struct alarm_object){
		.of = OF_GROUP, .name = name, .link = OBJECT_NONE, .group = (int8_t)group};
}

struct alarm_object object_value(const struct param *p)
{
	bool module = strncmp(p->kind->section, "om.", 3) == 0;

	return (struct alarm_object){.of = OF_VALUE,
				     .name = p->name,
				     .link = (int8_t)p->link,
				     .group = OBJECT_NONE,
				     .modules = (uint8_t)(module ? 1u << p->index : 0)};
}

struct alarm_object object_epoch(unsigned epoch)
{
	return (struct alarm_object){
		.of = OF_EPOCH, .epoch = epoch, .link = OBJECT_NONE, .group = OBJECT_NONE};
}

const char *object_name(const struct alarm_object *o, char *buf, size_t size)
{
	switch (o->of) {
	case OF_LINK:
		snprintf(buf, size, "link%d", o->link);
		break;
	case OF_FLOOR:
		snprintf(buf, size, "tower%u.floor%u", o->tower, o->floor);
		break;
	case OF_FEED:
		snprintf(buf, size, "feed tower%u.floor%u", o->tower, o->floor);
		break;
	case OF_GROUP:
		snprintf(buf, size, "group %s", o->name);
		break;
	case OF_EPOCH:
		snprintf(buf, size, "time epoch %u", o->epoch);
		break;
	default:
		snprintf(buf, size, "%s", o->name);
		break;
	}
	return buf;
}

/* --- advices --- */

/* "floor3", its modules "floor3.om2", "floor3.om[02]", or what has the value: "tower1.floor3.om2". */
static void which_objects(const struct alarm_object *o, char *text, size_t size)
{
	bool several = (o->modules & (o->modules - 1)) != 0;
	char digits[PARAM_OM_COUNT + 1] = "";
	unsigned n = 0;

	if (o->of == OF_VALUE) {
		snprintf(text, size, "%.*s", (int)(strrchr(o->name, '.') - o->name), o->name);
		return;
	}
	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		if (o->modules & 1u << m) {
			digits[n++] = (char)('0' + m);
		}
	}
	snprintf(text, size, several ? "floor%u.om[%s]" : "floor%u.om%s", o->floor, digits);
}

/* Behind "floorN." stands what `which` names, too; true: it was copied. */
static bool copy_named(const char **advice, const char *which, char *text, size_t size,
		       size_t *used)
{
	static const char any[] = "floorN.";
	const char *quote = strchr(which, '[') ? "'" : "", *rest;

	if (strncmp(*advice, any, sizeof(any) - 1) != 0) {
		return false;
	}
	rest = *advice + sizeof(any) - 1;
	rest += strcspn(rest, ". ;,:");
	*advice = rest + strcspn(rest, " ;,:");
	*used += (size_t)snprintf(text + *used, size - *used, "%s%s%.*s%s", quote, which,
				  (int)(*advice - rest), rest, quote);
	return true;
}

/* What stands for something, and what it stands for; ends with NULL. */
struct token {
	const char *name, *value;
};

static bool copy_token(const char **advice, const struct token *t, char *text, size_t size,
		       size_t *used)
{
	for (; t->name; t++) {
		if (t->value && strncmp(*advice, t->name, strlen(t->name)) == 0) {
			*advice += strlen(t->name);
			*used += (size_t)snprintf(text + *used, size - *used, "%s", t->value);
			return true;
		}
	}
	return false;
}

/* `which` "": no object has a name here. */
static void fill_in(const char *advice, const char *which, const struct token *tokens, char *text,
		    size_t size)
{
	size_t used = 0;

	*text = '\0';
	while (*advice && used < size) {
		if (!(*which && copy_named(&advice, which, text, size, &used)) &&
		    !copy_token(&advice, tokens, text, size, &used)) {
			used += (size_t)snprintf(text + used, size - used, "%c", *advice++);
		}
	}
}

void advice_name_objects(const char *which, const char *advice, char *text, size_t size)
{
	fill_in(advice, which, &(struct token){0}, text, size);
}

void observation_advice(const struct observation *o, char *text, size_t size)
{
	char which[PARAM_NAME_MAX + 16] = "", link[8], floor[16];
	const struct token tokens[] = {{"LINK", link}, {"floorN", floor}, {"%s", o->with}, {0}};

	snprintf(link, sizeof(link), "%d", o->object.link);
	snprintf(floor, sizeof(floor), "floor%u", o->object.floor);
	if (o->object.of == OF_VALUE || o->object.modules) {
		which_objects(&o->object, which, sizeof(which));
	}
	fill_in(o->advice, which, tokens, text, size);
}
