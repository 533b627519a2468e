package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var o settings
	flag.BoolVar(&o.check, "check", false, "write nothing; exit 1 if webui/dist is not what the sources give")
	flag.BoolVar(&o.vendor, "vendor", false, "first copy the libraries from webui/node_modules to webui/vendor")
	flag.StringVar(&o.root, "root", "..", "the folder webui")
	flag.StringVar(&o.agent, "agent", "", "write nothing; serve the page as its sources are, over this agent, HOST:PORT or a URL, and load it again when they change")
	flag.StringVar(&o.record, "record", "", "with -agent: write what the page and the agent say to each other to this `file`")
	flag.StringVar(&o.replay, "replay", "", "as -agent, but over what was recorded in this `file`, without a process")
	flag.Float64Var(&o.speed, "speed", 1, "with -replay: how many times as fast as it was")
	flag.StringVar(&o.addr, "addr", "127.0.0.1:7171", "where to serve")
	flag.Parse()
	why := ""
	switch {
	case flag.NArg() > 0:
		why = fmt.Sprintf("%q: takes flags only", flag.Arg(0))
	case o.agent != "" && o.replay != "":
		why = "-agent and -replay: either the one or the other"
	case o.speed <= 0:
		why = fmt.Sprintf("-speed %v: want more than 0", o.speed)
	case o.record != "" && o.agent == "":
		why = "-record: of which -agent?"
	}
	if why != "" {
		fmt.Fprintf(os.Stderr, "build: %s\n    try: go run -C webui/build . -h\n", why)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	check, vendor                     bool
	root, agent, record, replay, addr string
	speed                             float64
}

func run(o settings) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	if o.vendor {
		if err := copyLibraries(root); err != nil {
			return err
		}
	}
	if err := compareLibraries(root); err != nil {
		return err
	}
	if o.agent != "" || o.replay != "" {
		return serve(root, o)
	}
	files, maps, err := bundle(root)
	if err != nil {
		return err
	}
	if o.check {
		return errors.Join(compare(filepath.Join(root, "dist"), files), checkTypes(root))
	}
	return errors.Join(write(filepath.Join(root, "dist"), files), write(filepath.Join(root, "..", "build", "webui"), maps))
}

// serve serves the page over an agent or over recorded traffic, until it is interrupted.
func serve(root string, o settings) error {
	ctx, cancel := untilInterrupt()
	defer cancel()
	if o.replay != "" {
		back, err := openReplay(o.replay)
		if err != nil {
			return err
		}
		back.speed = o.speed
		return serveSources(ctx, root, o.addr, back)
	}
	var s *scribe
	var err error
	if o.record != "" {
		if s, err = newScribe(o.record); err != nil {
			return err
		}
	}
	back, err := newRelay(o.agent, s)
	if err == nil {
		err = serveSources(ctx, root, o.addr, back)
	}
	if s != nil {
		err = errors.Join(err, s.close())
	}
	return err
}
