//go:build ucx

// Lists what UCX finds on this host. A job does not need it.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uct/api/uct.h>

#include "shim.h"
#include "internal.h"
#include "examine.h"

// survey is where the devices go.
typedef struct {
	fu_device *to;
	int most, found;
	ucs_async_context_t *async;
	uct_worker_h worker;
} survey;

static int kind(uct_device_type_t type) {
	switch (type) {
	case UCT_DEVICE_TYPE_NET:
		return FH_NETWORK;
	case UCT_DEVICE_TYPE_SHM:
		return FH_MEMORY;
	case UCT_DEVICE_TYPE_SELF:
		return FH_SELF;
	default:
		return FH_ACCELERATOR;
	}
}

// What UCP asks of a card before it uses any of its atomics.
enum {
	ALL_FETCHING = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_AND) |
		UCS_BIT(UCT_ATOMIC_OP_OR) | UCS_BIT(UCT_ATOMIC_OP_XOR) |
		UCS_BIT(UCT_ATOMIC_OP_SWAP) | UCS_BIT(UCT_ATOMIC_OP_CSWAP),
};

static int atomics(const uct_iface_attr_t *attr) {
	if (!attr->cap.atomic64.fop_flags)
		return FH_NO_ATOMICS;
	if (attr->cap.flags & UCT_IFACE_FLAG_ATOMIC_CPU)
		return FH_PROCESSOR_ATOMICS;
	return (attr->cap.atomic64.fop_flags & ALL_FETCHING) == ALL_FETCHING ? FH_CARD_ATOMICS :
		FH_SOME_ATOMICS;
}

// describe opens a device to ask what it can do.
static void describe(survey *l, uct_md_h md, const uct_tl_resource_desc_t *r, fu_device *d) {
	uct_iface_config_t *config;
	if (uct_md_iface_config_read(md, r->tl_name, NULL, NULL, &config) != UCS_OK)
		return;
	uct_iface_params_t params = {
		.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
			UCT_IFACE_PARAM_FIELD_CPU_MASK,
		.open_mode = UCT_IFACE_OPEN_MODE_DEVICE,
		.mode.device = {.tl_name = r->tl_name, .dev_name = r->dev_name},
	};
	uct_iface_h iface;
	ucs_status_t s = uct_iface_open(md, l->worker, &params, config, &iface);
	uct_config_release(config);
	if (s != UCS_OK)
		return;
	uct_iface_attr_t attr;
	if (uct_iface_query(iface, &attr) == UCS_OK) {
		d->opened = 1;
		d->bytesPerSecond = attr.bandwidth.dedicated + attr.bandwidth.shared;
		d->latencyNs = attr.latency.c * 1e9;
		d->atomics = atomics(&attr);
	}
	uct_iface_close(iface);
}

// listDomain lists the devices of a memory domain. One that does not open has none.
static void listDomain(survey *l, uct_component_h component, const char *name) {
	uct_md_config_t *config;
	if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK)
		return;
	uct_md_h md;
	ucs_status_t s = uct_md_open(component, name, config, &md);
	uct_config_release(config);
	if (s != UCS_OK)
		return;
	uct_tl_resource_desc_t *all;
	unsigned n;
	if (uct_md_query_tl_resources(md, &all, &n) == UCS_OK) {
		for (unsigned i = 0; i < n && l->found < l->most; i++) {
			fu_device *d = &l->to[l->found++];
			memset(d, 0, sizeof *d);
			snprintf(d->transport, sizeof d->transport, "%s", all[i].tl_name);
			snprintf(d->name, sizeof d->name, "%s", all[i].dev_name);
			d->kind = kind(all[i].dev_type);
			if (l->worker)
				describe(l, md, &all[i], d);
		}
		uct_release_tl_resource_list(all);
	}
	uct_md_close(md);
}

static void listComponent(survey *l, uct_component_h component) {
	uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT};
	if (uct_component_query(component, &attr) != UCS_OK || attr.md_resource_count == 0)
		return;
	attr.md_resources = calloc(attr.md_resource_count, sizeof *attr.md_resources);
	if (!attr.md_resources)
		return;
	attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
	if (uct_component_query(component, &attr) == UCS_OK)
		for (unsigned i = 0; i < attr.md_resource_count; i++)
			listDomain(l, component, attr.md_resources[i].md_name);
	free(attr.md_resources);
}

static ucs_status_t list(survey *l) {
	uct_component_h *components;
	unsigned n;
	ucs_status_t s = uct_query_components(&components, &n);
	if (s != UCS_OK)
		return s;
	for (unsigned i = 0; i < n; i++)
		listComponent(l, components[i]);
	uct_release_component_list(components);
	return UCS_OK;
}

// fu_names lists what UCX can send over, by transport, name and kind alone, and opens none of it:
// how many, or a code below 0.
int fu_names(fu_device *to, int most) {
	survey l = {.to = to, .most = most};
	ucs_status_t s = list(&l);
	return s == UCS_OK ? l.found : (int)s;
}

// fu_devices is fu_names, and opens each device to ask what it can do.
int fu_devices(fu_device *to, int most) {
	survey l = {.to = to, .most = most};
	ucs_status_t s = ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &l.async);
	if (s != UCS_OK)
		return s;
	s = uct_worker_create(l.async, UCS_THREAD_MODE_SINGLE, &l.worker);
	if (s == UCS_OK) {
		s = list(&l);
		uct_worker_destroy(l.worker);
	}
	ucs_async_context_destroy(l.async);
	return s == UCS_OK ? l.found : (int)s;
}

// fu_events starts UCX as a job does, and asks whether it can sleep until something happens.
// text is what UCX says of its choice of devices, cut off where it is longer.
int fu_events(char *text, int most, int *events) {
	fu_job *job;
	int err = fu_open(0, 1, 0, "", "", &job);
	if (err)
		return err;
	int fd;
	*events = ucp_worker_get_efd(job->worker, &fd) == UCS_OK;
	char *all = NULL;
	size_t bytes;
	FILE *f = open_memstream(&all, &bytes);
	if (f) {
		ucp_context_print_info(job->context, f);
		fclose(f);
		snprintf(text, most, "%s", all);
		free(all);
	}
	fu_close(job);
	return 0;
}
