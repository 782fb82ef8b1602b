! A simulation whose ranks share results: each reads the cache before it computes.
!
!   mpifort -c $PREFIX/include/farhash.f90
!   mpifort cache.f90 farhash.o -L$PREFIX/lib -lfarhash-openmpi -Wl,-rpath,$PREFIX/lib -o cache
!   mpirun -n 4 ./cache
program shared_results
  use mpi
  use farhash
  implicit none

  integer, parameter :: cells = 20000, inputs = 3, outputs = 2, steps = 5
  integer(c_int32_t), parameter :: digits(1) = [4]
  type(c_ptr) :: job, cache
  type(farhash_cache_stats) :: total
  real(c_double), target :: key(inputs), value(outputs)
  real(c_double) :: no_floors(0), sum
  integer :: ierr, rank, size, cell, step, computed

  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, size, ierr)
  call must(farhash_join_comm(mpi_comm_world, job))
  call must(farhash_cache_new(job, farhash_cache_config(key_size=8 * inputs, &
    value_size=8 * outputs, buckets=100000), cache))

  computed = 0
  sum = 0
  do step = 1, steps
    do cell = rank, cells - 1, size
      key = [real(c_double) :: 20 + mod(cell, 1000) * 1d-2 + step * 1d-9, 1, step / 3]
      call must(farhash_round(key, 3_c_size_t, digits, 1_c_size_t, no_floors, 0_c_size_t))
      if (must_be(farhash_cache_get(cache, c_loc(key), c_loc(value))) == farhash_miss) then
        value = [exp(-key(1) / 10), key(1) * key(2) + key(3)] ! imagine something that takes long
        computed = computed + 1
        call must(farhash_cache_put(cache, c_loc(key), c_loc(value)))
      end if
      sum = sum + value(1)
    end do
    call mpi_barrier(mpi_comm_world, ierr)
  end do

  call must(farhash_cache_total(cache, total))
  if (total%hits + total%misses /= int(cells, c_int64_t) * steps) error stop 'wrong statistics'
  if (total%hits * 10 < total%misses * 9) error stop 'the cache is of no use'
  if (rank == 0) print '(i0, a, i0, a, f5.1, a)', total%hits + total%misses, &
    ' results, computed ', total%misses, ' of them: ', &
    100d0 * total%misses / (total%hits + total%misses), ' %'
  call must(farhash_job_close(job))
  call mpi_finalize(ierr)

contains

  integer function must_be(code)
    integer(c_int), intent(in) :: code
    if (code < 0) then
      print '(a)', farhash_last_error()
      call mpi_abort(mpi_comm_world, 1, ierr)
    end if
    must_be = code
  end function

  subroutine must(code)
    integer(c_int), intent(in) :: code
    if (must_be(code) < 0) stop 1
  end subroutine
end program
