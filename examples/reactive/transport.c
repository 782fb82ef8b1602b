/* Advection: water moves over the grid and takes the solutes with it.
 *
 * The water flows from the left to the right, at the same speed everywhere. The water that enters is
 * brackish in the upper half and fresh in the lower one, and the rows mix a little with their
 * neighbours, by dispersion. Solutes go by the first-order upwind scheme, explicit in time:
 * each cell gives its neighbour downstream a part of its water. What a cell gives the other
 * gets, hence nothing is lost. The scheme smears fronts, which is dispersion along the flow.
 *
 * Every rank moves the water of the whole grid: it takes less time than to talk about it.
 */
#include "reactive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a cell's water that flow on, and that are exchanged with each of the cells above
 * and below, in a step. If they were more than 1 together, the scheme would not be stable. */
#define FLOW 0.5
#define EXCHANGE 0.01

#define INITIAL_CALCITE 1e-3 /* mol per litre of water */

/* contents is how much of each element the grid holds; alkalinity counts as one. */
static void contents(const grid *g, double *elements)
{
	memset(elements, 0, SOLUTES * sizeof *elements);
	for (size_t i = 0; i < (size_t)g->width * g->height; i++) {
		const double *cell = g->cells + i * SPECIES;
		for (int s = 0; s < SOLUTES; s++)
			elements[s] += cell[s];
		elements[CARBON] += cell[CALCITE] + 2 * cell[DOLOMITE];
		elements[ALKALINITY] += 2 * cell[CALCITE] + 4 * cell[DOLOMITE];
		elements[CALCIUM] += cell[CALCITE] + cell[DOLOMITE];
		elements[MAGNESIUM] += cell[DOLOMITE];
	}
}

grid *grid_new(int width, int height, const double *fresh)
{
	size_t cells = (size_t)width * height;
	grid *g = calloc(1, sizeof *g);
	if (!g)
		return NULL;
	g->width = width;
	g->height = height;
	g->cells = malloc(cells * SPECIES * sizeof(double));
	g->before = malloc(cells * SOLUTES * sizeof(double));
	if (!g->cells || !g->before) {
		grid_free(g);
		return NULL;
	}
	for (size_t i = 0; i < cells; i++) {
		memcpy(g->cells + i * SPECIES, fresh, SOLUTES * sizeof(double));
		g->cells[i * SPECIES + CALCITE] = INITIAL_CALCITE;
		g->cells[i * SPECIES + DOLOMITE] = 0;
	}
	contents(g, g->initially);
	return g;
}

void grid_free(grid *g)
{
	if (!g)
		return;
	free(g->cells);
	free(g->before);
	free(g);
}

/* give lets a cell have part of the water of another. */
static void give(grid *g, size_t from, size_t to, double part)
{
	for (int s = 0; s < SOLUTES; s++) {
		double solute = part * g->before[from * SOLUTES + s];
		g->cells[from * SPECIES + s] -= solute;
		g->cells[to * SPECIES + s] += solute;
	}
}

/* border lets water into a row on the left, and out on the right. */
static void border(grid *g, size_t first, size_t last, const double *water)
{
	for (int s = 0; s < SOLUTES; s++) {
		double in = FLOW * water[s], out = FLOW * g->before[last * SOLUTES + s];
		g->cells[first * SPECIES + s] += in;
		g->cells[last * SPECIES + s] -= out;
		g->entered[s] += in;
		g->left[s] += out;
	}
}

void grid_flow(grid *g, const double *fresh, const double *brackish)
{
	size_t w = g->width, h = g->height;
	for (size_t i = 0; i < w * h; i++)
		memcpy(g->before + i * SOLUTES, g->cells + i * SPECIES, SOLUTES * sizeof(double));
	for (size_t y = 0; y < h; y++) {
		size_t row = y * w;
		border(g, row, row + w - 1, y < h / 2 ? brackish : fresh);
		for (size_t x = 1; x < w; x++)
			give(g, row + x - 1, row + x, FLOW);
		for (size_t x = 0; x < w && y > 0; x++) {
			give(g, row + x, row + x - w, EXCHANGE);
			give(g, row + x - w, row + x, EXCHANGE);
		}
	}
}

double grid_imbalance(const grid *g)
{
	double now[SOLUTES], worst = 0;
	contents(g, now);
	for (int s = 0; s < SOLUTES; s++) {
		double had = g->initially[s] + g->entered[s];
		worst = fmax(worst, fabs(had - g->left[s] - now[s]) / had);
	}
	return worst;
}
