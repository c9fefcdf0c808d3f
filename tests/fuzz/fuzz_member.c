// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What comes to the data ROUTER, from five peers of which some are consumers, some say so, and one is after the others'
 * data: the publisher's own parser, groups and messages, in its own turn but on our clock, over real ZeroMQ sockets of
 * this process. The input is a list of what the peers do, which blocks come, how time passes.
 *
 * What must be true, by a model that knows only what the peers have said and got:
 *   - every HELLO is answered once, by WELCOME or ERROR; nothing comes that is none of the protocol;
 *   - a block comes to members of a group that takes its stream, and no more than the credit at once;
 *   - a block is settled once, with an outcome for each group; as acknowledged only where a member of the group that
 *     has got it said so: no other's word counts, however right it is;
 *   - no two living members have the same name; each group's account balances.
 */
#include "daemon/publish/publisher.c"

#include <jansson.h>

#include "daemon/publish/hello.h"
#include "tests/fuzz/fuzz.h"

#define PEERS	     5u
#define BLOCKS	     200u
#define GROUPS	     2u
#define BLOCK_FRAMES 80u
#define BUDGET	     60000u /* a dozen blocks */
#define DEAD_MS	     1000u
#define MS	     1000000ull
#define TURNS	     3u /* until a message has had its effects */
#define ENDPOINT     "inproc://fuzz-member"

struct peer_model {
	void *socket;
	bool asked;	    /* HELLO is said, and not answered */
	int name;	    /* by the last HELLO; -1: not known here */
	uint64_t said_ns;   /* when it last said something that is one of a member's */
	int group;	    /* of its membership by the last WELCOME; -1: none */
	uint32_t credit;    /* of the last HELLO */
	uint32_t in_flight; /* blocks of this membership that it has not acknowledged */
	bool got[BLOCKS], acked[BLOCKS];
};

static struct {
	struct publisher *p;
	struct queue blocks, settled;
	struct block_pool *pool;
	struct peer_model peer[PEERS];
	unsigned offered, back;
	struct fcm_ack key[BLOCKS];
	bool is_back[BLOCKS], acknowledged[GROUPS][BLOCKS]; /* by whom it may */
} f;

static const struct group_config group_configs[GROUPS] = {
	{.name = "trigger",
	 .streams = 1u << FCM_PMT,
	 .hold_frames = 20 * BLOCK_FRAMES,
	 .limit_frames = 40 * BLOCK_FRAMES,
	 .policy = FCM_DROP_OLDEST,
	 .budget_bytes = BUDGET},
	{.name = "acoustic",
	 .streams = 1u << FCM_PMT | 1u << FCM_HYDROPHONE,
	 .hold_frames = 10 * BLOCK_FRAMES,
	 .limit_frames = 20 * BLOCK_FRAMES,
	 .policy = FCM_DISCONNECT},
};

/* ------------------------------------------------------------------------------- what the peers get */

static int group_named(const char *name)
{
	for (int g = 0; g < (int)GROUPS; g++) {
		if (name && strcmp(name, group_configs[g].name) == 0) {
			return g;
		}
	}
	return -1;
}

static void got_words(struct peer_model *m, bool welcome, zmq_msg_t *body)
{
	json_t *j = json_loadb(zmq_msg_data(body), zmq_msg_size(body), 0, NULL);
	const char *error = json_string_value(json_object_get(j, "error"));

	must(json_is_object(j));
	m->group = -1;
	m->in_flight = 0;
	memset(m->got, 0, sizeof(m->got));
	memset(m->acked, 0, sizeof(m->acked));
	if (welcome) {
		must(m->asked && json_integer_value(json_object_get(j, "protocol")) == 1);
		m->group = group_named(json_string_value(json_object_get(j, "group")));
		must(m->group >= 0);
		m->asked = false;
		m->said_ns = f.p->now_ns;
	} else {
		must(error && json_string_length(json_object_get(j, "hint")) > 0);
		if (strcmp(error, "unknown-member") != 0 && strcmp(error, "too-slow") != 0) {
			must(m->asked);
			m->asked = false;
		}
	}
	json_decref(j);
}

static void got_block(struct peer_model *m, zmq_msg_t *header)
{
	struct fcm_block_header h;
	unsigned n;

	must(zmq_msg_size(header) == sizeof(h));
	memcpy(&h, zmq_msg_data(header), sizeof(h));
	n = (unsigned)h.item_faults; /* its number, here */
	must(n < f.offered && m->group >= 0);
	must(group_configs[m->group].streams & 1u << h.stream);
	must(!m->got[n] || m->acked[n]);
	m->got[n] = true;
	m->acked[n] = false;
	m->in_flight++;
	must(m->in_flight <= m->credit);
}

/* One message; false: there is none. */
static bool take(struct peer_model *m)
{
	zmq_msg_t part[4];
	unsigned parts = 0;
	int more = 1;
	size_t size = sizeof(more);

	for (unsigned n = 0; n < 4; n++) {
		zmq_msg_init(&part[n]);
	}
	while (more && zmq_msg_recv(&part[parts], m->socket, ZMQ_DONTWAIT) >= 0) {
		parts++;
		must(zmq_getsockopt(m->socket, ZMQ_RCVMORE, &more, &size) == 0);
		must(!more || parts < 4);
	}
	if (parts > 0) {
		const char *verb = zmq_msg_data(&part[0]);
		size_t length = zmq_msg_size(&part[0]);

		if (length == 7 && memcmp(verb, "WELCOME", 7) == 0) {
			must(parts == 2);
			got_words(m, true, &part[1]);
		} else if (length == 5 && memcmp(verb, "ERROR", 5) == 0) {
			must(parts == 2);
			got_words(m, false, &part[1]);
		} else if (length == 5 && memcmp(verb, "BLOCK", 5) == 0) {
			must(parts == 4);
			got_block(m, &part[2]);
		} else {
			must(parts == 1 && length == 5 && memcmp(verb, "ALIVE", 5) == 0);
		}
	}
	for (unsigned n = 0; n < 4; n++) {
		zmq_msg_close(&part[n]);
	}
	return parts > 0;
}

/* ------------------------------------------------------------------------------- the publisher's turn */

static void take_back(void)
{
	struct block **place;

	while ((place = queue_peek(&f.settled))) {
		struct block *b = *place;
		unsigned n = b->header.item_faults;

		queue_release(&f.settled);
		must(!f.is_back[n]);
		f.is_back[n] = true;
		f.back++;
		for (unsigned g = 0; g < GROUPS; g++) {
			unsigned outcome = b->outcome[g];

			if (!(group_configs[g].streams & 1u << b->header.stream)) {
				must(outcome == OUTCOME_NOT_OFFERED);
				continue;
			}
			must(outcome > OUTCOME_NOT_OFFERED && outcome < OUTCOMES);
			must(outcome != OUTCOME_ACKED || f.acknowledged[g][n]);
		}
		block_put(b);
	}
}

static void check_status(void)
{
	static struct publisher_status s;

	memset(&s, 0, sizeof(s));
	groups_get_status(f.p->groups, f.p->now_ns, &s);
	must(s.groups == GROUPS && groups_held(f.p->groups) == f.offered - f.back);
	for (unsigned g = 0; g < s.groups; g++) {
		uint64_t sum = s.group[g].acked + s.group[g].in_flight + s.group[g].waiting;
		unsigned said = 0;

		for (unsigned k = 0; k < OUTCOMES; k++) {
			sum += s.group[g].dropped[k];
		}
		must(sum == s.group[g].offered);
		for (unsigned n = 0; n < f.offered; n++) {
			said += f.acknowledged[g][n];
		}
		must(s.group[g].acked <= said);
	}
	for (unsigned i = 0; i < s.members; i++) {
		const struct member_status *a = &s.member[i];

		must(a->state != MEMBER_ALIVE || a->in_flight <= a->credit);
		must(group_named(a->group) >= 0 && a->name[0]);
		for (unsigned k = 0; k < i && a->state == MEMBER_ALIVE; k++) {
			must(s.member[k].state != MEMBER_ALIVE ||
			     strcmp(s.member[k].name, a->name) != 0);
		}
	}
}

/* Whoever has said something a moment ago has not been replaced by a namesake. */
static void check_names(void)
{
	for (unsigned i = 0; i < PEERS; i++) {
		const struct peer_model *a = &f.peer[i];

		for (unsigned k = 0; k < i && a->group >= 0 && a->name >= 0; k++) {
			const struct peer_model *b = &f.peer[k];

			must(b->group < 0 || b->name != a->name ||
			     f.p->now_ns - a->said_ns > DEAD_MS / 2 * MS ||
			     f.p->now_ns - b->said_ns > DEAD_MS / 2 * MS);
		}
	}
}

static void turn_once(void)
{
	struct publisher *p = f.p;

	serve_doors(p);
	door_watch(p->door, serve_consumers(p), p->now_ns);
	if (p->now_ns >= p->next_tick_ns) {
		p->next_tick_ns = p->now_ns + TICK_NS;
		groups_tick(p->groups, p->now_ns);
		say_alive(p);
	}
	carry_out(p);
	take_back();
}

static void turns(void)
{
	for (unsigned n = 0; n < TURNS; n++) {
		turn_once();
		for (unsigned i = 0; i < PEERS; i++) {
			while (take(&f.peer[i])) {
			}
		}
	}
	check_status();
	check_names();
}

/* ------------------------------------------------------------------------------- what the peers do */

static void say(struct peer_model *m, const void *bytes, size_t length, bool more)
{
	must(zmq_send(m->socket, bytes, length, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0);
}

static void say_hello(struct peer_model *m, struct fuzz_input *in, unsigned how)
{
	static const char *const names[] = {"trigger-1", "trigger-2", "a", "x:y.z-_"};
	static const char *const asked[] = {"trigger", "acoustic", "trigger", "nobody"};
	static const uint32_t credits[] = {1, 3, 1024, 0};
	uint8_t body[256];
	size_t length;

	m->credit = credits[how >> 4 & 3];
	m->name = how & 3;
	length = (size_t)snprintf((char *)body, sizeof(body),
				  "{\"protocol\":1,\"name\":\"%s\",\"group\":\"%s\",\"credit\":%u}",
				  names[how & 3], asked[how >> 2 & 3], m->credit);
	if (how & 0x80) { /* not quite */
		body[fuzz_take(in, 1) % length] = (uint8_t)fuzz_take(in, 1);
		m->credit = GROUPS_CREDIT_MAX;
		m->name = -1;
	}
	m->asked = true;
	say(m, "HELLO", 5, true);
	say(m, body, length, false);
}

/* An acknowledgement by `m`, and what it means. */
static struct fcm_ack acknowledge(struct peer_model *m, unsigned n)
{
	if (m->group >= 0 && m->got[n] && !m->acked[n]) {
		m->acked[n] = true;
		m->in_flight--;
		f.acknowledged[m->group][n] = true;
	}
	return f.key[n];
}

/* Of one block, that it has or has not, or of many. */
static void say_ack(struct peer_model *m, struct fuzz_input *in, unsigned how)
{
	struct fcm_ack acks[64];
	unsigned count = 1 + (how & 0x3f) % 63u, first = fuzz_take(in, 1);

	if (f.offered == 0) {
		return;
	}
	for (unsigned n = 0; n < count; n++) {
		acks[n] = acknowledge(m, (first + n) % f.offered);
	}
	m->said_ns = f.p->now_ns;
	say(m, "ACK", 3, true);
	say(m, acks, count * sizeof(acks[0]), false);
}

static void say_anything(struct peer_model *m, struct fuzz_input *in, unsigned how)
{
	static const char *const verbs[] = {"HELLO", "ACK",	"ALIVE", "BYE",
					    "BLOCK", "WELCOME", "",	 "hello"};
	const char *verb = verbs[how & 7];
	unsigned parts = how >> 3 & 3;
	uint8_t bytes[64];

	/* A HELLO of two parts is answered. */
	m->asked |= (how & 7) == 0 && parts == 1;
	if ((how & 7) == 0 && parts == 1) {
		m->credit = GROUPS_CREDIT_MAX;
		m->name = -1;
	}
	say(m, verb, strlen(verb), parts > 0);
	for (unsigned n = 0; n < parts; n++) {
		size_t length = fuzz_take(in, 1) % sizeof(bytes);

		for (size_t i = 0; i < length; i++) {
			bytes[i] = (uint8_t)fuzz_take(in, 1);
		}
		say(m, bytes, length, n + 1 < parts);
	}
	if ((how & 7) == 3 && parts == 0) {
		m->group = -1; /* what comes still was on its way */
	}
}

static void reconnect(struct peer_model *m)
{
	void *old = m->socket;

	m->socket = zmq_socket(f.p->context, ZMQ_DEALER);
	must(m->socket && zmq_connect(m->socket, ENDPOINT) == 0);
	if (old) {
		const int zero = 0;

		zmq_setsockopt(old, ZMQ_LINGER, &zero, sizeof(zero));
		must(zmq_disconnect(old, ENDPOINT) == 0);
		zmq_close(old);
	}
	m->asked = false;
	m->group = -1;
	m->in_flight = 0;
	memset(m->got, 0, sizeof(m->got));
	memset(m->acked, 0, sizeof(m->acked));
}

/* ------------------------------------------------------------------------------- the input */

static void offer(unsigned how)
{
	unsigned n = f.offered, link = how >> 1 & 3, stream = how & 1 ? FCM_HYDROPHONE : FCM_PMT;
	struct block *b = n < BLOCKS ? block_get(f.pool, 64) : NULL;

	if (!b) {
		return;
	}
	b->header = (struct fcm_block_header){
		.stream = (uint8_t)stream,
		.link = (uint8_t)link,
		.tower = 1,
		.floor = (uint8_t)(link + 1),
		.frames = BLOCK_FRAMES,
		.first_frame = (uint64_t)n * BLOCK_FRAMES,
		.sequence = 7ull << FCM_SEQUENCE_BITS | n,
		.slice_id = n / (1 + (how >> 4)),
		.payload_bytes = 64,
		.item_faults = n,
	};
	memset(b->already, how >> 3 & 1, sizeof(b->already));
	memset(b->outcome, 0xee, sizeof(b->outcome));
	b->monotonic_ns = n;
	f.key[n] = (struct fcm_ack){.sequence = b->header.sequence,
				    .stream = b->header.stream,
				    .link = b->header.link,
				    .tower = 1,
				    .floor = b->header.floor};
	for (unsigned g = 0; g < GROUPS; g++) {
		f.acknowledged[g][n] = b->already[g]; /* before a restart */
	}
	f.offered++;
	take_block(f.p, b);
}

static void decide(struct fuzz_input *in)
{
	unsigned what = fuzz_take(in, 1), how = fuzz_take(in, 1);
	struct peer_model *m = &f.peer[(what >> 3) % PEERS];

	switch (what & 7) {
	case 0:
		say_hello(m, in, how);
		break;
	case 1:
		say_ack(m, in, how);
		break;
	case 2:
		say_anything(m, in, how);
		break;
	case 3:
	case 4:
		for (unsigned n = 0; n <= what >> 3; n++) {
			offer(how + n * 2);
		}
		break;
	case 5:
		f.p->now_ns += (1 + how) * (what & 0x80 ? 100 : 1) * MS;
		break;
	case 6:
		pool_empty(f.p);
		break;
	default:
		reconnect(m);
		break;
	}
	turns();
}

static void begin(void)
{
	struct groups_config groups = {.groups = GROUPS, .dead_ns = DEAD_MS * MS};

	memcpy(groups.group, group_configs, sizeof(group_configs));
	f.p->groups = groups_create(&groups);
	must(f.p->groups);
	f.p->now_ns = f.p->next_tick_ns = 1000000 * MS;
	memset(f.p->peer, 0, sizeof(f.p->peer));
	f.offered = f.back = 0;
	memset(f.is_back, 0, sizeof(f.is_back));
	memset(f.acknowledged, 0, sizeof(f.acknowledged));
}

/* All blocks are settled, and nobody has one of them any more. */
static void end(void)
{
	for (unsigned i = 0; i < PEERS; i++) {
		reconnect(&f.peer[i]);
	}
	groups_shutdown(f.p->groups);
	turns();
	must(f.back == f.offered);
	for (unsigned n = 0; n < 1000 && block_pool_in_use(f.pool) > 0; n++) {
		turns(); /* libzmq gives up what it had for peers that have gone */
		usleep(1000);
	}
	must(block_pool_in_use(f.pool) == 0);
	groups_destroy(f.p->groups);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct publisher_config config = {
		.reserved_endpoint = ENDPOINT,
		.groups = 0,
		.dead_ms = DEAD_MS,
	};

	f.pool = block_pool_create(4u << 20);
	f.p = calloc(1, sizeof(*f.p));
	must(f.pool && f.p);
	STAILQ_INIT(&f.p->returned);
	must(queue_init(&f.settled, sizeof(struct block *), 1024, 0) == 0);
	f.p->settled = &f.settled;
	f.p->reserved_groups = GROUPS;
	f.p->dead_ms = config.dead_ms;
	f.p->loans.most[0] = BUDGET / 4 * 3;
	pthread_mutex_init(&f.p->lock, NULL);
	memcpy(f.p->counters.group[0].name, "trigger", 8);
	memcpy(f.p->counters.group[1].name, "acoustic", 9);
	must(open_sockets(f.p, &config) == 0);
	for (unsigned i = 0; i < PEERS; i++) {
		reconnect(&f.peer[i]);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};

	begin();
	while (in.left > 0) {
		decide(&in);
	}
	end();
	return 0;
}
