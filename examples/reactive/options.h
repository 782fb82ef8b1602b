/* The command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

enum { MAX_RUNS = 8 };

typedef struct options {
	int digits[MAX_RUNS], runs; /* of the runs with the cache */
	int compare, no_cache, progress, help;
	long width, height, steps;
	long buckets; /* 0: as many as useful */
	double hours; /* of a step */
	const char *picture;
} options;

extern const char usage[];

/* read_options returns what is wrong with the arguments, or NULL. */
const char *read_options(int argc, char **argv, options *o);

#endif
