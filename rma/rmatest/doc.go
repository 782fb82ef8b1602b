// Package rmatest is what an engine must do: it is right when it passes [Test].
//
// The suite runs rank functions through a [Starter] that the engine's own test
// gives, with 1, 2 and 4 ranks, and uses nothing but the contract of package rma:
//
//	func TestConformance(t *testing.T) {
//		rmatest.Test(t, local.Run)
//	}
//
// An engine that cannot run some of it says why by a [Limit].
//
// What an engine may choose, such as whether Words gives a view, is looked up in
// its answers. Whether ranks win or lose a race is up to the machine; the suite
// checks what must hold either way, and no test waits for a time to pass.
package rmatest
