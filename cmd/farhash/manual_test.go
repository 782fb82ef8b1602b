package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash"
	"github.com/farhash/farhash/cmd/farhash/internal/cli"
	"github.com/farhash/farhash/cmd/farhash/internal/try"
)

var update = flag.Bool("update", false, "write man/farhash.1")

const manualPage = "man/farhash.1"

// The manual page has the help of all commands and flags.
func TestManualPage(t *testing.T) {
	want := manual(newRoot())
	if *update {
		if err := os.WriteFile(manualPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(manualPage)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the help of the commands is: go generate ./cmd/farhash (%v)",
			manualPage, err)
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("there is no mandoc")
	}
	out, err := exec.Command("mandoc", "-T", "lint", "-W", "warning", manualPage).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}

// Every command has a short text that is a sentence, an example and a group, and every flag that
// has a value gives it a name.
func TestHelp(t *testing.T) {
	for _, c := range commands(newRoot()) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Example == "" || c.GroupID == "" {
			t.Errorf("help of %s: short %q, example %q, group %q", c.Name(), c.Short, c.Example,
				c.GroupID)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name, about := pflag.UnquoteUsage(f)
			if name != strings.ToUpper(name) || about == "" {
				t.Errorf("%s --%s: the value is %q, %q", c.Name(), f.Name, name, about)
			}
		})
		for line := range strings.Lines(c.Example) {
			if len(line) > 76 { // what a page of 80 columns has room for
				t.Errorf("%s: an example of %d columns: %s", c.Name(), len(line), line)
			}
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 92 {
				t.Errorf("%s: a line of %d columns: %s", c.Name(), len(line), line)
			}
		}
	}
}

// commands are those that this package has made.
func commands(root *cobra.Command) (all []*cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "help" && c.Name() != "completion" {
			all = append(all, c)
		}
	}
	return all
}

// page is a manual page in the language mdoc(7).
type page struct{ strings.Builder }

// macro writes a line of a macro, with its arguments as they are.
func (p *page) macro(words ...string) { fmt.Fprintln(p, "."+strings.Join(words, " ")) }

// line writes a line of text.
func (p *page) line(text string) {
	text = strings.ReplaceAll(text, `\`, `\e`)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	fmt.Fprintln(p, strings.ReplaceAll(text, "--", `\-\-`))
}

// literal writes lines as they are.
func (p *page) literal(text string) {
	p.macro("Bd", "-literal")
	for line := range strings.Lines(text) {
		p.line(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	p.macro("Ed")
}

// row is a line of a table in a help text: a name and what it means.
var row = regexp.MustCompile(`^  (\S+(?: \S+)*)  +(\S.*)$`)

// table writes names with what they mean, so that pages of any width fold it. What is no such
// table stays as it is.
func (p *page) table(text string) {
	var names, meanings []string
	width := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		columns := row.FindStringSubmatch(line)
		switch {
		case columns != nil:
			names, meanings = append(names, columns[1]), append(meanings, columns[2])
			if len(columns[1]) > len(width) {
				width = columns[1]
			}
		case len(names) > 0 && strings.HasPrefix(line, "      "):
			meanings[len(meanings)-1] += " " + strings.TrimSpace(line)
		default:
			p.literal(text)
			return
		}
	}
	p.macro("Bl", "-tag", "-offset", "indent", "-compact", "-width", strconv.Quote(width))
	for i, name := range names {
		p.macro("It", name)
		p.text(meanings[i])
	}
	p.macro("El")
}

// text writes paragraphs. One that is indented stays as it is.
func (p *page) text(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		switch {
		case strings.HasPrefix(paragraph, "  "):
			p.table(paragraph)
			continue
		case i > 0:
			p.macro("Pp")
		}
		text := strings.Join(strings.Fields(paragraph), " ")
		for sentence := range strings.SplitAfterSeq(text, ". ") {
			for line := range strings.Lines(cli.Wrap("", 0, sentence)) {
				p.line(strings.TrimSpace(line))
			}
		}
	}
}

// flags writes a list of the flags of a command that are not hidden.
func (p *page) flags(c *cobra.Command) {
	some := false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !some {
			p.macro("Ss Flags of " + c.Name())
			p.macro("Bl", "-tag", "-width", "Ds")
		}
		some = true
		name, about := pflag.UnquoteUsage(f)
		item := []string{"It", "Fl", "-" + f.Name}
		if f.Shorthand != "" {
			item = []string{"It", "Fl", f.Shorthand, ",", "Fl", "-" + f.Name}
		}
		if name != "" {
			item = append(item, "Ar", name)
		}
		p.macro(item...)
		if zero := f.DefValue == "0" || f.DefValue == "" || f.DefValue == "false"; !zero {
			about += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		p.text(about)
	})
	if some {
		p.macro("El")
	}
}

// environment has the variables that a user sets.
const environment = `  FARHASH_ENGINE      shm, mpi or ucx: the engine of a job of processes
  FARHASH_RENDEZVOUS  HOST:PORT where rank 0 of a job over UCX listens; farhash run
                      --rendezvous sets it
  FARHASH_TIMEOUT     time that ranks wait for each other at the start, such as 90s
  FARHASH_TIMEOUT_LOST  time for which another host may be out of reach: 3s
  FARHASH_TOKEN       the token of a job on several hosts
  FARHASH_TOKEN_FILE  a file with the token
  UCX_NET_DEVICES     the network devices that UCX may use
  UCX_TLS             the transports that UCX may use`

// manual is the manual page of all commands.
func manual(root *cobra.Command) string {
	var p page
	fmt.Fprintln(&p, `.\" From the help of the commands, by: go generate ./cmd/farhash`)
	p.macro("Dd November 22, 2026")
	p.macro("Dt FARHASH 1")
	p.macro("Os farhash", farhash.Version())
	p.macro("Sh NAME")
	p.macro("Nm farhash")
	p.macro("Nd hash tables in the memory of many processes")
	p.macro("Sh SYNOPSIS")
	p.macro("Nm")
	p.macro("Ar command")
	p.macro("Op Ar flags")
	p.macro("Nm")
	p.macro("Ar command", "Fl -help")
	p.macro("Nm")
	p.macro("Fl -version")
	p.macro("Sh DESCRIPTION")
	p.text(aboutRoot)
	p.macro("Pp")
	p.text(aboutCompletion)
	for _, c := range commands(root) {
		p.macro("Sh", strings.ToUpper(c.Name()))
		p.line(c.Short + ":")
		p.literal("  farhash " + c.Use)
		p.macro("Pp")
		p.text(c.Long)
		p.flags(c)
		p.macro("Ss Examples of " + c.Name())
		p.literal(c.Example)
	}
	p.macro("Sh ENVIRONMENT")
	p.table(environment)
	p.macro("Sh EXIT STATUS")
	p.text(aboutExitCodes)
	p.macro("Sh EXAMPLES")
	p.literal(rootExamples)
	p.macro("Sh SEE ALSO")
	p.macro("Xr farhash 3 ,")
	p.macro("Xr farhash_dht 3")
	return p.String()
}

// docs/explore.md has the exit codes of the help, and explore prints them.
func TestExitCodesOfPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| code | meaning |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var codes []string
	for row := range strings.SplitSeq(table, "\n") {
		code, meaning, _ := strings.Cut(strings.Trim(row, "| "), " | ")
		codes = append(codes, fmt.Sprintf("  %-3s  %s", code, meaning))
	}
	if got := strings.Join(codes, "\n"); got != cli.ExitCodes {
		t.Errorf("docs/explore.md has\n%s\nand the help\n%s", got, cli.ExitCodes)
	}
	try.Here(t, "explore", "--help").Has(t, 0, cli.ExitCodes)
}
