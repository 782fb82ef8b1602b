package ucx

import (
	"net"
	"slices"
	"strings"
)

// Look is what UCX finds on this host. The field names are those of farhash doctor --json.
type Look struct {
	Devices []Device `json:"devices"`
	// Events: a thread can sleep until something happens that UCX must see to.
	Events bool `json:"events"`
}

// Device is what UCX can send over.
type Device struct {
	Transport string     `json:"transport"` // for UCX_TLS: "tcp", "rc_mlx5"
	Name      string     `json:"name"`      // for UCX_NET_DEVICES: "eth0", "mlx5_0:1"
	Kind      DeviceKind `json:"kind"`
	// Used: UCX takes it into account as it is set up. Which of these it sends over, it
	// decides for each pair of ranks.
	Used    bool    `json:"used"`
	Atomics Atomics `json:"atomics"`
	// What UCX supposes; 0 where it does not say.
	BytesPerSecond float64 `json:"bytesPerSecond"`
	LatencyNs      float64 `json:"latencyNs"`
}

// DeviceKind is what a device is.
type DeviceKind string

// Only what is a Network reaches other hosts.
const (
	Network     DeviceKind = "network"
	Memory      DeviceKind = "memory"
	Self        DeviceKind = "self"
	Accelerator DeviceKind = "accelerator"
)

// Atomics is who does compare-and-swap and fetch-and-add.
type Atomics string

// The target's processor does them where the device can not. A card's own need not agree
// with the processor's: the litmus test tells.
const (
	ByTarget    Atomics = "target"
	ByProcessor Atomics = "processor"
	ByCard      Atomics = "card"
)

// OtherHosts tells whether a device that UCX takes into account reaches other hosts.
func (d Device) OtherHosts() bool { return d.Used && d.Kind == Network && d.Name != "lo" }

// DevicesVariable is the environment variable of UCX that names the devices that it uses.
const DevicesVariable = "UCX_NET_DEVICES"

// Reaching is the [DevicesVariable] of a rank that meets the others at a local address, where the
// user has not set it: of what UCX reaches by TCP, the interface with that address, and all other
// networks, such as InfiniBand. It is "" where UCX does not see that interface.
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
