package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseStat(string(data))
}

// parseStat reads "pid (name) state parent ...", where the name may hold spaces
// and parentheses and the start time is the 22nd field.
func parseStat(stat string) (process, bool) {
	open, closing := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || closing < open {
		return process{}, false
	}
	fields := strings.Fields(stat[closing+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(stat[:open]))
	if err != nil {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	return process{
		pid: pid, parent: parent, name: stat[open+1 : closing], start: fields[19],
	}, true
}
