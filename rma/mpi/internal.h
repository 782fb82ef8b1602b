// What the C files share.

#if !__has_include(<mpi.h>)
#error "no mpi.h: build with -tags 'mpi openmpi', with -tags 'mpi mpich', or with CC=mpicc"
#endif
#include <mpi.h>
#include <pthread.h>

typedef struct fh_parcel fh_parcel;

enum { FH_SHIPS, FH_ATOMICS, FH_LANES };

// Who has a ticket of a rank has a message on its way there, or its answer on the way back.
typedef struct {
	fh_op *ops; // wait for the answer, by link; NULL: nobody does any more
	int taken;
} fh_ticket;

typedef struct fh_peer {
	int rank;
	fh_ticket tickets[FH_LANES][FH_TICKETS];
	fh_op *waiting[FH_LANES], *last[FH_LANES]; // what has no ticket yet
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
	fh_parcel *sending, *spare;
	fh_window **windows; // by number; NULL: closed
	uint32_t opened;
	pthread_mutex_t inboxLock; // around the following
	pthread_cond_t inboxNews;
	fh_parcel *inbox, *inboxLast;
	int handling; // a request is being carried out
	int shippers; // threads that wait for answers, and carry out requests meanwhile
	int dismissed;
};

struct fh_window {
	fh_job *job;
	MPI_Win win;
	uint64_t **direct;
	uint32_t number; // the same on all ranks
	int coherent;    // atomics are instructions of processors, and no calls of MPI
};

enum { FH_HOT_NS = 2000000, FH_POKE_NS = 1000000 };

extern int fh_is_crowded; // ranks on this host are as many as its processors
extern int fh_is_ending;  // in MPI_Finalize
extern int fh_is_passive; // no thread owns MPI

int64_t fh_now(void);
void fh_lock_to_wait(void);
void fh_heat(void);
void fh_heat_for_messages(void);
void fh_attend(fh_job *job); // under the lock, as are the following
void fh_forget(fh_job *job);
int fh_receive(fh_job *job);
int fh_receive_all(fh_job *job);
// The following are not called under the lock.
int fh_poll(fh_job *job); // takes messages if no other thread calls MPI
void fh_polling(int more);
void fh_give_way(int vain);
int fh_poke(fh_job *job, int rank);
void fh_ask(fh_queue *q, fh_job *job, fh_op *op);
int fh_send_news(fh_job *job);
void fh_unask(fh_job *job, fh_op *op);
uint64_t fh_swap_here(uint64_t *word, int isAdd, uint64_t old, uint64_t newWord);
void fh_landed(fh_op *op);
void fh_shippers(fh_job *job, int more);
int fh_is_asked(fh_job *job);
int fh_take_in(fh_job *job, const MPI_Status *status);
int fh_is_settled(fh_job *job);
void fh_open_messages(fh_job *job);
void fh_close_messages(fh_job *job);
