package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/delve"
	"github.com/vtscope/vtscope/dump/locals"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "dap":
			os.Exit(debug(context.Background(), os.Args[2:], interruptible(os.Stdin), os.Stdout, os.Stderr))
		case delveCommand:
			os.Exit(serveDelve())
		}
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run answers, and returns the exit code: 0 for an answer, 1 for a problem, 2 for arguments that are none.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	q, err := locals.Parse(args)
	if err != nil {
		fmt.Fprintf(dump.CleanText(errs, false), "%s: %v\n    try: vtdump PID --thread ID --locals, which calls it\n", locals.Command, err)
		return 2
	}
	code := 0
	answer, err := delve.Look(ctx, q)
	if err != nil {
		answer, code = &locals.Answer{Problem: locals.ProblemOf(err)}, 1
	}
	if err := locals.Write(out, answer); err != nil {
		fmt.Fprintf(dump.CleanText(errs, false), "%s: %v\n", locals.Command, err)
		return 1
	}
	return code
}
