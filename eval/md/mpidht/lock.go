package mpidht

// exclusive in the word of a lock is a writer; what is below it are readers (MD 4.1).
const exclusive uint64 = 0x10000000

// lockShared adds a reader to the lock at an offset, when there is no writer.
func (t *Table) lockShared(rank, at int) error {
	for {
		saw, err := t.add(t.ctx, t.window, rank, at, 1)
		if err != nil || saw < exclusive {
			return err
		}
		// mark: a reader finds a writer
		t.Stats.LockRetries++
		if err := t.unlock(rank, at, 1); err != nil {
			return err
		}
	}
}

// lockExclusive makes this rank the writer, when there is nobody.
func (t *Table) lockExclusive(rank, at int) error {
	for {
		saw, err := t.swap(t.ctx, t.window, rank, at, 0, exclusive)
		if err != nil || saw == 0 {
			return err
		}
		// mark: a writer finds the lock taken
		t.Stats.LockRetries++
	}
}

// unlock takes out of a lock what this rank has added. It waits for the answer in the fine lock
// alone.
func (t *Table) unlock(rank, at int, share uint64) error {
	if t.cfg.Protocol == Coarse {
		return t.leave(t.ctx, t.window, rank, at, -share)
	}
	_, err := t.add(t.ctx, t.window, rank, at, -share)
	return err
}

// unlockFine unlocks a bucket if buckets have locks.
func (t *Table) unlockFine(rank, at int, share uint64) error {
	if t.cfg.Protocol != Fine {
		return nil
	}
	return t.unlock(rank, at, share)
}
