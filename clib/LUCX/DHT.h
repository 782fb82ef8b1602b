/* The interface of MPI-DHT under its other name; see MPI/DHT.h. */
#ifndef LUCX_DHT_H
#define LUCX_DHT_H

#ifndef LUCX_MPI_IMPL
#error "farhash has the interface of MPI-DHT on MPI; compile with -DLUCX_MPI_IMPL"
#endif

#include "MPI/DHT.h"

#endif
