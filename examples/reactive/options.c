/* The command line. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char usage[] =
	"usage: mpirun -n RANKS reactive [options]\n"
	"  --digits LIST    round to so many significant digits: 4, or 3,4,5,6 for several runs\n"
	"  --compare        run without the cache first, and report time saved and errors made\n"
	"  --no-cache       run without the cache only\n"
	"  --grid WxH       cells (60x40)\n"
	"  --steps N        time steps (60)\n"
	"  --hours H        length of a time step (6)\n"
	"  --buckets N      results that the cache has room for, in all ranks (all, but at most 500000)\n"
	"  --picture FILE   draw the fields of all runs at the end, as a PNG\n"
	"  --progress       show progress also where stderr is no terminal, as under mpirun\n";

enum { HELP = 256 };

static char complaint[200];

static const char *wrong(const char *option, const char *given, const char *expected)
{
	snprintf(complaint, sizeof complaint, "--%s %.60s: expected %s", option, given, expected);
	return complaint;
}

/* number reads an integer up to what ends it. */
static int number(const char **text, long low, long high, long *value)
{
	char *end;
	errno = 0;
	*value = strtol(*text, &end, 10);
	if (end == *text || errno || *value < low || *value > high)
		return -1;
	*text = end;
	return 0;
}

static const char *read_digits(const char *given, options *o)
{
	const char *at = given;
	long digits;
	o->runs = 0;
	do {
		if (o->runs == MAX_RUNS || number(&at, 1, 16, &digits) || (*at != ',' && *at))
			return wrong("digits", given, "up to 8 numbers from 1 to 16, as 3,4,5");
		o->digits[o->runs++] = digits;
	} while (*at++);
	return NULL;
}

static const char *read_number(const char *option, const char *given, long low, long high,
	long *value)
{
	const char *at = given;
	char expected[80];
	if (number(&at, low, high, value) == 0 && !*at)
		return NULL;
	snprintf(expected, sizeof expected, "a number from %ld to %ld", low, high);
	return wrong(option, given, expected);
}

static const char *read_grid(const char *given, options *o)
{
	const char *at = given;
	if (number(&at, 2, 100000, &o->width) || *at++ != 'x' || number(&at, 2, 100000, &o->height) ||
		*at || o->width * o->height > 10000000)
		return wrong("grid", given, "WIDTHxHEIGHT, at least 2x2 and at most 10 million cells");
	return NULL;
}

static const char *read_hours(const char *given, options *o)
{
	char *end;
	o->hours = strtod(given, &end);
	if (end == given || *end || !(o->hours >= 1e-3 && o->hours <= 1e4))
		return wrong("hours", given, "a number from 0.001 to 10000");
	return NULL;
}

const char *read_options(int argc, char **argv, options *o)
{
	static const struct option names[] = {{"digits", 1, 0, 'd'}, {"compare", 0, 0, 'c'},
		{"no-cache", 0, 0, 'n'}, {"grid", 1, 0, 'g'}, {"steps", 1, 0, 's'}, {"hours", 1, 0, 'h'},
		{"buckets", 1, 0, 'b'}, {"picture", 1, 0, 'p'}, {"progress", 0, 0, 'r'},
		{"help", 0, 0, HELP}, {0}};
	const char *bad = NULL;
	int option, cached = 0;
	*o = (options){.digits = {4}, .runs = 1, .width = 60, .height = 40, .steps = 60, .hours = 6};
	opterr = 0;
	while (!bad && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'd': bad = read_digits(optarg, o); cached = 1; break;
		case 'c': o->compare = 1; break;
		case 'n': o->no_cache = 1; break;
		case 'g': bad = read_grid(optarg, o); break;
		case 's': bad = read_number("steps", optarg, 1, 1000000, &o->steps); break;
		case 'h': bad = read_hours(optarg, o); break;
		case 'b': bad = read_number("buckets", optarg, 1, 1L << 40, &o->buckets); break;
		case 'p': o->picture = optarg; break;
		case 'r': o->progress = 1; break;
		case HELP: o->help = 1; break;
		default:
			snprintf(complaint, sizeof complaint, "%.100s: no such option, or it lacks its value",
				argv[optind - 1]);
			bad = complaint;
		}
	}
	if (!bad && optind < argc) {
		snprintf(complaint, sizeof complaint, "%.100s: not an option", argv[optind]);
		bad = complaint;
	}
	if (!bad && o->no_cache && (cached || o->compare))
		bad = "--no-cache is one run without the cache: leave out --digits and --compare";
	if (o->no_cache)
		o->runs = 0;
	return bad;
}
