// Package ucxdevices says what the devices are that UCX finds, and which a rank uses. rma/ucx lists
// them, and the command prints them.
package ucxdevices

import (
	"net"
	"slices"
	"strings"
)

// Survey is what UCX finds on this host. The fields are named as in farhash doctor --json.
type Survey struct {
	Devices []Device `json:"devices"`
	// Events: a thread can sleep until an event that UCX must handle.
	Events bool `json:"events"`
}

// Device is what UCX can send over.
type Device struct {
	Transport string `json:"transport"` // for UCX_TLS: "tcp", "rc_mlx5"
	Name      string `json:"name"`      // for UCX_NET_DEVICES: "eth0", "mlx5_0:1"
	Kind      Kind   `json:"kind"`
	// Used: UCX may send over it with its present settings. It chooses among these for each
	// pair of ranks.
	Used    bool    `json:"used"`
	Atomics Atomics `json:"atomics"`
	// Estimates of UCX; 0 where it has none.
	BytesPerSecond float64 `json:"bytesPerSecond"`
	LatencyNs      float64 `json:"latencyNs"`
}

// Kind is what a device is.
type Kind string

// Only what is a Network reaches other hosts.
const (
	Network     Kind = "network"
	Memory      Kind = "memory"
	Self        Kind = "self"
	Accelerator Kind = "accelerator"
)

// Atomics says which component does compare-and-swap and fetch-and-add.
type Atomics string

// The target's processor does them where the device cannot, and also where a card has only some of
// those that UCX asks for (InPart). The atomics of a card need not be atomic with respect to the
// processor's: the litmus test finds out.
const (
	ByTarget    Atomics = "target"
	ByProcessor Atomics = "processor"
	ByCard      Atomics = "card"
	InPart      Atomics = "card in part"
)

// OtherHosts reports whether UCX may send over the device to other hosts.
func (d Device) OtherHosts() bool { return d.Used && d.Kind == Network && d.Name != "lo" }

// Variable is the environment variable of UCX that names the devices that it uses.
const Variable = "UCX_NET_DEVICES"

// Reaching is the [Variable] of a rank that is connected to rank 0 from a local address,
// where the user has not set it: of the devices by TCP the interface with that address, and all
// other networks, such as InfiniBand. It is "" where UCX does not find that interface.
func Reaching(devices []Device, at net.Addr) string {
	name := interfaceOf(at)
	var names []string
	for _, d := range devices {
		if d.Kind == Network && (d.Transport != "tcp" || d.Name == name) &&
			!slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	if !slices.Contains(names, name) {
		return ""
	}
	return strings.Join(names, ",")
}

// OverTCP reports whether UCX may use TCP with these values of UCX_TLS and [Variable].
func OverTCP(transports, choice string, devices []Device) bool {
	list, but := strings.CutPrefix(transports, "^")
	named := slices.ContainsFunc(strings.Split(list, ","), func(name string) bool {
		return name == "" || name == "all" || name == "tcp" || name == `\tcp`
	})
	if named == but {
		return false
	}
	for _, name := range strings.Split(choice, ",") {
		if !slices.ContainsFunc(devices, func(d Device) bool {
			return d.Name == name && d.Kind == Network && d.Transport != "tcp"
		}) {
			return true
		}
	}
	return false
}

// interfaceOf is the name of the interface that has an address; "": none has.
func interfaceOf(at net.Addr) string {
	host, _, err := net.SplitHostPort(at.String())
	ip := net.ParseIP(host)
	if err != nil || ip == nil {
		return ""
	}
	all, _ := net.Interfaces()
	for _, i := range all {
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			own, ok := a.(*net.IPNet)
			if ok && (own.IP.Equal(ip) || ip.IsLoopback() && own.Contains(ip)) {
				return i.Name
			}
		}
	}
	return ""
}
