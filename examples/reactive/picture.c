/* The picture: a row for each of some species, a column for each run, and colour bars. */
#include "reactive.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>

enum { ROWS = 3, PANEL = 300, MARGIN = 16, TITLE = 30, BAR = 110 };
static const int shown[ROWS] = {MAGNESIUM, CALCITE, DOLOMITE};

/* Colours of the map viridis, nine of its 256; between them it is linear enough. */
static const double colours[][3] = {{.267, .005, .329}, {.279, .175, .483}, {.230, .322, .546},
	{.173, .449, .558}, {.128, .567, .551}, {.158, .684, .502}, {.369, .789, .383},
	{.678, .864, .190}, {.993, .906, .144}};
enum { COLOURS = sizeof colours / sizeof *colours };

static void set_colour(cairo_t *cr, double part)
{
	double at = fmin(fmax(part, 0), 1) * (COLOURS - 1);
	int i = at < COLOURS - 1 ? (int)at : COLOURS - 2;
	double f = at - i;
	cairo_set_source_rgb(cr, colours[i][0] + f * (colours[i + 1][0] - colours[i][0]),
		colours[i][1] + f * (colours[i + 1][1] - colours[i][1]),
		colours[i][2] + f * (colours[i + 1][2] - colours[i][2]));
}

static void text(cairo_t *cr, double x, double y, double size, const char *words)
{
	cairo_set_source_rgb(cr, .1, .1, .1);
	cairo_set_font_size(cr, size);
	cairo_move_to(cr, x, y);
	cairo_show_text(cr, words);
}

static void draw_cells(cairo_t *cr, const panel *p, int species, int width, int height,
	double most)
{
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			set_colour(cr, p->cells[((size_t)y * width + x) * SPECIES + species] / most);
			/* A bit wider than a cell, so that nothing shines through between them. */
			cairo_rectangle(cr, x, y, x + 1 < width ? 1.05 : 1, y + 1 < height ? 1.05 : 1);
			cairo_fill(cr);
		}
}

static void draw_bar(cairo_t *cr, double x, double y, double height, double most)
{
	enum { STEPS = 64, TICKS = 4, WIDTH = 14 };
	char label[32];
	for (int i = 0; i < STEPS; i++) {
		set_colour(cr, (i + .5) / STEPS);
		cairo_rectangle(cr, x, y + height * (STEPS - 1 - i) / STEPS, WIDTH, height / STEPS + .5);
		cairo_fill(cr);
	}
	for (int i = 0; i <= TICKS; i++) {
		snprintf(label, sizeof label, "%.2f", most * 1e3 * i / TICKS);
		text(cr, x + WIDTH + 5, y + height - height * i / TICKS + (i == TICKS ? 9 : i ? 4 : 0), 11,
			label);
	}
}

/* draw_row draws a species of all runs, by one scale. */
static void draw_row(cairo_t *cr, int species, int width, int height, const panel *panels, int n,
	double size)
{
	double most = 1e-30;
	for (int p = 0; p < n; p++)
		for (size_t i = 0; i < (size_t)width * height; i++)
			most = fmax(most, panels[p].cells[i * SPECIES + species]);
	for (int p = 0; p < n; p++) {
		char title[100];
		double left = MARGIN + p * (PANEL + MARGIN);
		snprintf(title, sizeof title, "%s, %s", species_names[species], panels[p].title);
		text(cr, left, TITLE - 9, 14, title);
		cairo_save(cr);
		cairo_translate(cr, left, TITLE);
		cairo_scale(cr, (double)PANEL / width, size / height);
		draw_cells(cr, &panels[p], species, width, height, most);
		cairo_restore(cr);
	}
	double bar = MARGIN + n * (PANEL + MARGIN);
	draw_bar(cr, bar, TITLE, size, most);
	text(cr, bar, TITLE - 9, 11, "mmol per litre");
}

int picture_write(const char *path, int width, int height, const panel *panels, int n,
	const char **message)
{
	double size = fmax(60, fmin(3 * PANEL, (double)PANEL * height / width));
	int row = TITLE + (int)size + MARGIN / 2;
	cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
		MARGIN + n * (PANEL + MARGIN) + BAR, ROWS * row + MARGIN);
	cairo_t *cr = cairo_create(surface);
	cairo_set_source_rgb(cr, 1, 1, 1);
	cairo_paint(cr);
	cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_antialias(cr, CAIRO_ANTIALIAS_NONE);
	for (int r = 0; r < ROWS; r++) {
		cairo_save(cr);
		cairo_translate(cr, 0, r * row);
		draw_row(cr, shown[r], width, height, panels, n, size);
		cairo_restore(cr);
	}
	cairo_status_t status = cairo_status(cr);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png(surface, path);
	*message = cairo_status_to_string(status);
	cairo_destroy(cr);
	cairo_surface_destroy(surface);
	return status == CAIRO_STATUS_SUCCESS ? 0 : -1;
}
