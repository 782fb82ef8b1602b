/* The chemistry of one cell: water with carbonate, and the minerals calcite and dolomite.
 *
 *   calcite   CaCO3          = Ca++ + CO3--
 *   dolomite  CaMg(CO3)2     = Ca++ + Mg++ + 2 CO3--
 *
 * Reactions between dissolved species are fast: they are in equilibrium at all times (speciate).
 * The minerals dissolve and precipitate slowly, by the rates of Palandri and Kharaka (A
 * compilation of rate parameters of water-mineral interaction kinetics, USGS Open File Report
 * 2004-1068), for 25 degrees. What CVODE integrates is how far these two reactions have gone;
 * all nine species follow from that, and elements are conserved to the last bit.
 *
 * It is stiff: calcite comes to equilibrium within minutes, dolomite within hours, and a step is
 * some hours. Hence the BDF method, with Newton's iteration and a dense solver.
 */
#include "reactive.h"

#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

const char *const species_names[SPECIES] = {"carbon", "alkalinity", "calcium", "magnesium",
	"sodium", "chloride", "sulphate", "calcite", "dolomite"};

/* Of the integration: errors are below what rounding to 6 digits makes. */
#define RELATIVE_TOLERANCE 1e-6
#define ABSOLUTE_TOLERANCE 1e-11 /* mol per litre */

/* What a mol of each mineral adds to the water, and takes from the rock. */
enum { MINERALS = 2 };
static const double stoichiometry[MINERALS][SPECIES] = {
	{[CARBON] = 1, [ALKALINITY] = 2, [CALCIUM] = 1, [CALCITE] = -1},
	{[CARBON] = 2, [ALKALINITY] = 4, [CALCIUM] = 1, [MAGNESIUM] = 1, [DOLOMITE] = -1},
};

/* Equilibrium constants at 25 degrees, from phreeqc.dat of PHREEQC 2 (Parkhurst and Appelo,
 * USGS Water-Resources Investigations Report 99-4259). The association of ... */
#define K_WATER 1e-14            /* H2O = H+ + OH- */
#define K_HCO3 2.1330449131e10   /* CO3-- + H+: 10^10.329 */
#define K_CO2 4.7973344864e16    /* CO3-- + 2 H+: 10^16.681 */
#define K_CACO3 1.6749428760e3   /* Ca++ + CO3--: 10^3.224 */
#define K_CAHCO3 2.7227013081e11 /* Ca++ + CO3-- + H+: 10^11.435 */
#define K_MGCO3 9.5499258602e2   /* Mg++ + CO3--: 10^2.98 */
#define K_MGHCO3 2.5061092530e11 /* Mg++ + CO3-- + H+: 10^11.399 */
#define K_NAHCO3 1.1994993031e10 /* Na+ + CO3-- + H+: 10^10.079 */
#define K_CASO4 1.9952623150e2   /* Ca++ + SO4--: 10^2.3 */
#define K_MGSO4 2.3442288153e2   /* Mg++ + SO4--: 10^2.37 */
#define K_NASO4 5.0118723363     /* Na+ + SO4--: 10^0.7 */
/* ... the solubility of the minerals and of carbon dioxide. */
#define K_CALCITE 3.3113112148e-9   /* 10^-8.48 */
#define K_DOLOMITE 8.1283051616e-18 /* 10^-17.09 */
#define K_GAS 3.4040818970e-2       /* mol per litre and atmosphere: 10^-1.468 */

/* The water of a cell as speciate finds it. Lower case: molalities of free ions. */
typedef struct water {
	double h;              /* activity of H+ */
	double co3;            /* activity of CO3-- */
	double ca, mg, na, so4;
	double strength;       /* ionic strength */
	double calcite, dolomite; /* how many times saturated */
	double co2;            /* partial pressure, atmospheres */
} water;

/* acidity solves the balance of alkalinity for ln h by Newton's method. All the carbonate is
 * co3 (p + q h + r h^2), of which the alkalinity is co3 (2 p + q h): one unknown. It falls
 * with h everywhere, so there is one solution. */
static double acidity(double ln_h, double carbon, double alkalinity, double p, double q,
	double gamma1)
{
	for (int i = 0; i < 100; i++) {
		double h = exp(ln_h), r = K_CO2;
		double all = p + q * h + r * h * h, part = 2 * p + q * h;
		double error = carbon * part / all + (K_WATER / h - h) / gamma1 - alkalinity;
		double slope = carbon * h * (q * all - part * (q + 2 * r * h)) / (all * all) -
			(K_WATER / h + h) / gamma1;
		double move = fmax(-2, fmin(2, -error / slope));
		ln_h += move;
		if (fabs(move) < 1e-13)
			break;
	}
	return ln_h;
}

/* speciate finds the equilibrium of the dissolved species. w holds a guess: substitution from
 * it, as in the programs of the WATEQ family, converges because ion pairs hold little of the
 * ions. Activity coefficients follow Davies: the one of charge 2 is the one of 1 to the 4th. */
static int speciate(const double *cell, water *w)
{
	for (int i = 0; i < 200; i++) {
		double root = sqrt(w->strength), ca = w->ca, mg = w->mg, ln_h = log(w->h);
		double gamma1 = exp(-0.509 * M_LN10 * (root / (1 + root) - 0.3 * w->strength));
		double gamma2 = gamma1 * gamma1 * gamma1 * gamma1;

		/* Carbonate with 0 and with 1 hydrogen, for an activity of CO3-- (and H+) of 1. */
		double p = 1 / gamma2 + gamma2 * (K_CACO3 * ca + K_MGCO3 * mg);
		double q = K_HCO3 / gamma1 + gamma2 / gamma1 * (K_CAHCO3 * ca + K_MGHCO3 * mg) +
			gamma1 * K_NAHCO3 * w->na;
		double next = acidity(ln_h, cell[CARBON], cell[ALKALINITY], p, q, gamma1);
		w->h = exp(next);
		w->co3 = cell[CARBON] / (p + q * w->h + K_CO2 * w->h * w->h);

		double hco3 = w->co3 * w->h / gamma1, so4 = gamma2 * w->so4;
		w->ca = cell[CALCIUM] / (1 + gamma2 * (K_CACO3 * w->co3 + K_CAHCO3 * hco3 + K_CASO4 * so4));
		w->mg = cell[MAGNESIUM] / (1 + gamma2 * (K_MGCO3 * w->co3 + K_MGHCO3 * hco3 +
			K_MGSO4 * so4));
		w->na = cell[SODIUM] / (1 + gamma1 * gamma1 * K_NAHCO3 * hco3 + K_NASO4 * so4);
		w->so4 = cell[SULPHATE] / (1 + gamma2 * gamma2 * (K_CASO4 * w->ca + K_MGSO4 * w->mg) +
			gamma2 * K_NASO4 * w->na);

		double single = w->na + cell[CHLORIDE] + (w->h + K_WATER / w->h) / gamma1 +
			hco3 * (K_HCO3 + gamma2 * (K_CAHCO3 * w->ca + K_MGHCO3 * w->mg)) +
			K_NASO4 * w->na * so4;
		double dual = w->ca + w->mg + w->so4 + w->co3 / gamma2;
		w->strength = (single + 4 * dual) / 2;
		if (fabs(next - ln_h) < 1e-12 && fabs(w->ca - ca) <= 1e-12 * ca &&
			fabs(w->mg - mg) <= 1e-12 * mg) {
			w->calcite = gamma2 * w->ca * w->co3 / K_CALCITE;
			w->dolomite = gamma2 * gamma2 * w->ca * w->mg * w->co3 * w->co3 / K_DOLOMITE;
			w->co2 = K_CO2 * w->h * w->h * w->co3 / K_GAS;
			return 0;
		}
	}
	return -1;
}

/* Surface of the grains, m^2 per mol: 2 m^2 per gram, as chalk has. Precipitation of a mineral
 * that is not there begins on the surface of other grains, as if there were a little of it.
 * mol may be a little below 0 where CVODE tries: the rate then leads back. */
#define CALCITE_SURFACE 200.0
#define DOLOMITE_SURFACE 370.0
#define SEED 1e-6 /* mol per litre */

static double surface(double per_mol, double mol, double saturation)
{
	return per_mol * (saturation > 1 ? mol + SEED : mol);
}

/* rates of dissolution in mol per litre and second; below 0 the minerals precipitate. By acid,
 * by water and by carbon dioxide. */
static void rates(const double *cell, const water *w, double *rate)
{
	double calcite = 0.50118723363 * w->h + 1.5488166189e-6 + 3.3113112148e-4 * w->co2;
	double dolomite = 6.4565422903e-4 * sqrt(w->h) + 2.9512092267e-8 +
		7.7624711663e-6 * sqrt(w->co2);
	rate[0] = surface(CALCITE_SURFACE, cell[CALCITE], w->calcite) * calcite * (1 - w->calcite);
	rate[1] = surface(DOLOMITE_SURFACE, cell[DOLOMITE], w->dolomite) * dolomite *
		(1 - w->dolomite);
}

struct chemistry {
	SUNContext context;
	N_Vector extents; /* mol per litre that have dissolved in this step, of each mineral */
	SUNMatrix jacobian;
	SUNLinearSolver solver;
	void *cvode;
	const double *start; /* the cell as it was */
	water now;
};

/* progress is a cell after so much of each mineral has dissolved. */
static void progress(const double *before, const double *extents, double *after)
{
	for (int s = 0; s < SPECIES; s++)
		after[s] = before[s] + stoichiometry[0][s] * extents[0] + stoichiometry[1][s] * extents[1];
}

/* guess is where speciate begins: always there, as results must not depend on the cell before. */
static water guess(const double *cell)
{
	return (water){.h = 1e-8, .ca = cell[CALCIUM], .mg = cell[MAGNESIUM], .na = cell[SODIUM],
		.so4 = cell[SULPHATE], .strength = 0.01};
}

/* slopes is how fast the minerals dissolve, after so much of them has. */
static int slopes(chemistry *c, const double *extents, double *rate)
{
	double cell[SPECIES];
	progress(c->start, extents, cell);
	if (cell[CARBON] <= 0 || cell[CALCIUM] < 0 || cell[MAGNESIUM] < 0)
		return 1; /* CVODE tries a smaller step then */
	if (speciate(cell, &c->now)) {
		c->now = guess(c->start);
		return 1;
	}
	rates(cell, &c->now, rate);
	return 0;
}

/* The right-hand side for CVODE. */
static int right_side(sunrealtype t, N_Vector y, N_Vector dy, void *user)
{
	(void)t;
	return slopes(user, N_VGetArrayPointer(y), N_VGetArrayPointer(dy));
}

/* Its Jacobian, by differences. Those that CVODE takes itself are as small as y, which begins
 * at 0, and drown in the last digits of the species. */
static int jacobian(sunrealtype t, N_Vector y, N_Vector dy, SUNMatrix j, void *user, N_Vector a,
	N_Vector b, N_Vector d)
{
	const double difference = 1e-10; /* mol per litre */
	const double *at = N_VGetArrayPointer(y), *rate = N_VGetArrayPointer(dy);
	(void)t, (void)a, (void)b, (void)d;
	for (int m = 0; m < MINERALS; m++) {
		double beside[MINERALS] = {at[0], at[1]}, there[MINERALS];
		beside[m] += difference;
		if (slopes(user, beside, there))
			return 1;
		for (int i = 0; i < MINERALS; i++)
			SM_ELEMENT_D(j, i, m) = (there[i] - rate[i]) / difference;
	}
	return 0;
}

static void quiet(int code, const char *module, const char *function, char *text, void *user)
{
	(void)code, (void)module, (void)function, (void)text, (void)user;
}

chemistry *chemistry_new(void)
{
	chemistry *c = calloc(1, sizeof *c);
	if (!c || SUNContext_Create(NULL, &c->context))
		goto failed;
	c->extents = N_VNew_Serial(MINERALS, c->context);
	c->jacobian = SUNDenseMatrix(MINERALS, MINERALS, c->context);
	c->cvode = CVodeCreate(CV_BDF, c->context);
	if (!c->extents || !c->jacobian || !c->cvode)
		goto failed;
	N_VConst(0, c->extents);
	c->solver = SUNLinSol_Dense(c->extents, c->jacobian, c->context);
	if (!c->solver || CVodeInit(c->cvode, right_side, 0, c->extents) ||
		CVodeSStolerances(c->cvode, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE) ||
		CVodeSetLinearSolver(c->cvode, c->solver, c->jacobian) ||
		CVodeSetJacFn(c->cvode, jacobian) ||
		CVodeSetErrHandlerFn(c->cvode, quiet, NULL) || CVodeSetUserData(c->cvode, c) ||
		CVodeSetMaxNumSteps(c->cvode, 20000))
		goto failed;
	return c;
failed:
	chemistry_free(c);
	return NULL;
}

void chemistry_free(chemistry *c)
{
	if (!c)
		return;
	CVodeFree(&c->cvode);
	if (c->solver)
		SUNLinSolFree(c->solver);
	if (c->jacobian)
		SUNMatDestroy(c->jacobian);
	if (c->extents)
		N_VDestroy(c->extents);
	SUNContext_Free(&c->context);
	free(c);
}

int chemistry_react(chemistry *c, const double *cell, double seconds, double *results)
{
	double end[SPECIES], *extents = N_VGetArrayPointer(c->extents);
	sunrealtype reached;
	c->start = cell;
	c->now = guess(cell);
	N_VConst(0, c->extents);
	if (CVodeReInit(c->cvode, 0, c->extents) || CVodeSetStopTime(c->cvode, seconds) ||
		CVode(c->cvode, seconds, c->extents, &reached, CV_NORMAL) < 0)
		return -1;
	progress(cell, extents, end);
	if (speciate(end, &c->now))
		return -1;
	for (int s = 0; s < SPECIES; s++)
		results[s] = stoichiometry[0][s] * extents[0] + stoichiometry[1][s] * extents[1];
	results[PH] = -log10(c->now.h);
	results[INDEX_CALCITE] = log10(fmax(c->now.calcite, 1e-99));
	results[INDEX_DOLOMITE] = log10(fmax(c->now.dolomite, 1e-99));
	results[IONIC_STRENGTH] = c->now.strength;
	return 0;
}

void chemistry_add(double *cell, const double *changes)
{
	/* How far each reaction goes, not each change: what leaves the rock is what the water gets. */
	double part = 1, before[SPECIES], extents[MINERALS] = {
		fmin(-changes[CALCITE], cell[CALCITE]), fmin(-changes[DOLOMITE], cell[DOLOMITE])};
	memcpy(before, cell, sizeof before);
	progress(before, extents, cell);
	for (int s = 0; s < SOLUTES; s++)
		if (cell[s] < 0)
			part = fmin(part, before[s] / (before[s] - cell[s]));
	if (part < 1)
		progress(before, (double[]){part * extents[0], part * extents[1]}, cell);
}
