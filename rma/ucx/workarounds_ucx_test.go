//go:build ucx && cgo && linux

package ucx

import (
	"debug/elf"
	"strings"
	"testing"
)

// The functions that replace UCX 1.13's are in this program by the names that UCX calls:
// without, most tests of lost ranks would pass, and a rank be lost with another one now and then.
func TestWorkaroundsAreFound(t *testing.T) {
	if !strings.HasPrefix(Library(), "UCX 1.13") {
		t.Skip(Library() + " has none")
	}
	program, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	symbols, err := program.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{}
	for _, s := range symbols {
		defined[s.Name] = s.Section != elf.SHN_UNDEF
	}
	for _, name := range []string{"ucs_empty_function_return_bc_ep_timeout", "uct_tcp_ep_am_bcopy",
		"uct_tcp_ep_pending_purge", "uct_tcp_ep_set_failed", "uct_tcp_ep_pending_queue_dispatch",
		"uct_tcp_cm_conn_progress", "ucs_event_set_wait"} {
		if !defined[name] {
			t.Errorf("UCX does not see our %s", name)
		}
	}
}
