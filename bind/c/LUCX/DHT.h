/* The interface of MPI-DHT under its other name; see MPI/DHT.h. */
#include "MPI/DHT.h"
