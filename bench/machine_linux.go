package bench

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// cpuModel is the name of the processor.
func cpuModel() string {
	for line := range lines("/proc/cpuinfo") {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// hugeBytes is the memory of this process that lies in transparent huge pages.
func hugeBytes() (bytes uint64, known bool) {
	for line := range lines("/proc/self/smaps_rollup") {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "AnonHugePages", "ShmemPmdMapped":
			number := strings.TrimSpace(strings.TrimSuffix(value, "kB"))
			if kib, err := strconv.ParseUint(number, 10, 64); err == nil {
				bytes, known = bytes+kib*1024, true
			}
		}
	}
	return bytes, known
}

// lines iterates over the lines of a file, none if it cannot be read.
func lines(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		scan := bufio.NewScanner(f)
		for scan.Scan() && yield(scan.Text()) {
		}
	}
}
