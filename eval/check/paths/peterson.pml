/* Peterson's lock, as main.go has it. PROCS processes. */
byte level[PROCS], last[PROCS], at0;
#define rise 0
#define say 1
#define wait 2
#define inside 3

proctype Process(byte i) {
	byte at, other;
end:	do
	:: d_step { at == rise -> at = say; level[i]++ }
	:: d_step { at == rise && level[i] == 0 -> skip } /* it never has to ask */
	:: d_step { at == say -> at = wait; other = 0; last[level[i]] = i }
	:: d_step { at == wait && (last[level[i]] != i || other == PROCS) ->
		other = 0;
		if
		:: level[i] == PROCS - 1 -> at = inside; if :: i == 0 -> at0 = 1 :: else fi
		:: else -> at = rise
		fi }
	:: d_step { at == wait && last[level[i]] == i && other < PROCS &&
		(other == i || level[other] < level[i]) -> other++ }
	:: d_step { at == inside -> at = rise; level[i] = 0; if :: i == 0 -> at0 = 0 :: else fi }
	od
}

init { atomic { byte k; do :: k < PROCS -> run Process(k); k++ :: else -> break od; k = 0 } }

ltl entry { [] ((level[0] > 0) -> <> (at0 == 1)) }
