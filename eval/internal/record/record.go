package record

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Key is a condition of a measurement.
type Key struct{ Name, Value string }

// K is a key with a value as it is printed.
func K(name string, value any) Key {
	text := fmt.Sprint(value)
	switch v := value.(type) {
	case float64:
		text = strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		text = strings.Join(strings.Fields(strings.ReplaceAll(v, "/", ".")), "_")
	}
	return Key{name, text}
}

// Value is a figure with its unit, such as 377 ns/op.
type Value struct {
	Value float64
	Unit  string
}

// Record is one measurement of one case.
type Record struct {
	Name   string // what was measured, such as OPTable1; a letter first, no slashes
	Keys   []Key  // the case
	N      int    // operations that the values are from
	Values []Value
}

// Config is what all records of a run have in common, such as the processor.
type Config []Key

// Incomplete is the key of a configuration that says why not everything was measured.
const Incomplete = "incomplete"

// Machine is the configuration that Go's benchmarks print, and the command.
func Machine(cpu, command string) Config {
	return Config{{"goos", runtime.GOOS}, {"goarch", runtime.GOARCH}, {"cpu", cpu},
		{"cores", strconv.Itoa(runtime.NumCPU())}, {"go", runtime.Version()},
		{"command", command}}
}

// Get is the value of a key, "" if there is none.
func (c Config) Get(name string) string {
	for _, k := range c {
		if k.Name == name {
			return k.Value
		}
	}
	return ""
}

// Write writes records in the benchmark format.
func Write(w io.Writer, config Config, records []Record) error {
	for _, k := range config {
		if k.Value == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", k.Name, k.Value); err != nil {
			return err
		}
	}
	for i := range records {
		r := &records[i]
		line := []byte("Benchmark" + r.Name)
		for _, k := range r.Keys {
			line = append(line, "/"+k.Name+"="+k.Value...)
		}
		line = fmt.Appendf(line, "-%d\t%d", runtime.GOMAXPROCS(0), max(r.N, 1))
		for _, v := range r.Values {
			line = fmt.Appendf(line, "\t%.6g %s", v.Value, v.Unit)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Read reads what Write has written. name is the name of the file, for errors.
func Read(from io.Reader, name string) (config Config, records []Record, err error) {
	r := benchfmt.NewReader(from, name)
	for r.Scan() {
		switch is := r.Result().(type) {
		case *benchfmt.SyntaxError:
			err = errors.Join(err, is)
		case *benchfmt.Result:
			records = append(records, record(is))
			if config == nil {
				for _, c := range is.Config {
					if c.File {
						config = append(config, Key{c.Key, string(c.Value)})
					}
				}
			}
		}
	}
	return config, records, errors.Join(err, r.Err())
}

// record turns a result into a record. The reader of benchmarks converts units such as ns;
// what was written is kept beside.
func record(is *benchfmt.Result) Record {
	base, parts := is.Name.Parts()
	r := Record{Name: string(base), N: is.Iters}
	for _, part := range parts {
		if part[0] == '/' {
			name, value, _ := strings.Cut(string(part[1:]), "=")
			r.Keys = append(r.Keys, Key{name, value})
		}
	}
	for _, v := range is.Values {
		value := Value{v.Value, v.Unit}
		if v.OrigUnit != "" {
			value = Value{v.OrigValue, v.OrigUnit}
		}
		r.Values = append(r.Values, value)
	}
	return r
}
