package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farhash/farhash/cmd/farhash/internal/try"
	"github.com/farhash/farhash/internal/testkit/twohosts"
	"github.com/farhash/farhash/internal/ucxdevices"
	"github.com/farhash/farhash/rma/ucx"
)

// doctored is the finding of a name.
func doctored(t *testing.T, report map[string]any, name string) map[string]any {
	t.Helper()
	for _, item := range report["findings"].([]any) {
		if f := item.(map[string]any); f["name"] == name {
			return f
		}
	}
	t.Errorf("nothing is found of %s in %v", name, report)
	return map[string]any{}
}

// On a host with a network UCX works, and doctor lists what it sees.
func TestDoctorUCX(t *testing.T) {
	if !ucx.Built {
		t.Skip("built without UCX")
	}
	hosts := twohosts.New(t)
	c := try.New(t, "doctor", "--json")
	there := hosts.Command(0, c.Path, c.Args[1:]...)
	there.Env, there.Stdout, there.Stderr = c.Env, &c.Out, &c.Errors
	c.Cmd = there
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Finish()
	report := try.Object(t, c)
	f := doctored(t, report, "to other hosts")
	if f["level"] != "ok" || !strings.Contains(f["message"].(string), "tcp on fh0") {
		t.Errorf("%v", f)
	}
	seen := ""
	for _, item := range f["values"].(map[string]any)["devices"].([]any) {
		d := item.(map[string]any)
		if keys := try.KeysOf(d); keys != "atomics bytesPerSecond kind latencyNs name transport "+
			"used" {
			t.Errorf("a device has the keys %s", keys)
		}
		seen += d["transport"].(string) + " " + d["name"].(string) + " " + d["kind"].(string) + ","
	}
	for _, want := range []string{"tcp fh0 network,", "tcp lo network,", "posix memory memory,"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not in %q", want, seen)
		}
	}
	for name, message := range map[string]string{"UCX": ucx.Library(), "atomics": "coherent",
		"progress": "sleeps", "batches": "a get takes"} {
		if f := doctored(t, report, name); f["level"] != "ok" ||
			!strings.Contains(f["message"].(string), message) {
			t.Errorf("%v, want %q", f, message)
		}
	}
	if f := doctored(t, report, "encryption"); f["level"] != "note" {
		t.Errorf("%v", f)
	}
}

// What the settings of UCX forbid is found, with a remedy, and does not mix with the JSON.
func TestDoctorUCXSettings(t *testing.T) {
	if !ucx.Built {
		t.Skip("built without UCX")
	}
	for _, c := range []struct{ setting, name, message, remedy string }{
		{"UCX_NET_DEVICES=lo", "to other hosts", "no device", "unset UCX_TLS"},
		{"UCX_TLS=no_such", "UCX", "does not work", "unset UCX_TLS"},
	} {
		report := try.Object(t, startDoctor(t, []string{c.setting}, "--json"))
		f := doctored(t, report, c.name)
		if f["level"] != "warning" || !strings.Contains(f["message"].(string), c.message) ||
			!strings.Contains(f["remedy"].(string), c.remedy) {
			t.Errorf("%s: %v", c.setting, f)
		}
		settings := doctored(t, report, "UCX")["values"].(map[string]any)["settings"].([]any)
		if !slices.Contains(settings, any(c.setting)) {
			t.Errorf("%s is not in %v", c.setting, settings)
		}
	}
}

func TestUCXLines(t *testing.T) {
	const complaints = "[1795323231.48] [vm:11304:0] ucp_context.c:1014 UCX  WARN  " +
		"'xx' is not here\n\n" +
		"[1795323231.49] [vm:11304:0] ucp_context.c:1276 UCX  ERROR none are\n" +
		"farhash: rma/ucx: starting UCX: No such device\n"
	want := "'xx' is not here; none are; rma/ucx: starting UCX: No such device"
	if got := ucxLines(complaints); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What the process has found counts, also where its test does not end.
func TestUCXLastReport(t *testing.T) {
	const first, second = `{"Survey":{"events":true}}` + "\n", `{"Coherent":true}` + "\n"
	for out, want := range map[string]string{"": "<nil>", first[:9]: "<nil>", first: "true false",
		first + second[:5]: "true false", first + second: "false true"} {
		got := "<nil>"
		if s := lastReport([]byte(out)); s != nil {
			got = fmt.Sprint(s.Survey.Events, s.Coherent)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", out, got, want)
		}
	}
}

// What machines with a card would show, and which none of the tests has.
func TestUCXReport(t *testing.T) {
	card := ucxdevices.Device{Transport: "rc_mlx5", Name: "mlx5_0:1", Kind: ucxdevices.Network,
		Used: true, Atomics: ucxdevices.ByCard}
	wire := ucxdevices.Device{Transport: "tcp", Name: "eth0", Kind: ucxdevices.Network, Used: true}
	datagrams := ucxdevices.Device{Transport: "ud_mlx5", Name: "mlx5_0:1",
		Kind: ucxdevices.Network, Used: true, Atomics: ucxdevices.ByTarget}
	idle := card
	idle.Used = false
	of := func(devices ...ucxdevices.Device) ucxReport {
		return ucxReport{Survey: ucxdevices.Survey{Devices: devices}}
	}
	failed := of(wire)
	failed.Failed = "no way"
	for _, c := range []struct {
		report         ucxReport
		name           string
		level          Level
		message, avoid string
	}{
		{of(card, wire), "to other hosts", OK, "rc_mlx5 on mlx5_0:1, tcp on eth0", ""},
		{of(card, datagrams), "to other hosts", OK, "ud_mlx5 on mlx5_0:1", "connections"},
		{of(idle), "to other hosts", Warning, "no device", ""},
		{of(idle, wire), "cards", Warning, "mlx5_0: UCX does not use", ""},
		{of(card), "atomics", Note, "of rc_mlx5 are not coherent", ""},
		{failed, "atomics", Warning, "no way", ""},
		{ucxReport{}, "progress", Warning, "no events", ""},
		{of(card), "", "", "", "cards"},
		{ucxReport{}, "", "", "", "batches"},
	} {
		message := ""
		cards := []string{"mlx5_0"}[:min(1, len(c.report.Survey.Devices))]
		for _, f := range c.report.findings(cards, nil) {
			if (f.Level == OK) != (f.Remedy == "") || f.Name == c.avoid {
				t.Errorf("%+v", f)
			}
			if f.Name == c.name {
				message = f.Message
				if f.Level != c.level || !strings.Contains(f.Message, c.message) {
					t.Errorf("%+v, want %s, %q", f, c.level, c.message)
				}
			}
		}
		if (message == "") != (c.name == "") {
			t.Errorf("%+v: nothing of %s", c.report, c.name)
		}
	}
}
