package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farhash/farhash/internal/nearest"
)

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, given []string) error {
	if len(given) > 0 {
		return Usage(fmt.Errorf("%s takes no arguments, but %q was given", cmd.Name(),
			given[0]))
	}
	return nil
}

// OneArg asks for one argument. about describes it, with an example.
func OneArg(name, about string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch form := formOfJSON(cmd, given); {
		case form != "":
			return Usage(fmt.Errorf("--json takes its value with =: write --json=%s", form))
		case len(given) == 0:
			return Usage(fmt.Errorf("%s is missing: %s", name, about))
		case len(given) == 1:
			return nil
		}
		return Usage(fmt.Errorf("%s takes one %s, but also %q was given", cmd.Name(), name,
			given[1]))
	}
}

// formOfJSON is the argument that was meant as the value of --json, or "". The flag needs no value,
// so pflag takes one only after =, and "--json lines" leaves lines as an argument. A file of that
// name is an argument too.
func formOfJSON(cmd *cobra.Command, given []string) JSONForm {
	flag := cmd.Flags().Lookup("json")
	if flag == nil || !flag.Changed || flag.NoOptDefVal != string(JSONObject) {
		return ""
	}
	for _, form := range []JSONForm{JSONObject, JSONLines} {
		if _, err := os.Lstat(string(form)); err != nil && slices.Contains(given, string(form)) {
			return form
		}
	}
	return ""
}

// OptionalArg allows one argument.
func OptionalArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) > 1 {
			return Usage(fmt.Errorf("%s takes one %s, but also %q was given", cmd.Name(), name,
				given[1]))
		}
		return nil
	}
}

// badFlag words an error of a flag of a command.
func badFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := nearest.Name(unknown.GetSpecifiedName(), slices.Values(longFlags(cmd)))
		if name != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	case errors.As(err, &invalid) && errors.Is(err, errGivenTwice):
		return fmt.Errorf("%s is given twice; give it once", flagNames(invalid.GetFlag()))
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		return fmt.Errorf("%s must be %s, not %q", flagNames(flag), valueOf(flag),
			invalid.GetValue())
	case errors.As(err, &missing):
		flag := missing.GetFlag()
		return fmt.Errorf("%s needs %s", flagNames(flag), valueOf(flag))
	}
	return err
}

// longFlags are the names of the flags of a command.
func longFlags(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// Once is the value of a flag that may be given once: of two values one would be ignored.
type Once struct {
	Text  *string
	given bool
}

func (o *Once) String() string {
	if o.Text == nil {
		return ""
	}
	return *o.Text
}

func (*Once) Type() string { return "string" }

func (o *Once) Set(text string) error {
	if o.given {
		return errGivenTwice
	}
	*o.Text, o.given = text, true
	return nil
}

var errGivenTwice = errors.New("given twice")

// flagNames is "-n, --ranks" or "--mem".
func flagNames(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand + ", --" + flag.Name
	}
	return "--" + flag.Name
}

// valueOf describes the values of a flag.
func valueOf(flag *pflag.Flag) string {
	switch flag.Value.Type() {
	case "int", "uint64":
		return "a whole number"
	case "float64":
		return "a number"
	case "FORM":
		return "object or lines"
	case "bool":
		return "true or false"
	case "duration":
		return "a time such as 90s or 10m"
	}
	_, about := pflag.UnquoteUsage(flag)
	return "a value: " + strings.ReplaceAll(about, "\n", " ")
}

// CompleteFlags has shells complete the values of flags: those that are fixed, and files where
// the usage text names a FILE.
func CompleteFlags(cmd *cobra.Command, fixed map[string][]cobra.Completion) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(flag)
		complete := cobra.NoFileCompletions
		switch values, found := fixed[flag.Name]; {
		case found:
			complete = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		case strings.HasPrefix(name, "FILE"):
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete) // fails for unknown flags alone
	})
}

// foldUsages folds the usage texts of flags, which cobra would print in lines of any length.
func foldUsages(cmd *cobra.Command) {
	const columns = 60
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		var text strings.Builder
		at := 0
		for word := range strings.FieldsSeq(flag.Usage) {
			switch {
			case at == 0:
			case at+1+len(word) > columns:
				text.WriteByte('\n')
				at = 0
			default:
				text.WriteByte(' ')
				at++
			}
			text.WriteString(word)
			at += len(word)
		}
		flag.Usage = text.String()
	})
}

// JSONForm is the value of --json: empty, an object, or lines before it.
type JSONForm string

const (
	JSONObject JSONForm = "object"
	JSONLines  JSONForm = "lines"
)

func (j *JSONForm) String() string { return string(*j) }

func (*JSONForm) Type() string { return "FORM" }

func (j *JSONForm) Set(text string) error {
	switch text {
	case string(JSONObject), string(JSONLines):
		*j = JSONForm(text)
	case "true":
		*j = JSONObject
	case "false":
		*j = ""
	default:
		return errors.New("neither object nor lines")
	}
	return nil
}

// InputFile is the file that an argument names, where - is standard input.
func InputFile(arg string) string {
	if arg == "-" {
		return "/dev/stdin"
	}
	return arg
}
