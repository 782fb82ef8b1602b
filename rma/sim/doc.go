// Package sim is the engine whose cluster is simulated: ranks on hosts with network
// cards, in virtual time, with everything that may go wrong, decided by one seed.
//
//	report, err := sim.Run(sim.Options{Ranks: 3, Seed: 42}, func(job rma.Job) error {
//		...
//	})
//
// It is for tests of protocols under schedules that are very rare on real networks, and for
// predictions of clusters that are not available. [Options] says what is
// simulated; [Random] draws options from a seed. A run with the same options and the
// same ranks' functions is the same run, event by event ([Report].Trace); an error
// begins with the seed.
//
// # Time
//
// One rank runs at a time, as a coroutine of the goroutine that called [Run]. A rank has
// the turn until it waits, sleeps or is overtaken by an event that is due before its own
// clock. Between two calls of the engine a rank's code takes no time; calls take the
// processor's time of [Cost]; [Job.Compute] and [Job.Sleep] take more. Whatever is due
// by the time of a rank has happened when [Job.NowNs], Submit, Sleep, Compute or a
// Wait returns, so that intervals of virtual time order the operations of all ranks: they
// are what a history needs. Of events of one moment, chance decides which comes first.
//
// # What is atomic, what is in order
//
// Any word is, nothing longer. A get or put of several words reads or writes them at one
// moment unless Options.TearNs allows it more: then in up to 8 pieces at moments of their
// own. A get's buffer holds garbage until it is done, and a put takes its words when it writes
// them: so tests find code that uses a buffer in flight.
//
// Operations of one queue that touch the same word of the same segment take effect in
// the order in which they were posted. All others take effect, and are done, in any
// order: with jitter, stalls and different distances they do.
//
// Atomics of the engine act at one moment, one after the other on each host. With
// Options.Incoherent they read at one moment and write [Cost].AtomicNs, and at least 300 ns,
// later: a write in between by the CPU, or by a put, is lost. Other atomics wait.
//
// # Costs
//
// [Cost] has the formula. A message occupies the card of its sender from the moment at
// which it leaves, and the card of its receiver when its first byte arrives, each for
// max(1/MessagesPerSecond, (header+payload)/BytesPerNs); all ranks of a host share the
// card, and wait for each other there. The payload's time on the wire is counted once.
// The network between the cards has room for everything. Ranks of one host reach each
// other without a card. A barrier takes a latency for each doubling from one host to all.
//
// [Preset] has the clusters of the papers by name; each says where its numbers come from.
// With the set and [DAS5] the throughputs of OP Table 1 come out within 20 %, except for two
// machines with a process each, where the paper reaches a process's own memory by a pointer.
//
// With Options.Gather gets that follow each other share messages, as no card of the papers can: LP
// asks for it.
//
// # Faults
//
// [Faults] kills ranks at a call, at a time or by chance, cuts links between hosts and makes ranks
// slow. A killed rank is unwound by a panic in the call of the engine in which it waits or that it
// makes next; its deferred functions run, and the engine does nothing for them. Requests that had
// left arrive or do not, and a put may arrive in part. Operations on its memory fail with a
// [LostError] after DetectNs, unless memory survives; segments that View shows stay. Where a
// request or a response is lost on a link that is cut, the operation fails with a LostError too: it
// may have taken effect.
//
// A message between hosts is lost by chance with Faults.LossEvery, and sent again after ResendNs, 2
// ResendNs later if that is lost too, and so on. So operations are late, and none is lost. What
// follows on the way from one rank to another waits for the lost message, as with TCP and with
// InfiniBand's reliable connections; what other ranks send or get does not. ResendNs stands for
// all ways in which a sender notices a loss: a round trip where other messages follow and TCP sends
// again at once, 200 ms and more where none does, 4.096 µs times a power of two on InfiniBand. The
// card is not kept busy a second time, and acknowledgements are neither sent nor lost.
//
// Collective calls fail with an rma.RankError when a rank is lost that has not made the call. Links
// that are cut, and lost messages, do not affect them.
//
// # Replay
//
// Package replay runs a test with many seeds. When one fails it prints
//
//	seed 42 fails; run it again by: go test -run '^TestTable$' -seed 42
//
// Options.Trace then writes what happens, a line for each event. A test replays exactly if
// nothing but the seed decides what its ranks do: no maps ranged over, no time of the
// machine, random numbers from [Job.Rand]. Run's error for a run without end lists what
// each rank waits for.
//
// # What it cannot show
//
//   - A rank is one goroutine. Goroutines that it starts must not use the engine, and the
//     engine does not know when a rank waits for a channel, a lock or another goroutine:
//     that is a real deadlock.
//   - A loop over memory without calls of the engine, as on segments that View shows, is
//     one moment; one that waits for a word never ends. Pace it by [Job.Sleep], which sleeps
//     in virtual time. Races between CPUs, and the order in which a CPU's stores become
//     visible, are for real engines and the race detector.
//   - Contexts that end in real time are examined at intervals, and make a run depend on the
//     machine. Options.Context ends a run of any number of ranks within moments; the contexts of
//     collective calls end what waits in these.
//   - Switches and routes of a network, and its congestion.
package sim
