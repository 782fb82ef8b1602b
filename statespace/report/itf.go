package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farhash/farhash/internal/system/replace"
)

// ITFTrace is a path through states.
type ITFTrace struct {
	Source   string // the model, or its file
	Property string // what it shows
	About    string // a sentence
	Vars     []string
	States   iter.Seq[ITFState]
	Loop     int // the state that follows the last one; -1: none does
}

// ITFState is a state of a trace.
type ITFState struct {
	Action string // that has led to it
	Values []any  // of the variables, made by Int or Values
}

// ITFUsage is what a flag that names a file of traces says.
const ITFUsage = "write the traces to `FILE` as well, such as t.itf.json, in the Informal Trace " +
	"Format of Apalache and Quint; a second one to t-2.itf.json"

// itfAbout is the format as a trace names it. It comes first, so that a file is known by it.
const itfAbout = `{"#meta":{"format":"ITF","format-description":` +
	`"https://apalache-mc.org/docs/adr/015adr-trace.html",`

// itfFormat makes sure that no other file is replaced.
var itfFormat = replace.Format{Name: "trace in ITF that farhash has written",
	Known: func(head []byte) bool { return strings.HasPrefix(string(head), itfAbout) }}

// ITFWritable says why traces cannot be written to a path, before a search that takes long. others
// are files that are read, or written as well.
func ITFWritable(path string, others ...string) error {
	err := replace.Writable(path, itfFormat, others...)
	if err == nil && slices.Contains(others, path) {
		err = fmt.Errorf("another flag names %s as well", path)
	}
	return err
}

// WriteITF writes traces. The first has the path, the others have their numbers in their names; see
// ITFName. Without a trace the file says so and has no states.
func WriteITF(path string, traces ...ITFTrace) error {
	if len(traces) == 0 {
		none := ITFTrace{About: "no trace was found", Loop: -1,
			States: func(func(ITFState) bool) {}}
		return none.write(path, 0, 0)
	}
	for i := range traces {
		if err := traces[i].write(ITFName(path, i+1), i+1, len(traces)); err != nil {
			return err
		}
	}
	return nil
}

// ITFName is the name of the file of a trace, from 1 on: n.itf.json, n-2.itf.json, n-3.itf.json.
func ITFName(path string, number int) string {
	if number == 1 {
		return path
	}
	end := ".itf.json"
	if !strings.HasSuffix(path, end) {
		end = filepath.Ext(path)
	}
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, end), number, end)
}

func (t *ITFTrace) write(path string, number, of int) error {
	return replace.File(path, itfFormat, func(w io.Writer) error {
		to := bufio.NewWriter(w)
		if err := t.render(to, number, of); err != nil {
			return err
		}
		return to.Flush()
	})
}

// render writes a trace, each state in a line.
func (t *ITFTrace) render(w *bufio.Writer, number, of int) error {
	vars := itfNames(t.Vars)
	meta, err := json.Marshal(record{{"source", t.Source}, {"description", t.About},
		{"property", t.Property}, {"number", number}, {"of", of}})
	if err != nil {
		return err
	}
	listed, err := json.Marshal(append([]string{}, vars...))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s%s,\n\"vars\":%s,\n\"states\":[", itfAbout, meta[1:], listed)
	index := 0
	for state := range t.States {
		meta := record{{"index", index}}
		if state.Action != "" {
			meta = append(meta, field{"action", state.Action})
		}
		one := record{{"#meta", meta}}
		for i, value := range state.Values {
			one = append(one, field{vars[i], value})
		}
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		if index > 0 {
			_ = w.WriteByte(',')
		}
		fmt.Fprintf(w, "\n%s", line)
		index++
	}
	_, err = w.WriteString("\n]")
	if t.Loop >= 0 {
		_, err = fmt.Fprintf(w, ",\n\"loop\":%d", t.Loop)
	}
	if err == nil {
		_, err = w.WriteString("}\n")
	}
	return err
}

// itfNames are names of variables. None begins with #, which has a meaning in the format.
func itfNames(all []string) []string {
	taken := map[string]bool{}
	for _, name := range all {
		taken[name] = true
	}
	var out []string
	for _, name := range all {
		if strings.HasPrefix(name, "#") {
			for name = "_" + name; taken[name]; {
				name = "_" + name
			}
			taken[name] = true
		}
		out = append(out, name)
	}
	return out
}
