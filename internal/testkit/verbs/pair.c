//go:build verbs

#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

struct fv_pair {
	struct ibv_context *device;
	struct ibv_pd *domain;
	struct ibv_cq *completions;
	struct ibv_qp *ends[2]; // operations are posted to the first one
	struct ibv_mr *words, *result;
	uint64_t seen;
	struct ibv_ah_attr to; // the device itself
	enum ibv_mtu mtu;
	uint8_t port;
};

// port finds an active port: its number, 0: there is none.
static uint8_t port(struct ibv_context *device, struct ibv_port_attr *attr) {
	struct ibv_device_attr all;
	if (ibv_query_device(device, &all))
		return 0;
	for (int i = 1; i <= all.phys_port_cnt; i++)
		if (!ibv_query_port(device, i, attr) && attr->state == IBV_PORT_ACTIVE)
			return i;
	return 0;
}

static int atomics(enum ibv_atomic_cap cap) {
	return cap == IBV_ATOMIC_GLOB ? FV_GLOBAL : cap == IBV_ATOMIC_HCA ? FV_DEVICE : FV_NONE;
}

int fv_devices(fv_device *to, int most) {
	int n = 0, found = 0;
	struct ibv_device **all = ibv_get_device_list(&n);
	for (int i = 0; all && i < n && found < most; i++) {
		struct ibv_context *device = ibv_open_device(all[i]);
		struct ibv_device_attr attr;
		struct ibv_port_attr any;
		if (!device)
			continue;
		if (!ibv_query_device(device, &attr)) {
			fv_device *d = &to[found++];
			snprintf(d->name, sizeof d->name, "%s", ibv_get_device_name(all[i]));
			d->atomics = atomics(attr.atomic_cap);
			d->active = port(device, &any) != 0;
		}
		ibv_close_device(device);
	}
	if (all)
		ibv_free_device_list(all);
	return found;
}

static struct ibv_context *open_named(const char *name) {
	struct ibv_context *device = NULL;
	int n = 0;
	struct ibv_device **all = ibv_get_device_list(&n);
	for (int i = 0; all && i < n && !device; i++)
		if (strcmp(ibv_get_device_name(all[i]), name) == 0)
			device = ibv_open_device(all[i]);
	if (all)
		ibv_free_device_list(all);
	return device;
}

// locate finds the address of the device itself: a LID, or over Ethernet the first GID that is set.
static int locate(fv_pair *p) {
	struct ibv_port_attr attr;
	union ibv_gid gid, none = {0};
	p->port = port(p->device, &attr);
	if (!p->port)
		return ENETDOWN;
	p->mtu = attr.active_mtu;
	p->to = (struct ibv_ah_attr){.dlid = attr.lid, .port_num = p->port};
	if (attr.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	for (int i = 0; i < attr.gid_tbl_len; i++)
		if (!ibv_query_gid(p->device, p->port, i, &gid) && memcmp(&gid, &none, sizeof gid)) {
			p->to.is_global = 1;
			p->to.grh = (struct ibv_global_route){.dgid = gid, .sgid_index = i,
				.hop_limit = 1};
			return 0;
		}
	return EADDRNOTAVAIL;
}

static int connect_to(fv_pair *p, struct ibv_qp *qp, uint32_t other) {
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = p->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC};
	struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR, .path_mtu = p->mtu,
		.dest_qp_num = other, .max_dest_rd_atomic = 1, .min_rnr_timer = 12, .ah_attr = p->to};
	struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1};
	int err = ibv_modify_qp(qp, &init,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (!err)
		err = ibv_modify_qp(qp, &receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER);
	if (!err)
		err = ibv_modify_qp(qp, &send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

// build makes all of a pair whose device is open, or says what failed, with errno.
static const char *build(fv_pair *p, uint64_t *words, uint64_t bytes) {
	if ((errno = locate(p)))
		return "finding an active port with an address";
	if (!(p->domain = ibv_alloc_pd(p->device)))
		return "ibv_alloc_pd";
	p->words = ibv_reg_mr(p->domain, words, bytes,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	p->result = ibv_reg_mr(p->domain, &p->seen, sizeof p->seen, IBV_ACCESS_LOCAL_WRITE);
	if (!p->words || !p->result)
		return "ibv_reg_mr, which needs ulimit -l unlimited,";
	if (!(p->completions = ibv_create_cq(p->device, 4, NULL, NULL, 0)))
		return "ibv_create_cq";
	struct ibv_qp_init_attr attr = {.send_cq = p->completions, .recv_cq = p->completions,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	for (int i = 0; i < 2; i++)
		if (!(p->ends[i] = ibv_create_qp(p->domain, &attr)))
			return "ibv_create_qp";
	for (int i = 0; i < 2; i++)
		if ((errno = connect_to(p, p->ends[i], p->ends[1 - i]->qp_num)))
			return "ibv_modify_qp";
	return NULL;
}

// fv_open makes a pair. NULL: it says what failed, with errno.
fv_pair *fv_open(const char *device, uint64_t *words, uint64_t bytes, const char **failed) {
	fv_pair *p = calloc(1, sizeof *p);
	*failed = "calloc";
	if (!p)
		return NULL;
	*failed = "ibv_open_device";
	if ((p->device = open_named(device)))
		*failed = build(p, words, bytes);
	if (!*failed)
		return p;
	int err = errno;
	fv_close(p);
	errno = err;
	return NULL;
}

// complete posts one operation and waits for it: 0, or a status for fv_text.
static int complete(fv_pair *p, struct ibv_send_wr *op, uint64_t *seen) {
	struct ibv_sge to = {(uintptr_t)&p->seen, sizeof p->seen, p->result->lkey};
	struct ibv_send_wr *bad;
	struct ibv_wc done;
	op->sg_list = &to;
	op->num_sge = 1;
	op->send_flags = IBV_SEND_SIGNALED;
	op->wr.atomic.rkey = p->words->rkey;
	if (ibv_post_send(p->ends[0], op, &bad))
		return IBV_WC_GENERAL_ERR;
	int n;
	while ((n = ibv_poll_cq(p->completions, 1, &done)) == 0)
		sched_yield();
	if (n < 0)
		return IBV_WC_GENERAL_ERR;
	*seen = p->seen;
	return done.status;
}

int fv_add(fv_pair *p, int64_t off, uint64_t delta, uint64_t *seen) {
	struct ibv_send_wr op = {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .wr.atomic =
		{.remote_addr = (uintptr_t)p->words->addr + 8 * off, .compare_add = delta}};
	return complete(p, &op, seen);
}

int fv_swap(fv_pair *p, int64_t off, uint64_t old, uint64_t word, uint64_t *seen) {
	struct ibv_send_wr op = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .wr.atomic =
		{.remote_addr = (uintptr_t)p->words->addr + 8 * off, .compare_add = old, .swap = word}};
	return complete(p, &op, seen);
}

const char *fv_text(int status) { return ibv_wc_status_str(status); }

void fv_close(fv_pair *p) {
	for (int i = 0; i < 2; i++)
		if (p->ends[i])
			ibv_destroy_qp(p->ends[i]);
	if (p->completions)
		ibv_destroy_cq(p->completions);
	if (p->words)
		ibv_dereg_mr(p->words);
	if (p->result)
		ibv_dereg_mr(p->result);
	if (p->domain)
		ibv_dealloc_pd(p->domain);
	if (p->device)
		ibv_close_device(p->device);
	free(p);
}
