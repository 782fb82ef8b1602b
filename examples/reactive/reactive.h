/* Reactive transport: water moves over a grid of cells, and in each it reacts with the rock.
 *
 * A time step moves the water of all cells (transport.c), and then lets every cell react for
 * itself (chemistry.c), which takes nearly all of the time. Many cells are nearly alike,
 * beside each other and from step to step: surrogate.c reads a cache that all ranks share
 * before it computes, and is the only file that knows farhash.
 */
#ifndef REACTIVE_H
#define REACTIVE_H

#include <stddef.h>
#include <stdint.h>

/* What a cell holds: nine numbers, mol in a litre of water. Alkalinity is what acid can be added
 * to, the charge that the carbonate species and OH- carry. The minerals stay where they are. */
enum {
	CARBON,
	ALKALINITY,
	CALCIUM,
	MAGNESIUM,
	SODIUM,
	CHLORIDE,
	SULPHATE,
	SOLUTES, /* how many move with the water */
	CALCITE = SOLUTES,
	DOLOMITE,
	SPECIES
};

/* The result of the chemistry of a time step: the change of each species, and how the water is in
 * the end. A saturation index is log10 of how many times the water is saturated. */
enum {
	PH = SPECIES,
	INDEX_CALCITE,
	INDEX_DOLOMITE,
	IONIC_STRENGTH,
	RESULTS
};

extern const char *const species_names[SPECIES];

/* ---- chemistry.c ---- */

typedef struct chemistry chemistry;

/* chemistry_new returns NULL where there is no memory. */
chemistry *chemistry_new(void);
void chemistry_free(chemistry *c);

/* chemistry_react computes the change of a cell in some time. It depends on nothing else, to the
 * last bit. Returns 0, or -1 if there is no answer: the state makes no sense. */
int chemistry_react(chemistry *c, const double *cell, double seconds, double *results);

/* chemistry_add adds the changes to a cell, but takes no more of anything than there is: they
 * may have been computed for a cell that is only nearly the same. */
void chemistry_add(double *cell, const double *changes);

/* ---- transport.c ---- */

typedef struct grid {
	int width, height;
	double *cells;   /* SPECIES each, row by row */
	double *before;  /* the solutes before the water moved */
	double entered[SOLUTES], left[SOLUTES]; /* over the boundary so far */
	double initially[SOLUTES];              /* mol, where a cell has a litre of water */
} grid;

/* grid_new fills the grid with fresh water in limestone. NULL where there is no memory. */
grid *grid_new(int width, int height, const double *fresh);
void grid_free(grid *g);

/* grid_flow moves the water by one step. fresh and brackish water enter. */
void grid_flow(grid *g, const double *fresh, const double *brackish);

/* grid_imbalance is how much of an element is too much or too little, as a part of what there
 * was and what has come in: the largest of all elements. */
double grid_imbalance(const grid *g);

/* ---- surrogate.c ---- */

typedef struct surrogate surrogate;

typedef struct surrogate_stats {
	uint64_t cells;    /* chemistry asked for */
	uint64_t hits;     /* found in the cache */
	uint64_t same;     /* missed, and then computed for another cell of the same step and rank */
	uint64_t computed; /* integrated */
	uint64_t evicted;
} surrogate_stats;

/* A number of digits that means: no rounding, no cache. */
enum { EXACT = 0 };

/* surrogate_new makes the cache for a rank's part of so many cells. Collective over
 * MPI_COMM_WORLD. It ends the program with a message if it fails, and so do the others. */
surrogate *surrogate_new(int digits, uint64_t buckets, size_t cells);
void surrogate_free(surrogate *s);

/* surrogate_react computes or looks up what becomes of n cells in a time step. */
void surrogate_react(surrogate *s, const double *cells, size_t n, double seconds,
	double *results);

/* The sums of all ranks. Collective. */
surrogate_stats surrogate_sum(surrogate *s);

/* ---- picture.c ---- */

typedef struct panel {
	const char *title;
	const double *cells;
} panel;

/* picture_write draws some species of each panel's cells as a PNG. 0, or -1 and a message. */
int picture_write(const char *path, int width, int height, const panel *panels, int n,
	const char **message);

/* ---- main.c ---- */

/* fail ends the program on all ranks. */
_Noreturn void fail(const char *what, const char *why);

#endif
