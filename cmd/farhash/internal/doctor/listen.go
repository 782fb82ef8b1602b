package doctor

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/system/launch"
	"github.com/farhash/farhash/internal/ucxdevices"
)

// reach is who can connect to an address, unless a firewall prevents it.
type reach int

const (
	thisHost reach = iota
	itsNetwork
	everybody
)

func (r reach) String() string {
	return [...]string{"this host alone", "its network", "everybody"}[r]
}

// reachOf is the widest reach of some addresses.
func reachOf(addresses []net.IP) reach {
	widest := thisHost
	for _, ip := range addresses {
		switch {
		case ip.IsLoopback():
		case ip.IsPrivate() || ip.IsLinkLocalUnicast():
			widest = max(widest, itsNetwork)
		default:
			widest = everybody
		}
	}
	return widest
}

// ports reports where ranks of a job on several hosts would listen here. addressesOf returns the
// addresses of a device.
func (s *ucxReport) ports(addressesOf func(device string) []net.IP) Finding {
	chosen, only := []string(nil), s.meeting()
	named := os.Getenv(ucxdevices.Variable) != ""
	where := "the device that reaches the rendezvous, one of these"
	if named {
		where = "each of these devices (" + ucxdevices.Variable + ")"
	} else if only != nil {
		where = "the device that reaches the rendezvous"
	}
	widest := thisHost
	var ports []string
	for _, d := range s.Survey.Devices {
		left := !named && only != nil && !slices.Contains(only, d.Name)
		if !d.Used || d.Transport != "tcp" || left {
			continue
		}
		addresses := addressesOf(d.Name)
		who := reachOf(addresses)
		widest = max(widest, who)
		chosen = append(chosen, d.Name)
		ports = append(ports, fmt.Sprintf("%s %v: %v", d.Name, addresses, who))
	}
	f := Finding{Group: groupUCX, Name: "open ports", Level: OK,
		Values: map[string]any{"tcpDevices": append([]string{}, chosen...),
			"reach": widest.String()}}
	f.Message = "rank 0 listens at the rendezvous, and admits processes that have the token"
	if len(chosen) > 0 {
		f.Message += fmt.Sprintf("; UCX listens for each rank at a port of %s: %s", where,
			strings.Join(ports, ", "))
	}
	if widest == thisHost {
		return f
	}
	f.Message += "; whoever can connect to such a port can end the rank, and read and write its " +
		"memory, without the token"
	f.Level, f.Remedy = Note, "admit only the hosts of the job to them: by a firewall, or "+
		"by "+ucxdevices.Variable+" with a device of a private network, such as wg0"
	if widest == everybody {
		f.Level = Warning
	}
	return f
}

// meeting are the devices that a rank started like this process would use, nil where no rendezvous
// is known.
func (s *ucxReport) meeting() []string {
	address := os.Getenv(launch.RendezvousVariable)
	if address == "" {
		return nil
	}
	c, err := net.Dial("udp", address) // sends nothing
	if err != nil {
		return nil
	}
	defer c.Close()
	if devices := ucxdevices.Reaching(s.Survey.Devices, c.LocalAddr()); devices != "" {
		return strings.Split(devices, ",")
	}
	return nil
}

// addressesOf are the addresses of a network device of this host.
func addressesOf(device string) []net.IP {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil
	}
	all, _ := i.Addrs()
	var ips []net.IP
	for _, a := range all {
		if own, ok := a.(*net.IPNet); ok {
			ips = append(ips, own.IP)
		}
	}
	return ips
}
