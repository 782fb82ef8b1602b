// What the C files share.

#if !__has_include(<mpi.h>)
#error "no mpi.h: build with -tags 'mpi openmpi', with -tags 'mpi mpich', or with CC=mpicc"
#endif
#include <mpi.h>
#include <pthread.h>

enum { FH_SHIPS, FH_ACCESSES, FH_LANES };

typedef struct fh_peer {
	int rank;
	fr_ticket tickets[FH_LANES][FH_TICKETS];
	fh_op *waiting[FH_LANES], *last[FH_LANES]; // what has no ticket yet
	fr_claim claims[FH_TICKETS];               // of requests from there that are not stored yet
	struct fh_peer *next;                      // with news
	int isNews;
} fh_peer;

struct fh_job {
	MPI_Comm comm;
	int rank, size;
	MPI_Request meeting; // the collective call under way
	uint64_t ended;      // collective calls that came to their end here
	uint64_t *left;      // by rank: 1 + how many had done so there when it left; 0: it is here
	int leftRanks;
	uint64_t leaving;
	MPI_Request *leaves;
	int64_t *poked; // by rank: until when it knows that its memory is in use
	int gone; // its windows are no more
	fh_job *next;

	int serves;     // ranks send each other messages
	fh_peer *peers; // by rank; NULL: no messages
	fh_peer *news;  // peers for whom something was posted
	int tickets;    // taken
	int unanswered; // requests of others
	fr_request *sending; // parcels
	fh_window **windows; // by number; NULL: closed
	uint32_t opened;     // one more than the number of the last
	fr_inbox inbox;
	fr_store store; // for its requests
};

struct fh_window {
	fh_job *job;
	MPI_Win win;
	uint64_t **direct;
	uint32_t number; // the same on all ranks
	int coherent;    // atomics are instructions of processors, and no calls of MPI
	int carried;     // and gets and puts go by messages as well: win is none
	uint64_t *memory; // of this rank, where it is not of Go
};

enum { FH_HOT_NS = 2000000, FH_POKE_NS = 1000000 };
enum { FH_LEAVE = 4711 }; // the tag of what a rank sends when it leaves

// How much others need the owner: not at all; no more than the threads of this rank do; much.
enum { FH_IDLE, FH_ACTIVE, FH_HOT };

// The functions that files have for others. A file calls only what is below it:
//
//	owner.c     the thread that owns MPI
//	job.c       ranks that join, meet and leave
//	queue.c     queues: operations from their start to their end
//	calls.c     calls of MPI for them: queue.h
//	single.c    single gets and puts for callers in C
//	messages.c  messages of two ranks; under the lock, except fh_poll
int fh_poll(fh_job *job); // takes messages if no other thread calls MPI
int fh_receive(fh_job *job);
int fh_receive_all(fh_job *job);
void fh_receive_others(const fh_job *job, int all);
void fh_attend(fh_job *job);
void fh_forget(fh_job *job);
int fh_poke(fh_job *job, int rank);
void fh_ask(fh_queue *q, fh_job *job, fh_op *op);
int fh_send_news(fh_job *job);
void fh_unask(fh_job *job, fh_op *op);
int fh_is_settled(fh_job *job);
void fh_open_messages(fh_job *job);
void fh_close_messages(fh_job *job);
//	accesses.c  operations on memory as the words of a message
int fh_pack_accesses(fh_op **waiting, uint64_t *words, int64_t most, int32_t *piece);
int fh_do_accesses(fh_job *job, const uint64_t *words, int n, uint64_t *answer);
void fh_take_answer(fh_op *op, const uint64_t *words, int64_t most, int32_t piece);
void fh_copy(uint64_t *to, const uint64_t *from, int64_t words);
uint64_t fh_swap_here(uint64_t *word, int isAdd, uint64_t old, uint64_t newWord);
//	order.c     what waits for what, and the ends of messages: queue.h
void fh_landed(fh_op *op);
//	window.c    windows
//	lock.c      the lock, waiting, and how much others need this rank
extern int fh_is_oversubscribed; // ranks on this host are as many as its processors
extern int fh_share;      // ranks for each processor, rounded up
extern int fh_is_passive; // no thread owns MPI
extern int fh_vain;       // polls of the owner since the last message or poke
extern unsigned long fh_entered; // how often MPI was called by others than the owner
int64_t fh_now(void);
int fh_try_lock(void);
void fh_lock_to_wait(void);
void fh_give_way(int vain);
void fh_polling(int more);
int fh_is_polled(void);
void fh_heat(void);
void fh_heat_for_messages(void);
int fh_demand(void);
int fh_demand_beside(void);
