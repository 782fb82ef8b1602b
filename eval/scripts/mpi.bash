#!/usr/bin/env bash
# What scripts that measure under MPI have in common: they source it. The caller is in the
# project's root and has set per_host, ranks in each namespace.

PATH=$PATH:/usr/sbin:/sbin
self=$(basename "$0")

fail() {
	echo "$self: $*" >&2
	exit 2
}

number() {
	case $2 in '' | *[!0-9]*) fail "$1 must be a number, not '$2'" ;; esac
}

# one_mpi NAME: refuses others than those that farhash is built with.
one_mpi() {
	[ "$1" = openmpi ] || [ "$1" = mpich ] || fail "--mpi must be openmpi or mpich, not '$1'"
}

# Jobs of Open MPI that share a folder trip over each other; its sockets need a short name.
work=$(mktemp -d /tmp/bm.XXXXXX)
space=bm-$$
servers=()
cleanup() {
	[ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null || true
	for i in 1 2; do
		ip netns delete "$space-$i" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export TMPDIR=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The default of Open MPI 4 makes no windows over TCP; farhash chooses the same.
export OMPI_MCA_osc=${OMPI_MCA_osc:-sm,pt2pt}
cores=$(nproc)
failed=

# build_farhash MPI: makes $work/farhash-MPI, or says why not.
build_farhash() {
	command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null || {
		echo "$self: $1 is left out: there is no mpicc.$1 or mpirun.$1" >&2
		return 1
	}
	CGO_ENABLED=1 go -C eval build -tags "mpi $1" -o "$work/farhash-$1" ./cmd/farhash-eval
}

# connect makes two hosts: namespaces that have a host name each.
connect() {
	ip netns add "$space-1" && ip netns add "$space-2" &&
		ip link add fh1 netns "$space-1" type veth peer name fh2 netns "$space-2" ||
		fail "--netns needs root and iproute2"
	for i in 1 2; do
		ip -n "$space-$i" addr add "10.77.0.$i/24" dev "fh$i"
		ip -n "$space-$i" link set lo up
		ip -n "$space-$i" link set "fh$i" up
	done
	until ip -n "$space-2" link show fh2 | grep -q 'state UP'; do sleep 0.1; done
	# What the launchers use in place of ssh: options, a host and a command.
	cat >"$work/agent" <<-END
		#!/bin/sh
		while :; do case \$1 in -*) shift ;; *) break ;; esac; done
		host=$space-\${1##*.}
		shift
		exec ip netns exec \$host unshare --uts sh -c 'hostname "\$0"; exec sh -c "\$*"' \$host "\$@"
	END
	chmod +x "$work/agent"
}

# launch WHERE MPI RANKS PROGRAM...: runs a program on one host or, where WHERE is tcp, on two.
# It writes into $work/out; that it has failed is kept in failed.
launch() {
	local where=$1 mpi=$2 n=$3
	shift 3
	local line=("mpirun.$mpi" -n "$n")
	[ "$mpi" = mpich ] || line+=(--oversubscribe --bind-to none)
	# Ranks that spin where there are no cores for all slow everything many times. farhash
	# lets them yield, MPICH alone has no such setting.
	[ "$mpi" = mpich ] || [ "$n" -le "$cores" ] || line+=(--mca mpi_yield_when_idle 1)
	if [ "$where" = tcp ]; then
		# Namespaces share memory, which hosts do not: UCX_TLS keeps UCX from using it.
		line=(env UCX_TLS=tcp,self "$work/agent" 10.77.0.1 "${line[@]}")
		local hosts=10.77.0.1:$per_host,10.77.0.2:$per_host
		if [ "$mpi" = openmpi ]; then
			line+=(--host "$hosts" --mca plm_rsh_agent "$work/agent"
				--mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24)
		else
			line+=(-launcher ssh -launcher-exec "$work/agent" -hosts "$hosts" -iface fh1)
		fi
	fi
	local code=0
	timeout --foreground 300 "${line[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
	if [ "$code" != 0 ]; then
		echo "$self: this failed with exit code $code (124: time is up): ${line[*]} $*" >&2
		grep -h '^[a-z]*: ' "$work/err" >&2 || tail -n 5 "$work/err" >&2
		failed=yes
	fi
}
