/* The simulation, with and without the cache, and what the cache is worth. */
#include "options.h"
#include "reactive.h"

#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What rains: much carbon dioxide, taken up in the soil, and a little salt. */
static const double rain[SPECIES] = {[CARBON] = 1e-3, [SODIUM] = 1.2e-3, [CHLORIDE] = 1e-3,
	[SULPHATE] = 1e-4};

/* The water that enters: one part of sea water in 20 of water without carbonate. It dissolves calcite,
 * and has the magnesium for dolomite. */
static const double brackish[SPECIES] = {[CARBON] = 0.12e-3, [ALKALINITY] = 0.12e-3,
	[CALCIUM] = 0.51e-3, [MAGNESIUM] = 2.64e-3, [SODIUM] = 23.94e-3, [CHLORIDE] = 27.3e-3,
	[SULPHATE] = 1.41e-3};

/* One simulation from beginning to end. */
typedef struct run {
	int digits;
	grid *grid;
	surrogate_stats stats;
	double seconds, chemistry_seconds; /* of all, and of the slowest rank's part of it */
	double imbalance;
} run;

static int rank, ranks;

void fail(const char *what, const char *why)
{
	fprintf(stderr, "reactive: %s: %s\n", what, why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

/* fresh_water is rain that has been in limestone for a year, and is in equilibrium with it. */
static void fresh_water(double *cell)
{
	double changes[RESULTS];
	chemistry *c = chemistry_new();
	memcpy(cell, rain, sizeof rain);
	cell[CALCITE] = 1;
	if (!c || chemistry_react(c, cell, 365 * 86400.0, changes))
		fail("chemistry", "cannot make the water that the ground holds at the beginning");
	chemistry_add(cell, changes);
	chemistry_free(c);
}

static void show_progress(const options *o, int digits, long step)
{
	static const char bar[] = "########################################";
	char name[32] = "no cache";
	if (rank != 0 || !(o->progress || isatty(STDERR_FILENO)))
		return;
	if (digits != EXACT)
		snprintf(name, sizeof name, "%d digits", digits);
	int length = (int)(40 * step / o->steps);
	fprintf(stderr, "\r%-9s [%-40.*s] %3ld %%", name, length, bar, 100 * step / o->steps);
	if (step == o->steps)
		fprintf(stderr, "\r%60s\r", "");
}

/* parts counts the cells of each rank for MPI, in numbers of doubles. Cells are dealt
 * round robin: what is new and must be integrated is close together, at the fronts. */
static void parts(size_t cells, int *counts, int *offsets)
{
	for (int r = 0, offset = 0; r < ranks; r++) {
		counts[r] = (int)((cells - r + ranks - 1) / ranks) * SPECIES;
		offsets[r] = offset;
		offset += counts[r];
	}
}

/* simulate makes a run. */
static void simulate(run *r, const options *o, const double *fresh)
{
	size_t cells = (size_t)o->width * o->height, part = (cells - rank + ranks - 1) / ranks;
	uint64_t most = 1000 + 2 * cells * o->steps, buckets = most < 500000 ? most : 500000;
	surrogate *s = surrogate_new(r->digits, o->buckets ? (uint64_t)o->buckets : buckets, part);
	double *mine = malloc((part + 1) * SPECIES * sizeof(double));
	double *answers = malloc((part + 1) * RESULTS * sizeof(double));
	double *changes = malloc(cells * SPECIES * sizeof(double)), chemistry_seconds = 0;
	int *counts = malloc(2 * ranks * sizeof(int)), *offsets = counts + ranks;
	r->grid = grid_new(o->width, o->height, fresh);
	if (!r->grid || !mine || !answers || !changes || !counts)
		fail("grid", "no memory");
	parts(cells, counts, offsets);

	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	for (long step = 1; step <= o->steps; step++) {
		grid_flow(r->grid, fresh, brackish);
		for (size_t i = 0; i < part; i++)
			memcpy(mine + i * SPECIES, r->grid->cells + (rank + i * ranks) * SPECIES,
				SPECIES * sizeof(double));
		double before = MPI_Wtime();
		surrogate_react(s, mine, part, o->hours * 3600, answers);
		chemistry_seconds += MPI_Wtime() - before;
		for (size_t i = 0; i < part; i++)
			memcpy(mine + i * SPECIES, answers + i * RESULTS, SPECIES * sizeof(double));
		MPI_Allgatherv(mine, counts[rank], MPI_DOUBLE, changes, counts, offsets, MPI_DOUBLE,
			MPI_COMM_WORLD);
		for (size_t i = 0; i < cells; i++)
			chemistry_add(r->grid->cells + i * SPECIES,
				changes + offsets[i % ranks] + i / ranks * SPECIES);
		show_progress(o, r->digits, step);
	}
	r->seconds = MPI_Wtime() - begin;
	MPI_Allreduce(&chemistry_seconds, &r->chemistry_seconds, 1, MPI_DOUBLE, MPI_MAX,
		MPI_COMM_WORLD);
	r->stats = surrogate_sum(s);
	r->imbalance = grid_imbalance(r->grid);
	surrogate_free(s);
	free(mine);
	free(answers);
	free(changes);
	free(counts);
}

/* difference compares a species of two runs cell by cell, as parts of its largest value. */
static void difference(const run *r, const run *exact, int species, double *worst, double *mean)
{
	size_t cells = (size_t)r->grid->width * r->grid->height;
	double most = 0, sum = 0;
	*worst = 0;
	for (size_t i = species; i < cells * SPECIES; i += SPECIES) {
		double error = fabs(r->grid->cells[i] - exact->grid->cells[i]);
		*worst = fmax(*worst, error);
		most = fmax(most, exact->grid->cells[i]);
		sum += error;
	}
	*worst /= most;
	*mean = sum / cells / most;
}

/* checksum is a number that differs when a bit of the field does: FNV-1a. */
static uint64_t checksum(const grid *g)
{
	const unsigned char *bytes = (const unsigned char *)g->cells;
	uint64_t sum = 0xcbf29ce484222325;
	for (size_t i = 0; i < (size_t)g->width * g->height * SPECIES * sizeof(double); i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3;
	return sum;
}

static void print_run(const run *r, const run *exact)
{
	const surrogate_stats *s = &r->stats;
	if (r->digits == EXACT)
		printf("no cache");
	else
		printf("%8d", r->digits);
	printf(" %9llu", (unsigned long long)s->computed);
	if (r->digits == EXACT)
		printf(" %7s %7s", "-", "-");
	else
		printf(" %5.1f %% %5.1f %%", 100.0 * s->hits / s->cells, 100.0 * s->same / s->cells);
	printf(" %10.3f %8.3f", r->chemistry_seconds, r->seconds);
	if (exact && r != exact)
		printf(" %6.1f %%", 100 * (1 - r->seconds / exact->seconds));
	else
		printf(" %8s", "-");
	printf("   %.1e   %016llx\n", r->imbalance, (unsigned long long)checksum(r->grid));
	if (s->evicted)
		printf("         %llu results were lost: the cache was too small\n",
			(unsigned long long)s->evicted);
}

static void print_errors(const run *runs, int n)
{
	printf("\nerror     ");
	for (int r = 1; r < n; r++)
		printf("    %2d digits        ", runs[r].digits);
	printf("\n          ");
	for (int r = 1; r < n; r++)
		printf("    largest     mean ");
	for (int s = 0; s < SPECIES; s++) {
		printf("\n%-10s", species_names[s]);
		for (int r = 1; r < n; r++) {
			double worst, mean;
			difference(&runs[r], &runs[0], s, &worst, &mean);
			printf("    %.1e  %.1e ", worst, mean);
		}
	}
	printf("\n");
}

static void draw(const options *o, const run *runs, int n)
{
	panel panels[MAX_RUNS + 1];
	char titles[MAX_RUNS + 1][32];
	const char *message;
	for (int r = 0; r < n; r++) {
		snprintf(titles[r], sizeof titles[r], runs[r].digits == EXACT ? "no cache" : "%d digits",
			runs[r].digits);
		panels[r] = (panel){titles[r], runs[r].grid->cells};
	}
	if (picture_write(o->picture, o->width, o->height, panels, n, &message))
		fail(o->picture, message);
}

static void simulate_all(const options *o)
{
	run runs[MAX_RUNS + 1] = {0};
	double fresh[SPECIES];
	int n = 0;
	if (o->compare || o->no_cache)
		runs[n++].digits = EXACT;
	for (int i = 0; i < o->runs; i++)
		runs[n++].digits = o->digits[i];
	if (rank == 0)
		printf("%ldx%ld cells, %ld steps of %g hours: %ld times chemistry, %d rank%s\n\n"
			"  digits  computed    hits   alike  chemistry  seconds     gain  imbalance  "
			"checksum\n",
			o->width, o->height, o->steps, o->hours, o->width * o->height * o->steps, ranks,
			ranks == 1 ? "" : "s");
	fresh_water(fresh);
	for (int r = 0; r < n; r++) {
		simulate(&runs[r], o, fresh);
		if (rank == 0)
			print_run(&runs[r], o->compare ? &runs[0] : NULL);
		fflush(stdout);
	}
	if (rank == 0 && o->compare)
		print_errors(runs, n);
	if (rank == 0 && o->picture)
		draw(o, runs, n);
	for (int r = 0; r < n; r++)
		grid_free(runs[r].grid);
}

/* cannot_draw reports before the work why no picture could be written. */
static const char *cannot_draw(const options *o)
{
	static char complaint[300];
	int wrong = 0;
	if (rank == 0 && o->picture) {
		FILE *file = fopen(o->picture, "ab");
		wrong = file ? fclose(file) : errno;
		snprintf(complaint, sizeof complaint, "--picture %.200s: %s", o->picture,
			strerror(wrong));
	}
	MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return wrong ? complaint : NULL;
}

int main(int argc, char **argv)
{
	options o;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	const char *bad = read_options(argc, argv, &o);
	if (!bad)
		bad = cannot_draw(&o);
	if (!bad && o.help && rank == 0)
		fputs(usage, stdout);
	else if (bad && rank == 0)
		fprintf(stderr, "reactive: %s (--help lists the options)\n", bad);
	if (!bad && !o.help)
		simulate_all(&o);
	MPI_Finalize();
	return bad ? 2 : 0;
}
