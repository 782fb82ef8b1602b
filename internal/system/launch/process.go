package launch

// process identifies a process among all others of this host.
type process struct {
	pid    int
	parent int
	name   string // at most 15 characters
	start  string // when it started, in the unit of the system
}

// ancestor walks from the process pid upwards to a process of that name.
func ancestor(pid int, name string) (process, bool) {
	for pid > 1 {
		p, ok := readProcess(pid)
		if !ok {
			return process{}, false
		}
		if p.name == name {
			return p, true
		}
		pid = p.parent
	}
	return process{}, false
}
