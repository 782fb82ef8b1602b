package doctor

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/ucxdevices"
)

// idleCards reports cards that UCX does not use, though the user has not excluded them.
func (s *ucxReport) idleCards(cards []string) (Finding, bool) {
	var idle []string
	for _, card := range cards {
		if !excluded(card, os.Getenv(ucxdevices.Variable)) &&
			!slices.ContainsFunc(s.Survey.Devices, func(d ucxdevices.Device) bool {
				return d.OtherHosts() && strings.HasPrefix(d.Name, card+":")
			}) {
			idle = append(idle, card)
		}
	}
	return Finding{Group: groupUCX, Name: "cards", Level: Warning,
		Message: strings.Join(idle, ", ") + ": UCX does not use what is faster than TCP",
		Remedy: "install ibverbs-providers and rdma-core; see locked memory above; give the user " +
			"/dev/infiniband (docker run --device); unset UCX_TLS; or exclude it by " +
			ucxdevices.Variable,
		Values: map[string]any{"idle": idle}}, len(idle) > 0
}

// excluded reports whether UCX_NET_DEVICES leaves out a card: it names others, or, after a ^, this
// one.
func excluded(card, setting string) bool {
	list, negated := strings.CutPrefix(setting, "^")
	if setting == "" || list == "all" {
		return false
	}
	return negated == slices.ContainsFunc(strings.Split(list, ","), func(name string) bool {
		device, _, _ := strings.Cut(strings.TrimSpace(name), ":")
		named, _ := path.Match(device, card)
		return named
	})
}

// unconnected reports cards whose reliable connections need messages of another transport to be
// made, and UCX has none: "no auxiliary transport".
func (s *ucxReport) unconnected() (Finding, bool) {
	var reliable, others []string
	for _, d := range s.Survey.Devices {
		switch {
		case strings.HasPrefix(d.Transport, "ud_") && d.Used:
			return Finding{}, false
		case strings.HasPrefix(d.Transport, "ud_") && !slices.Contains(others, d.Transport):
			others = append(others, d.Transport)
		case strings.HasPrefix(d.Transport, "rc_") && d.Used:
			reliable = append(reliable, d.Transport+" on "+d.Name)
		}
	}
	f := Finding{Group: groupUCX, Name: "connections", Level: Warning,
		Message: strings.Join(reliable, ", ") + ": ranks cannot connect without a transport by " +
			"UD (\"no auxiliary transport\"); one by TCP is no replacement",
		Remedy: "use another network: UCX_TLS=tcp,self",
		Values: map[string]any{"reliable": reliable}}
	if len(others) > 0 {
		f.Remedy = "add " + strings.Join(others, " or ") + " to UCX_TLS, or unset it"
	}
	return f, len(reliable) > 0
}

// droppedUntil is the version of UCX that drops them no more.
var droppedUntil = [2]int{1, 19}

// dropped reports ports at which UCX drops all packets by UD: it takes a packet that came by IPv4
// for one by IPv6 where the driver does not report which it was.
func (s *ucxReport) dropped(ports []Port, library string) (Finding, bool) {
	var version [2]int // unknown: an old one
	_, _ = fmt.Sscanf(library, "UCX %d.%d", &version[0], &version[1])
	f := Finding{Group: groupUCX, Name: "GID", Level: Warning}
	if slices.Compare(version[:], droppedUntil[:]) >= 0 {
		return f, false
	}
	var wrong []string
	for _, p := range ports {
		g, found := p.GID(os.Getenv("UCX_IB_GID_INDEX"))
		if !found || !g.IPv4() || !p.Ethernet || p.ReportsPackets() ||
			!slices.ContainsFunc(s.Survey.Devices, func(d ucxdevices.Device) bool {
				return d.Used && d.Transport == "ud_verbs" && d.Name == p.Name
			}) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s (GID %v)", p.Name, g))
		if other, found := p.IPv6(); found && f.Remedy == "" {
			f.Remedy = fmt.Sprintf("UCX_IB_GID_INDEX=%d for all ranks: %s has an address of "+
				"IPv6 there, %v", other.Index, p.Name, other.Address)
		}
	}
	if f.Remedy == "" {
		f.Remedy = "give the interface an address of IPv6, and set UCX_IB_GID_INDEX to its GID"
	}
	f.Message = fmt.Sprintf("%s: UCX before %d.%d drops UD packets to an address of IPv4 where "+
		"the device does not report their type, so ranks do not connect",
		strings.Join(wrong, ", "), droppedUntil[0], droppedUntil[1])
	f.Values = map[string]any{"ports": wrong}
	return f, len(wrong) > 0
}

// emulated are the devices whose atomics UCX does not use, since they have only some of those that
// it asks for.
func (s *ucxReport) emulated() []string {
	all := []string{}
	for _, d := range s.Survey.Devices {
		if d.OtherHosts() && d.Atomics == ucxdevices.InPart {
			all = append(all, d.Transport+" on "+d.Name)
		}
	}
	return all
}
