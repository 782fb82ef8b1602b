# The searches of Nessie, of its repair and of the table of package kv; run reads this file.

nessie=(PROCS=2 OPS0=1 OPS1=1 OPS2=0 MENU0=0 MENU1=0 MENU2=0 START=1 DEATHS=0 TRIES=2 \
	ROLLBACK=0 CHECKED=0 CLEAN=0 SOURCE=0 VERSIONS=0 WATCH_HIDDEN=1 MUTANT=0)
repaired=(PROCS=2 OPS0=1 OPS1=1 OPS2=0 MENU0=0 MENU1=0 MENU2=0 START=1 DEATHS=0 B0=0 B1=2 MUTANT=0)
kv=(PROCS=2 OPS0=1 OPS1=1 OPS2=0 MENU0=0 MENU1=0 MENU2=0 START=1 DEATHS=0 \
	COPIES=0 DIRECT=0 CONTENTS=0 MUTANT=0 REACH=0)

if [ "$scope" = trace ]; then
	case $2 in
	nessie) use nessie "${nessie[@]}" ;;
	nessie-repaired) use nessie-repaired "${repaired[@]}" ;;
	nessie-default) use nessie-default "${kv[@]}" ;;
	*) echo "spec: no model $2 here that has traces; nessie, nessie-repaired, nessie-default" >&2
		exit 2 ;;
	esac
	search=-DBFS
	build SAFETY -O1 "${@:3}"
	./pan >pan.out 2>&1
	found=$(found)
	echo "$(meaning "$found"): $found"
	steps
	return
fi

history='the history is linearizable'
whole='an item in use is whole'

# NE as it is written, or in a kinder reading; eval/docs/nessie.md shows these errors step by step.
use nessie "${nessie[@]}"

fault() { # NAME ERROR PARAMETER...
	fails SAFETY "nessie: $1" "${@:2}"
}
kind=(CHECKED=1 VERSIONS=1 ROLLBACK=1 SOURCE=1) # what is open is read in favour of the paper

fault 'missed' "$history" MENU0=1 MENU1=2 START=2
fault 'hidden' 'no key is hidden for ever' MENU0=4 MENU1=8
fault 'delete, empty slots' "$history" MENU0=4 MENU1=24 OPS1=2 ROLLBACK=1 SOURCE=1
fault 'comes back' "$history" MENU0=4 MENU1=24 OPS1=2 WATCH_HIDDEN=0 VERSIONS=1
fault 'removed' "$history" MENU0=2 MENU1=1 DEATHS=1 CLEAN=1 "${kind[@]}"
fault 'moved, removed' "$history" MENU0=8 MENU1=1 DEATHS=1 CLEAN=1 "${kind[@]}"
fault 'published' "$history" MENU0=8 MENU1=4 DEATHS=1 CLEAN=2 "${kind[@]}"
fault 'published if alone' "$history" MENU0=8 MENU1=4 DEATHS=1 CLEAN=3 "${kind[@]}"
if [ "$scope" = all ]; then
	effort=-O1
	fault 'read, empty slots' "$history" MENU0=1 MENU1=24 OPS1=3 START=2 CHECKED=1 ROLLBACK=1 SOURCE=1
	fault 'comes back, 3' "$history" MENU0=4 MENU1=8 MENU2=16 OPS2=1 PROCS=3 VERSIONS=1 \
		CHECKED=1 ROLLBACK=1
	fault 'deletes twice' "$history" MENU0=4 MENU1=3 OPS1=3 START=2 "${kind[@]}"
	fault 'clears what is newer' "$history" MENU0=2 MENU1=11 OPS1=3 START=2 "${kind[@]}"
	fault 'writes twice' "$history" MENU0=2 MENU1=11 OPS1=3 TRIES=3 CHECKED=1 VERSIONS=1 \
		ROLLBACK=1
	effort=
	# What is right of it, so that the errors are not the model's: without deletions, and
	# with migrations that never run beside two writers.
	kind=(CHECKED=1 VERSIONS=1 SOURCE=1)
	holds SAFETY 'nessie: writes' MENU0=3 MENU1=3 OPS0=2 OPS1=2 "${kind[@]}"
	holds SAFETY 'nessie: both slots' MENU0=3 MENU1=3 OPS0=2 OPS1=2 START=2 "${kind[@]}"
	holds SAFETY 'nessie: two keys' MENU0=3 MENU1=99 OPS0=2 OPS1=2 START=6 "${kind[@]}"
	holds SAFETY 'nessie: migration' MENU0=3 MENU1=27 OPS1=2 "${kind[@]}"
	holds SAFETY 'nessie: reader' MENU0=1 MENU1=127 OPS1=3 START=6 "${kind[@]}"
	effort=-O1
	fault 'no version' "$history" MENU0=1 MENU1=127 OPS1=3 START=6 "${kind[@]}" MUTANT=NO_VERSION
	fault 'no flag' "$history" MENU0=3 MENU1=99 OPS0=2 OPS1=2 START=6 "${kind[@]}" \
		MUTANT=NO_FLAG
	fault 'no final' "$history" MENU0=4 MENU1=8 ROLLBACK=1 "${kind[@]}" MUTANT=NO_FINAL
	fault 'no hash' "$history" MENU0=1 MENU1=34 OPS1=3 "${kind[@]}" MUTANT=NO_HASH
	effort=
fi

# The smallest repair of NE that is right, and what happens without each part of it.
use nessie-repaired "${repaired[@]}"

needed() { # MUTANT PARAMETER...
	fails SAFETY "repaired: mutant $1" "$history" "MUTANT=$1" "${@:2}"
}

needed UNMARKED MENU0=15 MENU1=15 OPS1=2
needed NO_SOURCE MENU0=15 MENU1=15 OPS1=2
needed EMPTIES MENU0=15 MENU1=15 OPS1=2
needed CLEARS MENU0=15 MENU1=15 OPS1=2
needed SECOND_WINS MENU0=15 MENU1=15 OPS1=2
needed NO_AGAIN MENU0=2 MENU1=72 OPS1=2 START=6
holds SAFETY 'repaired: two calls' MENU0=15 MENU1=127 START=6 DEATHS=1
if [ "$scope" = all ]; then
	needed NO_VERSION MENU0=1 MENU1=15 OPS1=3
	needed NO_CHECK MENU0=15 MENU1=15 OPS1=2
	needed NO_USE MENU0=1 MENU1=2 OPS0=2 OPS1=3
	holds SAFETY 'repaired: B in the way' MENU0=127 MENU1=127 OPS1=2 START=4 DEATHS=1
	holds SAFETY 'repaired: B in the other' MENU0=127 MENU1=127 OPS1=2 B0=1 START=1 DEATHS=1
	holds SAFETY 'repaired: same slots' MENU0=127 MENU1=127 OPS1=2 B0=1 B1=0 START=8 DEATHS=1
	holds SAFETY 'repaired: no move from p' MENU0=127 MENU1=127 OPS1=2 START=20 B0=1 DEATHS=1
	holds SAFETY 'repaired: calls' MENU0=127 MENU1=127 OPS0=2 OPS1=2 START=6 DEATHS=1
	holds SAFETY 'repaired: 3 clients' MENU0=15 MENU1=127 MENU2=127 OPS2=1 PROCS=3 START=6
	holds NP 'repaired: end' MENU0=15 MENU1=127 OPS1=2 B0=1
fi

# The table of kv.
use nessie-default "${kv[@]}"

wrong() { # MUTANT ERROR PARAMETER...
	fails SAFETY "kv: mutant $1" "$2" "MUTANT=$1" "${@:3}"
}

happens() { # MARK PARAMETER...; pan knows it by its number
	local number
	number=$(sed -n "s/^#define $1 *\([0-9]*\).*/\1/p" nessie-default.pml)
	fails SAFETY "kv: reach $1" "$number" "REACH=$number" "${@:2}"
}

wrong NO_VERSION "$history" MENU0=1 MENU1=34 OPS1=3
wrong NO_SEAL "$history" MENU0=1 MENU1=34 OPS1=3
wrong EARLY "$whole" MENU0=1 MENU1=2
wrong NO_FREEZE "$history" MENU0=2 MENU1=128
wrong NO_CLOSE "$history" MENU0=8 MENU1=136 OPS1=2 START=4
wrong UNMARKED "$history" MENU0=3 MENU1=128 OPS0=2
wrong TAKES_TORN "$history" MENU0=1 MENU1=34 OPS1=3 DIRECT=1
wrong RECURS "$history" MENU0=1 MENU1=34 OPS1=5 DIRECT=1
if [ "$scope" = all ]; then
	wrong NO_KEY "$history" MENU0=1 MENU1=32 START=0
	wrong NO_COPYSEAL "$history" MENU0=1 MENU1=2 COPIES=1
	wrong BLIND "$history" MENU0=8 MENU1=8 START=0
	wrong EMPTIED 'no key twice in a table' MENU0=34 MENU1=67 OPS1=2 START=5
	wrong FREED "$whole" MENU0=1 MENU1=36 OPS1=2
	wrong COPY_OVER "$history" MENU0=2 MENU1=128 MENU2=128 OPS2=1 PROCS=3
	wrong MARK_FIRST "$history" MENU0=1 MENU1=128
	wrong SKIPS "$history" MENU0=1 MENU1=128
	happens LOST MENU0=2 MENU1=2
	happens RECYCLED MENU0=1 MENU1=34 OPS1=3
	happens HELPED MENU0=2 MENU1=128
	happens CLOSED MENU0=2 MENU1=128 START=4
	happens OLD_VALUE MENU0=1 MENU1=128
	happens FROM_COPY MENU0=1 MENU1=2 COPIES=1
	happens STALE_COPY MENU0=1 MENU1=2 COPIES=1
	happens DIED_MOVING MENU0=2 MENU1=128 DEATHS=1
	happens DIED_IN MENU0=2 MENU1=2 DEATHS=1
	happens REVIVED MENU0=2 MENU1=4
	happens TWICE MENU0=2 MENU1=128
	happens CROSSED MENU0=1 MENU1=2 MENU2=2 OPS2=1 PROCS=3 COPIES=1
	happens REREAD MENU0=1 MENU1=2 DIRECT=1
fi

holds SAFETY 'kv: two calls' MENU0=31 MENU1=31 DEATHS=1
holds SAFETY 'kv: moving' MENU0=31 MENU1=128 START=5 DEATHS=1
holds SAFETY 'kv: direct' MENU0=31 MENU1=127 OPS1=2 START=5 DIRECT=1
if [ "$scope" = all ]; then
	holds SAFETY 'kv: calls' MENU0=31 MENU1=127 OPS0=2 START=5 DEATHS=1
	holds SAFETY 'kv: copies' MENU0=31 MENU1=31 OPS0=2 COPIES=1
	holds SAFETY 'kv: moving, more' MENU0=31 MENU1=159 OPS1=2 START=5 DEATHS=1
	holds SAFETY 'kv: moving, deleted' MENU0=5 MENU1=130 OPS0=2 OPS1=2 START=4
	holds SAFETY 'kv: moving, removed' MENU0=31 MENU1=159 OPS1=2 START=10 DEATHS=1
	holds SAFETY 'kv: 3 clients' MENU0=31 MENU1=31 MENU2=7 OPS2=1 PROCS=3
	holds SAFETY 'kv: 3 clients, moving' MENU0=2 MENU1=128 MENU2=3 OPS2=1 PROCS=3 START=5
	holds SAFETY 'kv: two movers' MENU0=15 MENU1=128 MENU2=128 OPS2=1 PROCS=3 DEATHS=2
	holds SAFETY 'kv: direct, used again' MENU0=1 MENU1=34 OPS1=5 DIRECT=1
	holds NP 'kv: calls, end' MENU0=31 MENU1=31 START=5
	holds NP 'kv: moving, end' MENU0=31 MENU1=159 START=5
fi
