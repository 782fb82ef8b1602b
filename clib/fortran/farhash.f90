! The interface of farhash.h for Fortran. farhash(3) is the manual.
!
! A communicator of the module mpi is an integer, and goes to farhash_join_comm as it is; of
! one of the module mpi_f08 that is comm%mpi_val. Keys, values and elements are given by c_loc of a
! contiguous array, functions by c_funloc; what may be NULL in C may be c_null_ptr. Blanks at the
! end of a path do not count. Each program compiles this file.
module farhash
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: farhash_ok = 0, farhash_not_found = 0, farhash_found = 1, &
    farhash_inserted = 2, farhash_full = 3, farhash_miss = 0, farhash_hit = 1, farhash_new = 1, &
    farhash_updated = 2, farhash_evicted = 3
  integer(c_int), parameter :: farhash_error = -1, farhash_error_argument = -2, &
    farhash_error_closed = -3, farhash_error_full = -4, farhash_error_memory = -5, &
    farhash_error_file = -6, farhash_error_format = -7, farhash_error_rank = -8, &
    farhash_error_timeout = -9, farhash_error_unsupported = -10, farhash_error_forked = -11, &
    farhash_error_internal = -12

  ! What a call of a batch of a map does.
  integer(c_int32_t), parameter :: farhash_get = 0, farhash_put = 1, farhash_delete = 2, &
    farhash_put_if_absent = 3, farhash_compare_and_put = 4

  ! How batches reach memory of ranks on other hosts.
  integer(c_int32_t), parameter :: farhash_auto = 0, farhash_one_sided = 1, farhash_shipped = 2

  type, bind(c) :: farhash_set_config
    integer(c_int64_t) :: buckets = 0
    integer(c_int32_t) :: chunk = 0, chunks = 0, depth = 0
    integer(c_int64_t) :: access = 0
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(c) :: farhash_set_stats
    integer(c_int64_t) :: inserted = 0, found = 0, not_found = 0, full = 0, lost_swaps = 0, &
      extra_chunks = 0, longest_probe = 0
  end type

  type, bind(c) :: farhash_elements_config
    type(farhash_set_config) :: set
    integer(c_int64_t) :: element_bytes = 0, capacity = 0
    integer(c_int64_t) :: reserved(4) = 0
  end type

  type, bind(c) :: farhash_cache_config
    integer(c_int64_t) :: key_size = 0, value_size = 0, buckets = 0
    integer(c_int32_t) :: mode = 0, retries = 0, group_buckets = 0, choices = 0, depth = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: reserved(6) = 0
  end type

  type, bind(c) :: farhash_cache_stats
    integer(c_int64_t) :: hits = 0, misses = 0, inserted = 0, updated = 0, evicted = 0, &
      deletes = 0, deleted = 0, mismatches = 0, retries = 0, invalid = 0, lock_waits = 0, &
      locks_broken = 0, occupied = 0
  end type

  type, bind(c) :: farhash_map_config
    integer(c_int64_t) :: slots = 0, bytes = 0
    integer(c_int32_t) :: max_key = 0, max_value = 0, copies = 0, chunk = 0, depth = 0
    integer(c_int32_t) :: access = 0
    integer(c_int32_t) :: reserved(6) = 0
  end type

  type, bind(c) :: farhash_map_call
    integer(c_int32_t) :: kind = 0, result = 0
    type(c_ptr) :: key = c_null_ptr, value = c_null_ptr
    integer(c_size_t) :: key_size = 0, value_size = 0, room = 0
    integer(c_int64_t) :: version = 0
  end type

  type, bind(c) :: farhash_map_stats
    integer(c_int64_t) :: calls(5) = 0, round_trips(5) = 0, lost_swaps = 0
  end type

  ! min_batch is -1 where no batches are shipped; reason ends with c_null_char.
  type, bind(c) :: farhash_shipping
    integer(c_int64_t) :: min_batch = 0, served = 0
    character(c_char) :: reason(240) = c_null_char
  end type

  type, bind(c) :: farhash_index_config
    integer(c_int64_t) :: key_size = 0, value_size = 0
    real(c_double) :: load = 0
    integer(c_int64_t) :: max_memory_bytes = 0, max_copies = 0
    integer(c_int32_t) :: variable = 0, depth = 0
    integer(c_int32_t) :: access = 0
    type(c_ptr) :: note = c_null_ptr
    integer(c_int32_t) :: reserved(4) = 0
  end type

  interface
    integer(c_int) function farhash_join_any(options, job) bind(c, name='farhash_join')
      import :: c_int, c_ptr
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: job
    end function

    integer(c_int) function farhash_join_with(comm, options, job) &
      bind(c, name='farhash_join_fortran_comm')
      import :: c_int, c_int32_t, c_ptr
      integer(c_int32_t), value :: comm
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: job
    end function

    integer(c_int) function farhash_job_rank(job) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: job
    end function

    integer(c_int) function farhash_job_size(job) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: job
    end function

    integer(c_int) function farhash_job_barrier(job) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: job
    end function

    integer(c_int) function farhash_job_close(job) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: job
    end function

    integer(c_int) function farhash_run(ranks, options, function, argument) bind(c)
      import :: c_int, c_int32_t, c_ptr, c_funptr
      integer(c_int32_t), value :: ranks
      type(c_ptr), value :: options, argument
      type(c_funptr), value :: function
    end function

    integer(c_int) function farhash_exclusive(function, argument) bind(c)
      import :: c_int, c_funptr, c_ptr
      type(c_funptr), value :: function
      type(c_ptr), value :: argument
    end function

    integer(c_int) function farhash_set_new(job, config, set) bind(c)
      import :: c_int, c_ptr, farhash_set_config
      type(c_ptr), value :: job
      type(farhash_set_config), intent(in) :: config
      type(c_ptr), intent(out) :: set
    end function

    integer(c_int) function farhash_set_find_or_put(set, word) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: set
      integer(c_int64_t), value :: word
    end function

    integer(c_int) function farhash_set_contains(set, word) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: set
      integer(c_int64_t), value :: word
    end function

    integer(c_int) function farhash_set_find_or_put_batch(set, words, n, results) bind(c)
      import :: c_int, c_ptr, c_int64_t, c_size_t, c_int8_t
      type(c_ptr), value :: set
      integer(c_size_t), value :: n
      integer(c_int64_t), intent(in) :: words(n)
      integer(c_int8_t), intent(out) :: results(n)
    end function

    integer(c_int) function farhash_set_contains_batch(set, words, n, results) bind(c)
      import :: c_int, c_ptr, c_int64_t, c_size_t, c_int8_t
      type(c_ptr), value :: set
      integer(c_size_t), value :: n
      integer(c_int64_t), intent(in) :: words(n)
      integer(c_int8_t), intent(out) :: results(n)
    end function

    integer(c_int) function farhash_set_len(set, words) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: set
      integer(c_int64_t), intent(out) :: words
    end function

    integer(c_int) function farhash_set_buckets(set, buckets) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: set
      integer(c_int64_t), intent(out) :: buckets
    end function

    integer(c_int) function farhash_shipping_get(table, shipping) bind(c)
      import :: c_int, c_ptr, farhash_shipping
      type(c_ptr), value :: table
      type(farhash_shipping), intent(out) :: shipping
    end function

    integer(c_int) function farhash_set_stats_get(set, stats) bind(c)
      import :: c_int, c_ptr, farhash_set_stats
      type(c_ptr), value :: set
      type(farhash_set_stats), intent(out) :: stats
    end function

    integer(c_int) function farhash_set_grow(set, buckets) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: set
      integer(c_int64_t), value :: buckets
    end function

    integer(c_int) function farhash_set_save_c(set, path) bind(c, name='farhash_set_save')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: set
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_set_load_c(set, path) bind(c, name='farhash_set_load')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: set
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_set_check(set) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: set
    end function

    integer(c_int) function farhash_set_close(set) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: set
    end function

    integer(c_int) function farhash_elements_new(job, config, elements) bind(c)
      import :: c_int, c_ptr, farhash_elements_config
      type(c_ptr), value :: job
      type(farhash_elements_config), intent(in) :: config
      type(c_ptr), intent(out) :: elements
    end function

    integer(c_int) function farhash_elements_find_or_put(elements, element) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: elements, element
    end function

    integer(c_int) function farhash_elements_contains(elements, element) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: elements, element
    end function

    integer(c_int) function farhash_elements_find_or_put_batch(elements, batch, n, results, refs) &
      bind(c)
      import :: c_int, c_ptr, c_size_t, c_int8_t
      type(c_ptr), value :: elements, batch, refs
      integer(c_size_t), value :: n
      integer(c_int8_t), intent(out) :: results(n)
    end function

    integer(c_int) function farhash_elements_contains_batch(elements, batch, n, results) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int8_t
      type(c_ptr), value :: elements, batch
      integer(c_size_t), value :: n
      integer(c_int8_t), intent(out) :: results(n)
    end function

    integer(c_int) function farhash_elements_get(elements, ref, element) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: elements, element
      integer(c_int64_t), value :: ref
    end function

    integer(c_int) function farhash_elements_len(elements, n) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: elements
      integer(c_int64_t), intent(out) :: n
    end function

    integer(c_int) function farhash_elements_buckets(elements, buckets) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: elements
      integer(c_int64_t), intent(out) :: buckets
    end function

    integer(c_int) function farhash_elements_stats_get(elements, stats) bind(c)
      import :: c_int, c_ptr, farhash_set_stats
      type(c_ptr), value :: elements
      type(farhash_set_stats), intent(out) :: stats
    end function

    integer(c_int) function farhash_elements_grow(elements, buckets, capacity) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: elements
      integer(c_int64_t), value :: buckets, capacity
    end function

    integer(c_int) function farhash_elements_save_c(elements, path) &
      bind(c, name='farhash_elements_save')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: elements
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_elements_load_c(elements, path) &
      bind(c, name='farhash_elements_load')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: elements
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_elements_check(elements) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: elements
    end function

    integer(c_int) function farhash_elements_close(elements) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: elements
    end function

    integer(c_int) function farhash_cache_new(job, config, cache) bind(c)
      import :: c_int, c_ptr, farhash_cache_config
      type(c_ptr), value :: job
      type(farhash_cache_config), intent(in) :: config
      type(c_ptr), intent(out) :: cache
    end function

    integer(c_int) function farhash_cache_get(cache, key, val) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache, key, val
    end function

    integer(c_int) function farhash_cache_put(cache, key, val) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache, key, val
    end function

    integer(c_int) function farhash_cache_delete(cache, key) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache, key
    end function

    integer(c_int) function farhash_cache_get_batch(cache, keys, n, values, hits) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int8_t
      type(c_ptr), value :: cache, keys, values
      integer(c_size_t), value :: n
      integer(c_int8_t), intent(out) :: hits(n)
    end function

    integer(c_int) function farhash_cache_put_batch(cache, keys, n, values, results) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int8_t
      type(c_ptr), value :: cache, keys, values
      integer(c_size_t), value :: n
      integer(c_int8_t), intent(out) :: results(n)
    end function

    integer(c_int) function farhash_cache_update(cache, key, function, argument) bind(c)
      import :: c_int, c_ptr, c_funptr
      type(c_ptr), value :: cache, key, argument
      type(c_funptr), value :: function
    end function

    integer(c_int) function farhash_cache_stats_get(cache, stats) bind(c)
      import :: c_int, c_ptr, farhash_cache_stats
      type(c_ptr), value :: cache
      type(farhash_cache_stats), intent(out) :: stats
    end function


    integer(c_int) function farhash_cache_all_stats_of(cache, ranks, total) &
      bind(c, name='farhash_cache_all_stats')
      import :: c_int, c_ptr, farhash_cache_stats
      type(c_ptr), value :: cache, ranks
      type(farhash_cache_stats), intent(out) :: total
    end function

    integer(c_int) function farhash_cache_locate(cache, key, rank, bucket) bind(c)
      import :: c_int, c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: cache, key
      integer(c_int32_t), intent(out) :: rank
      integer(c_int64_t), intent(out) :: bucket
    end function

    integer(c_int) function farhash_cache_put_located(cache, key, value, rank, bucket) bind(c)
      import :: c_int, c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: cache, key, value
      integer(c_int32_t), intent(out) :: rank
      integer(c_int64_t), intent(out) :: bucket
    end function

    integer(c_int) function farhash_cache_get_at(cache, rank, bucket, key, value) bind(c)
      import :: c_int, c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: cache, key, value
      integer(c_int32_t), value :: rank
      integer(c_int64_t), value :: bucket
    end function

    integer(c_int) function farhash_cache_range(cache, local, function, argument) bind(c)
      import :: c_int, c_ptr, c_funptr
      type(c_ptr), value :: cache, argument
      integer(c_int), value :: local
      type(c_funptr), value :: function
    end function

    integer(c_int) function farhash_cache_len(cache, keys) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: cache
      integer(c_int64_t), intent(out) :: keys
    end function

    integer(c_int) function farhash_cache_clear(cache) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache
    end function

    integer(c_int) function farhash_cache_used(cache, used) bind(c)
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: cache
      real(c_double), intent(out) :: used
    end function

    integer(c_int) function farhash_cache_buckets(cache, buckets) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: cache
      integer(c_int64_t), intent(out) :: buckets
    end function

    integer(c_int) function farhash_cache_save_c(cache, path) bind(c, name='farhash_cache_save')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: cache
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_cache_load_c(cache, path) bind(c, name='farhash_cache_load')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: cache
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_cache_check(cache) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache
    end function

    integer(c_int) function farhash_cache_close(cache) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: cache
    end function

    integer(c_int) function farhash_map_new(job, config, map) bind(c)
      import :: c_int, c_ptr, farhash_map_config
      type(c_ptr), value :: job
      type(farhash_map_config), intent(in) :: config
      type(c_ptr), intent(out) :: map
    end function

    integer(c_int) function farhash_map_get(map, key, key_size, val, room, value_size, &
      version) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int64_t
      type(c_ptr), value :: map, key, val
      integer(c_size_t), value :: key_size, room
      integer(c_size_t), intent(out) :: value_size
      integer(c_int64_t), intent(out) :: version
    end function

    integer(c_int) function farhash_map_put(map, key, key_size, val, value_size, version) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int64_t
      type(c_ptr), value :: map, key, val
      integer(c_size_t), value :: key_size, value_size
      integer(c_int64_t), intent(inout) :: version
    end function

    integer(c_int) function farhash_map_put_if_absent(map, key, key_size, val, value_size, &
      version) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int64_t
      type(c_ptr), value :: map, key, val
      integer(c_size_t), value :: key_size, value_size
      integer(c_int64_t), intent(inout) :: version
    end function

    integer(c_int) function farhash_map_compare_and_put(map, key, key_size, val, value_size, &
      version) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int64_t
      type(c_ptr), value :: map, key, val
      integer(c_size_t), value :: key_size, value_size
      integer(c_int64_t), intent(inout) :: version
    end function

    integer(c_int) function farhash_map_delete(map, key, key_size) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: map, key
      integer(c_size_t), value :: key_size
    end function

    integer(c_int) function farhash_map_batch(map, calls, n) bind(c)
      import :: c_int, c_ptr, farhash_map_call, c_size_t
      type(c_ptr), value :: map
      integer(c_size_t), value :: n
      type(farhash_map_call), intent(inout) :: calls(n)
    end function

    integer(c_int) function farhash_map_range(map, function, argument) bind(c)
      import :: c_int, c_ptr, c_funptr
      type(c_ptr), value :: map, argument
      type(c_funptr), value :: function
    end function

    integer(c_int) function farhash_map_stats_get(map, stats) bind(c)
      import :: c_int, c_ptr, farhash_map_stats
      type(c_ptr), value :: map
      type(farhash_map_stats), intent(out) :: stats
    end function

    integer(c_int) function farhash_map_len(map, keys) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: map
      integer(c_int64_t), intent(out) :: keys
    end function

    integer(c_int) function farhash_map_save_c(map, path) bind(c, name='farhash_map_save')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: map
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_map_load_c(map, path) bind(c, name='farhash_map_load')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: map
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_map_check(map) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: map
    end function

    integer(c_int) function farhash_map_close(map) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: map
    end function

    ! next is c_funloc of a function as farhash.h says.
    integer(c_int) function farhash_index_build(job, config, next, argument, index) bind(c)
      import :: c_int, c_ptr, c_funptr, farhash_index_config
      type(c_ptr), value :: job, argument
      type(c_funptr), value :: next
      type(farhash_index_config), intent(in) :: config
      type(c_ptr), intent(out) :: index
    end function

    integer(c_int) function farhash_index_build_batch(job, config, keys, values, sizes, n, &
      index) bind(c)
      import :: c_int, c_ptr, c_size_t, farhash_index_config
      type(c_ptr), value :: job, keys, values, sizes
      type(farhash_index_config), intent(in) :: config
      integer(c_size_t), value :: n
      type(c_ptr), intent(out) :: index
    end function

    integer(c_int) function farhash_index_load_c(job, path, config, index) &
      bind(c, name='farhash_index_load')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: job, config
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(out) :: index
    end function

    integer(c_int) function farhash_index_save_c(index, path) bind(c, name='farhash_index_save')
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: index
      character(kind=c_char), intent(in) :: path(*)
    end function

    integer(c_int) function farhash_index_get(index, key, val, value_size) bind(c)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: index, key, val
      integer(c_size_t), intent(out) :: value_size
    end function

    integer(c_int) function farhash_index_get_batch(index, keys, n, values, sizes, &
      counts) bind(c)
      import :: c_int, c_ptr, c_size_t, c_int32_t
      type(c_ptr), value :: index, keys, values, sizes
      integer(c_size_t), value :: n
      integer(c_int32_t), intent(out) :: counts(n)
    end function

    integer(c_int) function farhash_index_lookup(index, keys, n, found, argument) bind(c)
      import :: c_int, c_ptr, c_size_t, c_funptr
      type(c_ptr), value :: index, keys, argument
      integer(c_size_t), value :: n
      type(c_funptr), value :: found
    end function

    integer(c_int) function farhash_index_len(index, records) bind(c)
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: index
      integer(c_int64_t), intent(out) :: records
    end function

    integer(c_int) function farhash_index_sizes(index, key_size, value_size, variable) bind(c)
      import :: c_int, c_ptr, c_int32_t, c_int64_t
      type(c_ptr), value :: index
      integer(c_int64_t), intent(out) :: key_size, value_size
      integer(c_int32_t), intent(out) :: variable
    end function

    ! The note ends with c_null_char.
    integer(c_int) function farhash_index_note(index, note, room) bind(c)
      import :: c_int, c_ptr, c_char, c_size_t
      type(c_ptr), value :: index
      character(kind=c_char), intent(out) :: note(*)
      integer(c_size_t), value :: room
    end function

    integer(c_int) function farhash_index_check(index) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: index
    end function

    integer(c_int) function farhash_index_close(index) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: index
    end function

    integer(c_int) function farhash_round(values, n, digits, n_digits, floors, n_floors) bind(c)
      import :: c_int, c_double, c_int32_t, c_size_t
      integer(c_size_t), value :: n, n_digits, n_floors
      real(c_double), intent(inout) :: values(n)
      integer(c_int32_t), intent(in) :: digits(n_digits)
      real(c_double), intent(in) :: floors(n_floors)
    end function

    type(c_ptr) function farhash_last_error_text() bind(c, name='farhash_last_error')
      import :: c_ptr
    end function

    integer(c_int) function farhash_refuse(code, text) bind(c)
      import :: c_int, c_char
      integer(c_int), value :: code
      character(kind=c_char), intent(in) :: text(*)
    end function

    integer(c_size_t) function farhash_c_length(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

  abstract interface
    integer(c_int) function farhash_takes_path(handle, path) bind(c)
      import :: c_int, c_ptr, c_char
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: path(*)
    end function
  end interface

  private :: with_path, c_path, explained

contains

  ! A path as C takes it. None is given of one that has a NUL in it, as C would take the part before
  ! that for the path.
  function c_path(path) result(text)
    character(len=*), intent(in) :: path
    character(len=:), allocatable :: text
    integer :: length
    length = len_trim(path)
    if (length > 0) then
      if (path(length:length) == c_null_char) length = len_trim(path(:length - 1))
    end if
    if (scan(path(:length), c_null_char) > 0) length = 0
    text = path(:length) // c_null_char
  end function

  ! The code of a call with a path, and why it was refused if c_path had none.
  integer(c_int) function explained(code, path)
    integer(c_int), intent(in) :: code
    character(len=*), intent(in) :: path
    explained = code
    if (code == farhash_error_argument .and. len(c_path(path)) == 1 .and. len_trim(path) > 0) &
      explained = farhash_refuse(code, 'farhash: the path has a NUL in it' // c_null_char)
  end function

  integer(c_int) function with_path(call, handle, path)
    procedure(farhash_takes_path) :: call
    type(c_ptr), intent(in) :: handle
    character(len=*), intent(in) :: path
    with_path = explained(call(handle, c_path(path)), path)
  end function

  integer(c_int) function farhash_set_save(set, path)
    type(c_ptr), intent(in) :: set
    character(len=*), intent(in) :: path
    farhash_set_save = with_path(farhash_set_save_c, set, path)
  end function

  integer(c_int) function farhash_set_load(set, path)
    type(c_ptr), intent(in) :: set
    character(len=*), intent(in) :: path
    farhash_set_load = with_path(farhash_set_load_c, set, path)
  end function

  integer(c_int) function farhash_elements_save(elements, path)
    type(c_ptr), intent(in) :: elements
    character(len=*), intent(in) :: path
    farhash_elements_save = with_path(farhash_elements_save_c, elements, path)
  end function

  integer(c_int) function farhash_elements_load(elements, path)
    type(c_ptr), intent(in) :: elements
    character(len=*), intent(in) :: path
    farhash_elements_load = with_path(farhash_elements_load_c, elements, path)
  end function

  integer(c_int) function farhash_cache_save(cache, path)
    type(c_ptr), intent(in) :: cache
    character(len=*), intent(in) :: path
    farhash_cache_save = with_path(farhash_cache_save_c, cache, path)
  end function

  integer(c_int) function farhash_cache_load(cache, path)
    type(c_ptr), intent(in) :: cache
    character(len=*), intent(in) :: path
    farhash_cache_load = with_path(farhash_cache_load_c, cache, path)
  end function

  integer(c_int) function farhash_map_save(map, path)
    type(c_ptr), intent(in) :: map
    character(len=*), intent(in) :: path
    farhash_map_save = with_path(farhash_map_save_c, map, path)
  end function

  integer(c_int) function farhash_map_load(map, path)
    type(c_ptr), intent(in) :: map
    character(len=*), intent(in) :: path
    farhash_map_load = with_path(farhash_map_load_c, map, path)
  end function

  integer(c_int) function farhash_index_save(index, path)
    type(c_ptr), intent(in) :: index
    character(len=*), intent(in) :: path
    farhash_index_save = with_path(farhash_index_save_c, index, path)
  end function

  ! Without config it is the index that was saved.
  integer(c_int) function farhash_index_load(job, path, config, index)
    type(c_ptr), intent(in) :: job
    character(len=*), intent(in) :: path
    type(farhash_index_config), intent(in), target, optional :: config
    type(c_ptr), intent(out) :: index
    type(c_ptr) :: given
    given = c_null_ptr
    if (present(config)) given = c_loc(config)
    farhash_index_load = explained(farhash_index_load_c(job, c_path(path), given, index), path)
  end function

  ! The job that the launcher has started, with default options.
  integer(c_int) function farhash_join(job)
    type(c_ptr), intent(out) :: job
    farhash_join = farhash_join_any(c_null_ptr, job)
  end function

  ! The processes of a communicator, with default options.
  integer(c_int) function farhash_join_comm(comm, job)
    integer, intent(in) :: comm
    type(c_ptr), intent(out) :: job
    farhash_join_comm = farhash_join_with(int(comm, c_int32_t), c_null_ptr, job)
  end function

  ! What all ranks have done with a cache. Collective.
  integer(c_int) function farhash_cache_total(cache, total)
    type(c_ptr), value :: cache
    type(farhash_cache_stats), intent(out) :: total
    farhash_cache_total = farhash_cache_all_stats_of(cache, c_null_ptr, total)
  end function

  ! What the last call of this thread that failed has to say.
  function farhash_last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: chars(:)
    type(c_ptr) :: from
    integer :: i
    from = farhash_last_error_text()
    call c_f_pointer(from, chars, [farhash_c_length(from)])
    allocate (character(len=size(chars)) :: text)
    do i = 1, size(chars)
      text(i:i) = chars(i)
    end do
  end function
end module
