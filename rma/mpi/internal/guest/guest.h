#include <stdint.h>

int guest_init(int level);
int guest_finalize(void);
void guest_compute(const uint64_t *word, uint64_t until);
int guest_loop(int words, int own, double seconds, double micros[3]);
int guest_split(int color, int key, int *comm);
int guest_forget(int comm);
int guest_send(int number, int to);
int guest_receive(int *number, int from);
int guest_move(void *function, void *window, int rank, int64_t off, uint64_t *words, int64_t n);
