// Package verbs does atomics of RDMA devices by libibverbs, without UCX, for a litmus test: are
// they atomic with respect to a processor's? Its code is built with the tag verbs, and
// skipped where there is no device:
//
//	go test -v -tags verbs ./internal/testkit/verbs    # pkg-config libibverbs: libibverbs-dev
//
// With the tags "verbs ucx" it also tests what rma/ucx says of its own atomics, over the
// transports in FARHASH_TEST_TRANSPORTS, and -updates N makes more of them.
//
// # What must hold
//
// A device and the processor change the same words of a window at the same time. Updates that are
// missing at the end are lost. Two queue pairs of one device must lose none. Beside the processor a
// device must lose none if it reports IBV_ATOMIC_GLOB. Most report IBV_ATOMIC_HCA, which promises
// nothing beside the processor; then the numbers are printed. rma/ucx must lose none where
// CPUAtomicsCoherent holds.
//
// # What was found
//
// Soft-RoCE (rdma_rxe of Linux 6.1, in an emulated machine of two processors) reports
// IBV_ATOMIC_HCA. Its kernel module reads the word, computes and stores it, under a lock that only
// other atomics of the module take. It stores the word also after a compare-and-swap that has
// failed. Three runs of -updates 15000 on one device lost:
//
//	by two queue pairs                             0      0      0
//	additions beside the processor's               0    998      3
//	swaps beside the processor's                   5      0      2
//	additions of the processor beside swaps of
//	the device that fail                           0      9    259
//
// A run with as few operations as the litmus test of rma/ucx makes (-updates 32) noticed nothing,
// 45 times of 45.
//
// rma/ucx does not use these atomics there: UCX 1.13 uses a device's only if it has all of
// add, and, or, xor, swap and compare-and-swap, and devices by plain verbs have two of them. It has
// the target's processor do them, by messages. So CPUAtomicsCoherent is true, and is right: of
// 35000 operations beside 500 million of the processor none was lost.
package verbs
