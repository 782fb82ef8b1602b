//go:build !mpi

#include "library.h"

const char *farhash_mpi_library(void) { return ""; }

const char *farhash_mpi_built_for(void) { return ""; }
