/* The philosophers of Chandy and Misra, as main.go has them. PROCS of them. */
bit right[PROCS], dirty[PROCS], asked[PROCS]; /* of fork i, between i and the next; right has it */
byte at0;

proctype Seat(byte i, l) {
	byte at;
end:	do
	:: d_step { !right[l] && !asked[l] && at == 1 -> asked[l] = 1 }
	:: d_step { right[l] && dirty[l] && asked[l] && at != 2 ->
		right[l] = 0; dirty[l] = 0; asked[l] = 0 }
	:: d_step { right[i] && !asked[i] && at == 1 -> asked[i] = 1 }
	:: d_step { !right[i] && dirty[i] && asked[i] && at != 2 ->
		right[i] = 1; dirty[i] = 0; asked[i] = 0 }
	:: d_step { at == 0 -> at = 1; if :: i == 0 -> at0 = 1 :: else fi }
	:: d_step { at == 0 && !(right[l] && dirty[l] && asked[l]) &&
		!(!right[i] && dirty[i] && asked[i]) -> skip } /* it never has to be hungry */
	:: d_step { at == 1 && right[l] && !right[i] && !(dirty[l] && asked[l]) &&
		!(dirty[i] && asked[i]) -> at = 2; dirty[l] = 1; dirty[i] = 1;
		if :: i == 0 -> at0 = 2 :: else fi }
	:: d_step { at == 2 -> at = 0; if :: i == 0 -> at0 = 0 :: else fi }
	od
}

init { atomic { byte k;
	do :: k < PROCS -> dirty[k] = 1; k++ :: else -> break od;
	right[PROCS - 1] = 1;
	k = 0;
	do :: k < PROCS -> run Seat(k, (k + PROCS - 1) % PROCS); k++ :: else -> break od;
	k = 0 } }

ltl eats { [] ((at0 == 1) -> <> (at0 == 2)) }
