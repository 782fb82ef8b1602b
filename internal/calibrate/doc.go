// Package calibrate measures what reads of remote memory cost on the engine of a job: the
// parameters of the model of package readsize (Wang et al., Efficient Usage of One-Sided
// RDMA for Linear Probing, 2020; "LP" below, 3.5). The command farhash calibrate prints it.
//
// # What is measured
//
//   - LatencyNs (c) and ByteNs (alpha): rank 0 reads blocks of several lengths, one at a
//     time, from random places in the memory of the other ranks, or of its own if it is
//     alone. A straight line is fitted to the medians: its value at no bytes is c, and its
//     slope alpha. LP takes c from reads of no bytes, which not every engine has, and alpha
//     from the nominal rate of the network.
//   - MessagesPerSecond (rho0): all ranks read single words with many in flight. LP takes
//     reads of no bytes, which not every engine has; 8 bytes do not change the rate of short
//     messages. h is not measured: [HeaderBytes].
//   - LinkBytesPerSecond (l): the same with blocks of 8 KiB.
//
// Both rates are of all ranks together. The bound of a read size (LP Eq. 2) depends
// on their ratio alone. One rank does not always post fast enough to saturate a card: let
// as many ranks measure as will look things up.
//
// And for readers who want to know what batches gain and when to ship them:
//
//   - Rates: reads a second by their length and by how many each rank has in flight.
//   - Shipped: requests that the programs of other ranks answer with as many bytes, where the
//     engine carries requests (rma.Server): a line through single ones as above, the rate
//     with several in flight, and what tables with rma.Auto make of it.
//
// The lengths are read in turn, and medians are taken of groups of reads. So what else the
// machine does affects all lengths alike, and mostly does not count. The memory is larger
// than caches, unless Config says otherwise, and has been written to before.
//
// Everything takes Config.Limit at most, and half of it as a rule: where operations take long,
// fewer are measured. What there is no time for is left out and listed in Missing. If c, alpha,
// rho0 or l cannot be measured in that time, Measure fails.
//
// # What is kept
//
// [Result.Save] writes a JSON object into a file, [Load] reads it again and refuses
// what no measurement gives.
package calibrate
