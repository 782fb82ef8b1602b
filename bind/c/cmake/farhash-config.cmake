# Targets of an installed farhash. find_package(farhash) has
#
#   farhash::farhash   sets and caches, without MPI
#   farhash::openmpi   the same for Open MPI, if it is installed
#   farhash::mpich     the same for MPICH
#   farhash::mpi       that of these two which the MPI of find_package(MPI), called before, needs
#   farhash::dht       the interface of MPI-DHT (LUCX/DHT.h), for the MPI of find_package(MPI)
#   farhash::dht_poet  the same library with the interface of POET 0.4 (DHT.h)
#   farhash::dht_pht   the same with the later one (LUCX/DHT.h and LUCX/PHT.h)
#
# Link what belongs to an MPI together with MPI::MPI_C.
get_filename_component(_farhash_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

function(_farhash_library target name)
  set(file "${_farhash_prefix}/lib/lib${name}.so")
  if(EXISTS "${file}" AND NOT TARGET farhash::${target})
    add_library(farhash::${target} SHARED IMPORTED)
    set_target_properties(farhash::${target} PROPERTIES
      IMPORTED_LOCATION "${file}"
      INTERFACE_INCLUDE_DIRECTORIES "${_farhash_prefix}/include"
      INTERFACE_LINK_LIBRARIES "${ARGN}")
  endif()
endfunction()

_farhash_library(farhash farhash)
_farhash_library(openmpi farhash-openmpi)
_farhash_library(mpich farhash-mpich)
set(_farhash_mpi "")
if(MPI_C_LIBRARY_VERSION_STRING MATCHES "^Open MPI" OR MPI_C_INCLUDE_DIRS MATCHES "openmpi")
  set(_farhash_mpi openmpi)
elseif(MPI_C_LIBRARY_VERSION_STRING MATCHES "^MPICH" OR MPI_C_INCLUDE_DIRS MATCHES "mpich")
  set(_farhash_mpi mpich)
endif()
if(_farhash_mpi AND TARGET farhash::${_farhash_mpi})
  if(NOT TARGET farhash::mpi)
    add_library(farhash::mpi INTERFACE IMPORTED)
    set_target_properties(farhash::mpi PROPERTIES
      INTERFACE_LINK_LIBRARIES farhash::${_farhash_mpi})
  endif()
  _farhash_library(dht farhash_dht-${_farhash_mpi} farhash::${_farhash_mpi})
  if(TARGET farhash::dht)
    set_property(TARGET farhash::dht APPEND PROPERTY
      INTERFACE_COMPILE_DEFINITIONS LUCX_MPI_IMPL)
    foreach(_farhash_folder poet pht)
      _farhash_library(dht_${_farhash_folder} farhash_dht-${_farhash_mpi} farhash::${_farhash_mpi})
      set_property(TARGET farhash::dht_${_farhash_folder} PROPERTY INTERFACE_INCLUDE_DIRECTORIES
        "${_farhash_prefix}/include/farhash/${_farhash_folder};${_farhash_prefix}/include")
    endforeach()
  endif()
endif()

if(NOT TARGET farhash::farhash)
  set(farhash_FOUND FALSE)
  set(farhash_NOT_FOUND_MESSAGE "there is no ${_farhash_prefix}/lib/libfarhash.so")
endif()
