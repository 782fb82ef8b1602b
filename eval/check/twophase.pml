/* Two-phase commit, as examples/check/twophase/model.go has it. RMS resource managers. */
byte rm[RMS];                   /* 0 working, 1 prepared, 2 committed, 3 aborted */
bit prepared[RMS], known[RMS];
byte tm;                        /* 0, or 2 or 3: it has sent Commit or Abort */
hidden byte i;

#define STEP(i) \
	:: d_step { tm == 0 && prepared[i] -> known[i] = 1 } \
	:: d_step { rm[i] == 0 -> rm[i] = 1; prepared[i] = 1 } \
	:: d_step { rm[i] == 0 -> rm[i] = 3 } \
	:: d_step { tm != 0 -> rm[i] = tm; CHECK }

#define CHECK \
	i = 0; a = 0; c = 0; \
	do :: i < RMS -> a = a || rm[i] == 3; c = c || rm[i] == 2; i++ :: else -> break od; \
	assert(!(a && c))

hidden byte a, c;

#if RMS > 8
#define MORE (known[7] && known[8])
#elif RMS > 7
#define MORE known[7]
#else
#define MORE true
#endif

active proctype All() {
end:	do
	STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6)
#if RMS > 7
	STEP(7)
#endif
#if RMS > 8
	STEP(8)
#endif
	:: d_step { tm == 0 -> tm = 3 }
	:: d_step { tm == 0 && MORE && known[0] && known[1] && known[2] && known[3] && known[4] &&
		known[5] && known[6] -> tm = 2 }
	od
}
