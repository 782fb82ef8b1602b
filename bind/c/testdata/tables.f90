! Every table from Fortran, by one rank. Usage: tables DIRECTORY
module functions
  use farhash
  implicit none
contains
  ! Records of an index: 1 to 100, with their squares.
  integer(c_int) function next(key, val, value_size, argument) bind(c)
    type(c_ptr), intent(out) :: key, val
    integer(c_size_t), intent(inout) :: value_size
    type(c_ptr), value :: argument
    integer(c_int64_t), pointer :: at(:)
    call c_f_pointer(argument, at, [2])
    next = 0
    if (at(1) == 100 .or. value_size /= 8) return
    at = [at(1) + 1, (at(1) + 1) ** 2]
    key = c_loc(at(1))
    val = c_loc(at(2))
    next = 1
  end function

  subroutine found(i, val, value_size, argument) bind(c)
    integer(c_size_t), value :: i, value_size
    type(c_ptr), value :: val, argument
    integer(c_int64_t), pointer :: square, sum
    call c_f_pointer(val, square)
    call c_f_pointer(argument, sum)
    if (value_size == 8) sum = sum + square + 1000000 * int(i, c_int64_t)
  end subroutine

  integer(c_int) function doubled(val, there, argument) bind(c)
    type(c_ptr), value :: val, argument
    integer(c_int), value :: there
    integer(c_int64_t), pointer :: n
    call c_f_pointer(val, n)
    doubled = there
    if (.not. c_associated(argument)) n = 2 * n
  end function

  integer(c_int) function sum_pairs(key, key_size, val, value_size, argument) bind(c)
    type(c_ptr), value :: key, val, argument
    integer(c_size_t), value :: key_size, value_size
    integer(c_int64_t), pointer :: n, sum
    call c_f_pointer(val, n)
    call c_f_pointer(argument, sum)
    if (c_associated(key) .and. key_size == 8 .and. value_size == 8) sum = sum + n
    sum_pairs = 0
  end function

  integer(c_int) function rank_main(job, argument) bind(c)
    type(c_ptr), value :: job, argument
    rank_main = 9
    if (farhash_job_size(job) == 2 .and. .not. c_associated(argument)) rank_main = 0
  end function
end module

program tables
  use functions
  implicit none
  integer, parameter :: n = 200
  integer(c_size_t), parameter :: many = n
  character(len=1000) :: directory
  type(c_ptr) :: job

  call get_command_argument(1, directory)
  call is(farhash_ok, farhash_join(job), 'join')
  call words(trim(directory) // '/words  ')
  call byte_strings(trim(directory) // '/elements' // c_null_char)
  call caches(trim(directory) // '/cache')
  call maps(trim(directory) // '/map')
  call indexes(trim(directory) // '/index')
  call is(farhash_ok, farhash_job_barrier(job), 'barrier')
  call is(farhash_ok, farhash_job_close(job), 'close')
  call is(farhash_ok, farhash_run(2, function=c_funloc(rank_main), &
    argument=c_null_ptr), 'run')
  print '(a)', 'all is well'

contains

  subroutine is(want, got, what)
    integer(c_int), intent(in) :: want, got
    character(len=*), intent(in) :: what
    if (want == got) return
    print '(3a, i0, a, i0, 2a)', 'not so: ', what, ' is ', got, ', want ', want, ': ', &
      farhash_last_error()
    stop 1
  end subroutine

  subroutine claim(so, what)
    logical, intent(in) :: so
    character(len=*), intent(in) :: what
    if (so) return
    print '(4a)', 'not so: ', what, ': ', farhash_last_error()
    stop 1
  end subroutine

  subroutine words(path)
    character(len=*), intent(in) :: path
    type(c_ptr) :: set, other
    type(farhash_set_stats) :: stats
    type(farhash_shipping) :: shipping
    integer(c_int64_t) :: list(n), length, buckets
    integer(c_int8_t) :: results(n)
    integer :: i
    call is(farhash_ok, farhash_set_new(job, farhash_set_config(buckets=1024), set), 'set')
    list = [(int(i, c_int64_t) ** 3, i = 1, n)]
    call is(farhash_ok, farhash_set_find_or_put_batch(set, list, many, results), 'batch')
    call claim(all(results == farhash_inserted), 'inserted')
    call is(farhash_ok, farhash_set_contains_batch(set, list, many, results), 'contains')
    call claim(all(results == farhash_found), 'found')
    call is(farhash_ok, farhash_shipping_get(set, shipping), 'shipping')
    call claim(shipping%min_batch == -1 .and. shipping%reason(1) == 'd', 'direct')
    call is(farhash_ok, farhash_set_stats_get(set, stats), 'stats')
    call claim(stats%inserted == n .and. stats%full == 0, 'counts')
    call is(farhash_ok, farhash_set_buckets(set, buckets), 'buckets')
    call claim(buckets == 1024, '1024 buckets')
    call is(farhash_ok, farhash_set_check(set), 'check')
    call is(farhash_ok, farhash_set_save(set, path), 'save')
    call is(farhash_ok, farhash_set_new(job, farhash_set_config(buckets=64, &
      max_bytes=1048576), other), 'other')
    call is(farhash_ok, farhash_set_load(other, path), 'load')
    call is(farhash_ok, farhash_set_len(other, length), 'len')
    call claim(length == n, 'all loaded')
    call is(farhash_error_file, farhash_set_load(other, path // '-none'), 'no file')
    call is(farhash_error_argument, farhash_set_save(set, 'a' // c_null_char // 'b'), 'NUL')
    call claim(scan(farhash_last_error(), 'NUL') > 0, 'the NUL is named')
    call is(farhash_error_argument, farhash_set_save(set, '  '), 'no path')
    call is(farhash_ok, farhash_set_close(set), 'close of a set')
  end subroutine

  subroutine byte_strings(path)
    character(len=*), intent(in) :: path
    type(c_ptr) :: elements, other
    type(farhash_bytes_config) :: config
    type(farhash_element) :: batch(2)
    type(farhash_set_stats) :: stats
    integer(c_int32_t), target :: list(3, n), one(3)
    integer(c_int64_t) :: refs(n), length, buckets
    integer(c_int8_t) :: results(n)
    integer :: i
    config%set%buckets = 1024
    config%element_bytes = 12
    call is(farhash_ok, farhash_bytes_new(job, config, elements), 'elements')
    list = reshape([(i * 7, i = 1, 3 * n)], [3, n])
    call is(farhash_ok, farhash_bytes_find_or_put_packed(elements, c_loc(list), many, &
      results, refs), 'batch of elements')
    call claim(all(results == farhash_inserted), 'elements inserted')
    call is(farhash_found, farhash_bytes_find_or_put(elements, c_loc(list(1, 5)), &
      12_c_size_t), 'fifth')
    call is(farhash_ok, farhash_bytes_contains_packed(elements, c_loc(list), many, results), &
      'contains elements')
    call claim(all(results == farhash_found), 'elements found')
    call is(farhash_ok, farhash_bytes_get(elements, refs(9), c_loc(one), 12_c_size_t), 'get of a name')
    call claim(all(one == list(:, 9)), 'the ninth')
    one = -1
    call is(farhash_not_found, farhash_bytes_contains(elements, c_loc(one), 12_c_size_t), 'none')
    call is(farhash_error_argument, farhash_bytes_contains(elements, c_loc(one), 8_c_size_t), 'size')
    call is(farhash_ok, farhash_bytes_stats_get(elements, stats), 'stats of elements')
    call claim(stats%inserted == n, 'elements counted')
    call is(farhash_ok, farhash_bytes_buckets(elements, buckets), 'buckets of elements')
    call claim(buckets == 1024, '1024 buckets')
    call is(farhash_ok, farhash_bytes_check(elements), 'check of elements')
    call is(farhash_ok, farhash_bytes_save(elements, path), 'save of elements')
    call is(farhash_ok, farhash_bytes_new(job, config, other), 'other elements')
    call is(farhash_ok, farhash_bytes_load(other, path), 'load of elements')
    call is(farhash_ok, farhash_bytes_len(other, length), 'len of elements')
    call claim(length == n, 'all elements loaded')
    call is(farhash_ok, farhash_bytes_close(other), 'close of elements')
    call is(farhash_error_argument, farhash_bytes_load(elements, 'a' // c_null_char // 'b'), &
      'NUL for elements')
    call is(farhash_ok, farhash_bytes_new(job, farhash_bytes_config(), other), 'any length')
    batch = [farhash_element(c_loc(list), 4_c_size_t), farhash_element(c_loc(list), 8_c_size_t)]
    call is(farhash_ok, farhash_bytes_find_or_put_batch(other, batch, 2_c_size_t, results, refs), &
      'batch of any length')
    call is(farhash_ok, farhash_bytes_get(other, refs(2), c_loc(one), 12_c_size_t, length), &
      'get of any length')
    call claim(length == 8 .and. all(one == [list(1, 1), list(2, 1), -1]), 'eight bytes')
    call is(farhash_ok, farhash_bytes_contains_batch(other, batch, 2_c_size_t, results), &
      'contains any length')
    call claim(all(results(:2) == farhash_found), 'any length found')
    call is(farhash_error_argument, farhash_bytes_find_or_put_packed(other, c_loc(list), many, &
      results, refs), 'packed')
    call is(farhash_ok, farhash_bytes_close(other), 'close of any length')
  end subroutine

  subroutine caches(path)
    character(len=*), intent(in) :: path
    type(c_ptr) :: cache, other
    type(farhash_cache_stats) :: stats
    integer(c_int64_t), target :: keys(n), values(n), seen(n)
    integer(c_int64_t) :: bucket, buckets, length
    integer(c_int32_t) :: rank
    integer(c_int8_t) :: results(n)
    integer :: i
    call is(farhash_ok, farhash_cache_new(job, farhash_cache_config(key_size=8, value_size=8, &
      buckets=16384), cache), 'cache')
    keys = [(int(i, c_int64_t), i = 1, n)]
    values = -keys
    call is(farhash_ok, farhash_cache_put_batch(cache, c_loc(keys), many, c_loc(values), &
      results), 'puts')
    call is(farhash_ok, farhash_cache_get_batch(cache, c_loc(keys), many, c_loc(seen), &
      results), 'gets')
    call claim(all(results == farhash_hit .and. seen == values), 'hits')
    call is(farhash_updated, farhash_cache_update(cache, c_loc(keys), c_funloc(doubled), &
      c_null_ptr), 'update')
    call is(farhash_hit, farhash_cache_get(cache, c_loc(keys), c_loc(seen)), 'get')
    call claim(seen(1) == -2, 'doubled')
    call is(farhash_hit, farhash_cache_locate(cache, c_loc(keys), rank, bucket), 'locate')
    call is(farhash_updated, farhash_cache_put_located(cache, c_loc(keys), c_loc(seen), rank, &
      bucket), 'put_located')
    call is(farhash_hit, farhash_cache_get_at(cache, rank, bucket, c_loc(keys), c_loc(seen)), &
      'get_at')
    call is(farhash_ok, farhash_cache_buckets(cache, buckets), 'buckets of a cache')
    call claim(rank == 0 .and. bucket >= 0 .and. bucket < buckets, 'in the memory of rank 0')
    call is(farhash_ok, farhash_cache_stats_get(cache, stats), 'stats of a cache')
    call claim(stats%inserted == n .and. stats%hits > n, 'counts of a cache')
    call is(farhash_ok, farhash_cache_check(cache), 'check of a cache')
    call is(farhash_ok, farhash_cache_save(cache, path), 'save of a cache')
    call is(farhash_ok, farhash_cache_new(job, farhash_cache_config(key_size=8, value_size=8, &
      buckets=4096), other), 'other cache')
    call is(farhash_ok, farhash_cache_load(other, path), 'load of a cache')
    call is(farhash_hit, farhash_cache_get(other, c_loc(keys(2)), c_loc(seen)), 'loaded')
    call is(farhash_ok, farhash_cache_len(other, length), 'len of a cache')
    call claim(length == n, 'all keys of a cache')
    call is(farhash_ok, farhash_cache_total(other, stats), 'total')
    call claim(stats%hits == 1 .and. stats%occupied == n, 'counts of a loaded cache')
  end subroutine

  subroutine maps(path)
    character(len=*), intent(in) :: path
    type(c_ptr) :: map, other
    type(farhash_map_call) :: calls(n)
    type(farhash_map_stats) :: stats
    integer(c_int64_t), target :: keys(n), values(n), seen(n), sum
    integer(c_int64_t) :: length
    integer :: i
    call is(farhash_ok, farhash_map_new(job, farhash_map_config(slots=4096, &
      bytes=524288, max_key=8, max_value=8), map), 'map')
    do i = 1, n
      keys(i) = i
      values(i) = 3 * i
      calls(i) = farhash_map_call(kind=farhash_put, key=c_loc(keys(i)), key_size=8, &
        value=c_loc(values(i)), value_size=8)
    end do
    calls(7)%kind = 99
    call is(farhash_error_argument, farhash_map_batch(map, calls, many), 'a wrong call')
    call claim(count(calls%result == farhash_ok) == n - 1, 'the others')
    calls(7)%kind = farhash_put
    call is(farhash_ok, farhash_map_batch(map, calls, many), 'batch of puts')
    do i = 1, n
      calls(i)%kind = farhash_get
      calls(i)%value = c_loc(seen(i))
      calls(i)%room = 8
    end do
    call is(farhash_ok, farhash_map_batch(map, calls, many), 'batch of gets')
    call claim(all(calls%result == farhash_hit .and. seen == values), 'what was put')
    call is(farhash_ok, farhash_map_add(map, c_loc(keys(5)), 8_c_size_t, -5_c_int64_t, sum), &
      'add')
    call claim(sum == 10, 'the sum')
    call is(farhash_ok, farhash_map_add(map, c_loc(keys(5)), 8_c_size_t, 5_c_int64_t), 'add again')
    sum = 0
    call is(0, farhash_map_range(map, c_funloc(sum_pairs), c_loc(sum)), 'range')
    call claim(sum == 3 * n * (n + 1) / 2, 'sum of the values')
    call is(farhash_ok, farhash_map_stats_get(map, stats), 'stats of a map')
    call claim(stats%calls(1 + farhash_get) == n, 'counts of a map')
    call is(farhash_ok, farhash_map_len(map, length), 'len of a map')
    call claim(length == n, 'all keys')
    call is(farhash_ok, farhash_map_check(map), 'check of a map')
    call is(farhash_ok, farhash_map_save(map, path), 'save of a map')
    call is(farhash_ok, farhash_map_new(job, farhash_map_config(slots=2048, &
      bytes=524288, max_key=8, max_value=8), other), 'other map')
    call is(farhash_ok, farhash_map_load(other, path), 'load of a map')
    call is(farhash_ok, farhash_map_len(other, length), 'len of the other map')
    call claim(length == n, 'all pairs loaded')
    call is(farhash_ok, farhash_map_close(other), 'close of the other map')
    call is(farhash_ok, farhash_map_close(map), 'close of a map')
    call is(farhash_ok, farhash_map_open(path // '.map', map=map), 'a map by name')
    call is(farhash_ok, farhash_map_close(map), 'close of a map by name')
    call is(farhash_ok, farhash_map_open(path // '.map', &
      options=farhash_open_options(existing=1), map=map), 'the same map')
    call is(farhash_ok, farhash_map_close(map), 'close of the same map')
    call is(farhash_ok, farhash_remove(path // '.map'), 'removal')
  end subroutine

  subroutine indexes(path)
    character(len=*), intent(in) :: path
    type(c_ptr) :: index, other
    integer(c_int64_t), target :: at(2), key, square, sum, keys(3)
    integer(c_int64_t) :: records
    integer(c_int32_t) :: counts(3), variable
    integer(c_size_t) :: size
    integer(c_int64_t), target :: squares(3)
    character(kind=c_char, len=1), target :: note(6) = ['n', 'o', 't', 'e', c_null_char, '?']
    character(kind=c_char) :: noted(6)
    at = 0
    call is(farhash_ok, farhash_index_build(job, farhash_index_config(key_size=8, &
      value_size=8, note=c_loc(note)), c_funloc(next), c_loc(at), index), 'index')
    call is(farhash_ok, farhash_index_check(index), 'check of an index')
    call is(farhash_ok, farhash_index_save(index, path), 'save of an index')
    call is(farhash_ok, farhash_index_load(job, path, index=other), 'load of an index')
    call is(farhash_ok, farhash_index_len(other, records), 'len of an index')
    call claim(records == 100, 'records')
    call is(farhash_ok, farhash_index_note(other, noted, 6_c_size_t), 'note of an index')
    call claim(all(noted(:5) == note(:5)), 'note')
    key = 12
    call is(1, farhash_index_get(other, c_loc(key), c_loc(square), size), 'get of an index')
    call claim(square == 144 .and. size == 8, 'square')
    keys = [3, 4, 500]
    call is(farhash_ok, farhash_index_get_batch(other, c_loc(keys), 3_c_size_t, c_loc(squares), &
      counts=counts), 'batch of an index')
    call claim(all(counts == [1, 1, 0]) .and. all(squares(:2) == [9, 16]), 'squares')
    sum = 0
    call is(farhash_ok, farhash_index_lookup(other, c_loc(keys), 3_c_size_t, c_funloc(found), &
      c_loc(sum)), 'lookup')
    call claim(sum == 1000025, 'what was found')
    call is(farhash_ok, farhash_index_close(other), 'close of an index')
    keys = [3, 4, 5]
    squares = keys**2
    call is(farhash_ok, farhash_index_build_batch(job, farhash_index_config(key_size=8, &
      value_size=8, access=farhash_one_sided), c_loc(keys), c_loc(squares), &
      n=3_c_size_t, index=other), 'index of arrays')
    call is(farhash_ok, farhash_index_sizes(other, records, sum, variable), 'sizes of an index')
    call claim(records == 8 .and. sum == 8 .and. variable == 0, 'sizes')
    key = 5
    call is(1, farhash_index_get(other, c_loc(key), c_loc(square), size), 'get of arrays')
    call claim(square == 25, 'square of arrays')
    call is(farhash_ok, farhash_index_close(other), 'close of an index of arrays')
    call is(farhash_ok, farhash_index_load(job, path, farhash_index_config(load=0.5d0), other), &
      'load with a configuration')
    call is(farhash_error_argument, farhash_index_load(job, 'a' // c_null_char // 'b', &
      index=other), 'NUL for an index')
  end subroutine
end program
