/* The bakery lock, as examples/check/bakery/model.go has it. PROCS processes, tickets to LIMIT. */
byte ticket[PROCS];
bit choosing[PROCS];
byte inside;
/* where a process is */
#define outside  0
#define draw     1
#define announce 2
#define chosen   3
#define waitDraw 4
#define waitTurn 5
#define isInside 6

proctype Process(byte i) {
	byte at, other, largest;
end:	do
	:: d_step { at == outside -> at = draw; choosing[i] = 1 }
	:: d_step { at == draw ->
		if :: ticket[other] > largest -> largest = ticket[other] :: else fi;
		if :: other == PROCS - 1 -> at = announce; other = 0 :: else -> other++ fi }
	:: d_step { at == announce ->
		if
		:: largest == LIMIT -> at = outside; choosing[i] = 0
		:: else -> at = chosen; ticket[i] = largest + 1
		fi;
		largest = 0 }
	:: d_step { at == chosen -> at = waitDraw; choosing[i] = 0 }
	:: d_step { at == waitDraw && !choosing[other] -> at = waitTurn }
	:: d_step { at == waitTurn && (ticket[other] == 0 || ticket[other] > ticket[i] ||
		ticket[other] == ticket[i] && other >= i) ->
		if
		:: other == PROCS - 1 -> at = isInside; other = 0;
			inside++; assert(inside == 1)
		:: else -> at = waitDraw; other++
		fi }
	:: d_step { at == isInside -> at = outside; ticket[i] = 0; inside-- }
	od
}

init { atomic { run Process(0); run Process(1); run Process(2);
#if PROCS > 3
	run Process(3)
#endif
} }
