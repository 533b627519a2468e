package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	check := flag.Bool("check", false, "write nothing; exit 1 if webui/dist is not what the sources give")
	vendor := flag.Bool("vendor", false, "first copy the libraries from webui/node_modules to webui/vendor")
	root := flag.String("root", "..", "the folder webui")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "build: %q: takes flags only\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(*root, *check, *vendor); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1)
	}
}

func run(root string, check, vendor bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if vendor {
		if err := copyLibraries(root); err != nil {
			return err
		}
	}
	if err := compareLibraries(root); err != nil {
		return err
	}
	files, err := bundle(root)
	if err != nil {
		return err
	}
	if check {
		return errors.Join(compare(filepath.Join(root, "dist"), files), checkTypes(root))
	}
	return write(filepath.Join(root, "dist"), files)
}
