package main

import (
	"context"
	"os"

	"github.com/vtscope/vtscope/internal/lifeline"
)

func main() {
	ctx, release := lifeline.Hold(context.Background(), false)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	release()
	os.Exit(code)
}
