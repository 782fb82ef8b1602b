#include <stdint.h>

int guest_init(int level);
int guest_finalize(void);
void guest_compute(const uint64_t *word, uint64_t until);
int guest_loop(int words, int own, double seconds, double micros[3]);
