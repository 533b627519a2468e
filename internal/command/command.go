package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse parses args, and asks wrong what cannot be in them: "" if nothing. If there is nothing to run it has said why, and returns false and the exit code.
func Parse(set *flag.FlagSet, args []string, stderr io.Writer, wrong func() string) (code int, ok bool) {
	set.SetOutput(stderr)
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, false
		}
		return 2, false
	}
	why := ""
	if set.NArg() > 0 {
		why = fmt.Sprintf("unexpected argument %q", set.Arg(0))
	} else {
		why = wrong()
	}
	if why != "" {
		fmt.Fprintf(stderr, "%s: %s\n    try: %s -h\n", set.Name(), why, set.Name())
		return 2, false
	}
	return 0, true
}
