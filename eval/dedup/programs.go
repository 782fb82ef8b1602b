package dedup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// program is one that removes repeated lines.
type program string

// The programs, in the order in which they are measured.
const (
	ordered   program = "farhash dedup"
	unordered program = "farhash dedup --unordered"
	exact     program = "farhash dedup --exact"
	processes program = "farhash run -n 2"
	sorting   program = "sort -u"
	mawk      program = "mawk"
	duckdb    program = "DuckDB"
	huniq     program = "huniq"
	runiq     program = "runiq"
	// copying shows what reading and writing take: it removes nothing.
	copying program = "cat"
)

func programs() []program {
	return []program{ordered, unordered, exact, processes, sorting, mawk, duckdb, huniq, runiq,
		copying}
}

// duckdbScript is a program for Node. Its arguments are the files to read and write.
const duckdbScript = `
const {DuckDBInstance} = require("@duckdb/node-api");
const [from, to] = process.argv.slice(1).map((path) => "'" + path.replaceAll("'", "''") + "'");
(async () => {
	const db = await (await DuckDBInstance.create(":memory:")).connect();
	await db.run("copy (select distinct line from read_csv(" + from + ", columns = {line: " +
		"'varchar'}, auto_detect = false, header = false, delim = '\t', quote = '', escape = ''))" +
		" to " + to + " (format csv, header false, delimiter '\t', quote '')");
})().catch((err) => { console.error(err); process.exit(1); });`

// command is how a program is called. Its output is what it writes to standard output, or the files
// it is given.
func (p program) command(farhash, in, out string) (args []string, outputs []string) {
	alone := []string{farhash, "dedup", "--quiet"}
	switch p {
	case ordered:
		return append(alone, in), nil
	case unordered:
		return append(alone, "--unordered", in), nil
	case exact:
		return append(alone, "--exact", in), nil
	case processes:
		return append(append([]string{farhash, "run", "-n", "2", "--"}, alone...), "--unordered",
			in, "-o", out), []string{out + ".0", out + ".1"}
	case sorting:
		return []string{"sort", "-u", in}, nil
	case mawk:
		return []string{"mawk", "!seen[$0]++", in}, nil
	case duckdb:
		return []string{"node", "-e", duckdbScript, in, out}, []string{out}
	case huniq:
		return []string{"huniq"}, nil // it reads standard input
	}
	return []string{string(p), in}, nil
}

// installed reports whether a program is there.
func (p program) installed(farhash string) bool {
	args, _ := p.command(farhash, "", "")
	if _, err := exec.LookPath(args[0]); err != nil {
		return false
	}
	return p != duckdb || exec.Command("node", "-e", `require("@duckdb/node-api")`).Run() == nil
}

// usage is what a program took.
type usage struct {
	cpu, wall time.Duration
	bytes     uint64 // the largest memory of one process
}

// run has a program read in, and returns what it took and what it has written.
func (p program) run(ctx context.Context, farhash, in, out string) (u usage, d digest, err error) {
	from, err := os.Open(in)
	if err != nil {
		return u, d, err
	}
	defer from.Close()
	to, err := os.Create(out)
	if err != nil {
		return u, d, err
	}
	defer to.Close()
	args, outputs := p.command(farhash, in, out)
	if outputs == nil {
		outputs = []string{out}
	}
	for _, path := range outputs {
		defer os.Remove(path)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = from, to, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // ranks end as well
	cmd.WaitDelay = 10 * time.Second
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return u, d, errors.Join(fmt.Errorf("%s: %w: %s", p, err,
			strings.TrimSpace(said.String())), ctx.Err())
	}
	u = usage{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begin),
		uint64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)}
	if runtime.GOOS != "darwin" { // which counts bytes, others KiB
		u.bytes <<= 10
	}
	for _, path := range outputs {
		err = errors.Join(err, d.add(path))
	}
	return u, d, err
}
