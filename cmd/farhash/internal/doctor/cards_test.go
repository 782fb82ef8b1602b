package doctor

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/internal/ucxdevices"
)

// softRoCE are the devices that UCX 1.13 lists for soft-RoCE, the ones of names used.
func softRoCE(used ...string) *ucxReport {
	s := &ucxReport{Coherent: true}
	for _, name := range []string{"rxe0:1", "rxe1:1"} {
		for transport, atomics := range map[string]ucxdevices.Atomics{"rc_verbs": ucxdevices.InPart,
			"ud_verbs": ucxdevices.ByTarget} {
			s.Survey.Devices = append(s.Survey.Devices, ucxdevices.Device{Transport: transport,
				Name: name, Kind: ucxdevices.Network, Atomics: atomics,
				Used: slices.Contains(used, transport+"/"+name)})
		}
	}
	return s
}

// A card that the user has excluded is no reason for a warning.
func TestDoctorExcluded(t *testing.T) {
	for setting, idle := range map[string]string{
		"": "rxe1", "all": "rxe1", "rxe0:1": "", "eth0": "", "rxe0:1, rxe1:1": "rxe1",
		"rxe*": "rxe1", "^rxe1:1": "", "^eth0": "rxe1", "rxe1": "rxe1", "rxe11:1": "",
	} {
		t.Setenv(ucxdevices.Variable, setting)
		f, found := softRoCE("rc_verbs/rxe0:1", "ud_verbs/rxe0:1").idleCards(
			[]string{"rxe0", "rxe1"})
		if found != (idle != "") || found && !strings.HasPrefix(f.Message, idle+": ") {
			t.Errorf("%s=%s: %v, %+v", ucxdevices.Variable, setting, found, f)
		}
	}
}

// Reliable connections are made by messages of UD.
func TestDoctorConnections(t *testing.T) {
	for used, want := range map[string]bool{"rc_verbs/rxe0:1": true, "ud_verbs/rxe0:1": false,
		"rc_verbs/rxe0:1 ud_verbs/rxe0:1": false, "": false} {
		f, found := softRoCE(strings.Fields(used)...).unconnected()
		if found != want || found && (!strings.HasPrefix(f.Message, "rc_verbs on rxe0:1: ") ||
			!strings.HasPrefix(f.Remedy, "add ud_verbs to UCX_TLS")) {
			t.Errorf("%q: %v, %+v", used, found, f)
		}
	}
	alone := &ucxReport{Survey: ucxdevices.Survey{Devices: []ucxdevices.Device{
		{Transport: "rc_verbs", Name: "x:1", Kind: ucxdevices.Network, Used: true}}}}
	if f, found := alone.unconnected(); !found || !strings.Contains(f.Remedy, "UCX_TLS=tcp") {
		t.Errorf("%v, %+v", found, f)
	}
}

// GIDs at which UCX drops what arrives are found, with one where it does not.
func TestDoctorGID(t *testing.T) {
	rxe := Port{Name: "rxe0:1", Ethernet: true, GIDs: []GID{
		{Index: 0, Address: netip.MustParseAddr("fe80::1"), Version: 2},
		{Index: 1, Address: netip.MustParseAddr("::ffff:10.99.0.1"), Version: 2}}}
	mlx, infiniBand, old := rxe, rxe, rxe
	mlx.Driver, infiniBand.Ethernet, old.GIDs = "mlx5_core", false, rxe.GIDs[1:]
	both := softRoCE("rc_verbs/rxe0:1", "ud_verbs/rxe0:1")
	for _, c := range []struct {
		what, setting, library string
		report                 *ucxReport
		port                   Port
		remedy                 string // "": nothing is found
	}{
		{"of IPv4", "", "UCX 1.13.1", both, rxe, "UCX_IB_GID_INDEX=0 for all ranks"},
		{"of IPv4, named", "1", "UCX 1.18.0", both, rxe, "UCX_IB_GID_INDEX=0"},
		{"an unknown version", "", "UCX", both, rxe, "UCX_IB_GID_INDEX=0"},
		{"no other one", "", "UCX 1.13.1", both, old, "give the interface an address of IPv6"},
		{"of IPv6", "0", "UCX 1.13.1", both, rxe, ""},
		{"a newer UCX", "", "UCX 1.19.0", both, rxe, ""},
		{"a driver that reports", "", "UCX 1.13.1", both, mlx, ""},
		{"InfiniBand", "", "UCX 1.13.1", both, infiniBand, ""},
		{"not used", "", "UCX 1.13.1", softRoCE("rc_verbs/rxe0:1"), rxe, ""},
	} {
		t.Setenv("UCX_IB_GID_INDEX", c.setting)
		f, found := c.report.dropped([]Port{c.port}, c.library)
		if found != (c.remedy != "") || found && (f.Level != Warning ||
			!strings.HasPrefix(f.Message, "rxe0:1 (GID 1, 10.99.0.1): ") ||
			!strings.Contains(f.Remedy, c.remedy)) {
			t.Errorf("%s: %v, %+v", c.what, found, f)
		}
	}
}

// Atomics of a device that UCX does not use are mentioned.
func TestDoctorEmulated(t *testing.T) {
	f := softRoCE("rc_verbs/rxe0:1", "ud_verbs/rxe0:1").atomics()
	if f.Level != Note || !strings.Contains(f.Message, "some of rc_verbs on rxe0:1") ||
		strings.Contains(f.Message, "on rxe1") {
		t.Errorf("%+v", f)
	}
	if f := softRoCE("ud_verbs/rxe0:1").atomics(); f.Level != OK {
		t.Errorf("%+v", f)
	}
}
