/* A lock with tickets, as main.go has it. PROCS processes. */
byte next, serving, at0;

proctype Process(byte i) {
	byte at, ticket;
end:	do
	:: d_step { at == 0 -> at = 1; ticket = next; next = (next + 1) % 8;
		if :: i == 0 -> at0 = 1 :: else fi }
	:: d_step { at == 0 -> skip } /* it never has to draw */
	:: d_step { at == 1 && ticket == serving -> at = 2; ticket = 0;
		if :: i == 0 -> at0 = 2 :: else fi }
	:: d_step { at == 2 -> at = 0; serving = (serving + 1) % 8;
		if :: i == 0 -> at0 = 0 :: else fi }
	od
}

init { atomic { byte k; do :: k < PROCS -> run Process(k); k++ :: else -> break od; k = 0 } }

ltl entry { [] ((at0 == 1) -> <> (at0 == 2)) }
