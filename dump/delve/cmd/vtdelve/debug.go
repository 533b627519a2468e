package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/dap"
	"github.com/go-delve/delve/service/debugger"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/delve/adapter"
)

const debugUsage = `usage: vtdump dap [--listen ADDRESS | --client-addr ADDRESS] [--connect ADDRESS]

A debug adapter: it stands between an editor and Delve, and shows the threads that matter instead of all
goroutines. Without an address it talks to the editor over its input and output. It serves one session.

  --listen ADDRESS       wait for the editor, such as at 127.0.0.1:38697 or unix:/tmp/dap; port 0 takes a free one
  --client-addr ADDRESS  call the editor that waits there
  --connect ADDRESS      use the Delve that listens there (dlv dap --listen, dlv exec --headless) instead of an own one
  --only-same-user=false also serve other users of this machine

Other flags of dlv dap are taken and change nothing. docs/debugging.md has settings for editors.
`

// conversation is the file descriptor at which Delve, in a process of its own, finds the adapter.
const conversation = 3

// delveCommand is the argument with which vtdelve is Delve. It is a process of its own, so that it cleans up when the adapter is killed.
const delveCommand = "serve-dap"

// debugFlags are what the arguments of a debug adapter say.
type debugFlags struct {
	listen, client, connect string
	sameUser                bool
}

// parseDebug reads the arguments as dlv dap does: editors start it by its flags.
func parseDebug(args []string, errs io.Writer) (f debugFlags, err error) {
	set := flag.NewFlagSet("vtdump dap", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.listen, "listen", "", "")
	set.StringVar(&f.listen, "l", "", "")
	set.StringVar(&f.client, "client-addr", "", "")
	set.StringVar(&f.connect, "connect", "", "")
	set.BoolVar(&f.sameUser, "only-same-user", true, "")
	for _, name := range []string{"log", "headless", "check-go-version", "accept-multiclient", "disable-aslr", "allow-non-terminal-interactive"} {
		set.Bool(name, false, "")
	}
	for _, name := range []string{"log-output", "log-dest", "api-version", "backend", "build-flags", "wd", "r", "init"} {
		set.String(name, "", "")
	}
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return f, err
	case err != nil:
		return f, fmt.Errorf("%w\n    try: vtdump dap --help", err)
	case set.NArg() > 0:
		return f, fmt.Errorf("%q: what to debug is told by the editor\n    try: vtdump dap --help", set.Arg(0))
	case f.listen != "" && f.client != "":
		return f, errors.New("--listen and --client-addr: the editor calls, or waits, not both\n    try: vtdump dap --help")
	}
	return f, nil
}

// debug is the debug adapter, until its session has ended.
func debug(ctx context.Context, args []string, in io.ReadCloser, out io.WriteCloser, errs io.Writer) int {
	f, err := parseDebug(args, errs)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(out, debugUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(dump.CleanText(errs, false), "vtdump dap: %v\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := f.serve(ctx, in, out, errs); err != nil && ctx.Err() == nil {
		fmt.Fprintf(dump.CleanText(errs, false), "vtdump dap: %v\n", err)
		return 1
	}
	return 0
}

func (f *debugFlags) serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, errs io.Writer) error {
	editor, err := f.editor(ctx, in, out, errs)
	if err != nil {
		return err
	}
	if f.connect != "" {
		delve, err := dial(ctx, f.connect)
		if err != nil {
			editor.Close()
			return err
		}
		return adapter.Serve(ctx, editor, delve, adapter.Options{Elsewhere: !here(delve)})
	}
	stdout := io.Writer(os.Stdout)
	if f.overStdio() {
		stdout = errs // the other is the editor's
	}
	delve, wait, err := startDelve(stdout, errs)
	if err != nil {
		editor.Close()
		return err
	}
	return errors.Join(adapter.Serve(ctx, editor, delve, adapter.Options{OwnOutput: f.overStdio()}), wait())
}

func (f *debugFlags) overStdio() bool { return f.listen == "" && f.client == "" }

// editor waits for the editor, or calls it.
func (f *debugFlags) editor(ctx context.Context, in io.ReadCloser, out io.WriteCloser, errs io.Writer) (io.ReadWriteCloser, error) {
	switch {
	case f.client != "":
		return dial(ctx, f.client)
	case f.listen == "":
		return stdio{in, out}, nil
	}
	network, address := networkOf(f.listen)
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	fmt.Fprintf(out, "DAP server listening at: %s\n", l.Addr()) // editors wait for this line of dlv
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		if f.sameUser && network == "tcp" {
			if err := sameUser(conn); err != nil {
				conn.Close()
				fmt.Fprintf(errs, "vtdump dap: refused a connection from %s: %v\n    try: --only-same-user=false, which lets anybody there run programs as you\n", conn.RemoteAddr(), err)
				continue
			}
		}
		return conn, nil
	}
}

// networkOf tells what an address is of.
func networkOf(address string) (network, rest string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	network, rest := networkOf(address)
	return new(net.Dialer).DialContext(ctx, network, rest)
}

// here reports whether who is connected is on this machine, so that the memory of its processes can be read.
func here(conn net.Conn) bool {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	return !ok || a.IP.IsLoopback()
}

// stdio is a conversation over input and output.
type stdio struct {
	io.ReadCloser
	out io.WriteCloser
}

func (s stdio) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s stdio) Close() error                { return errors.Join(s.ReadCloser.Close(), s.out.Close()) }

// delvePatience is how long Delve may take to clean up: it has to take breakpoints out of a process.
const delvePatience = 20 * time.Second

// startDelve starts Delve in a process of its own. wait waits for its end.
func startDelve(out, errs io.Writer) (conn net.Conn, wait func() error, err error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(exe, delveCommand)
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.ExtraFiles = []*os.File{theirs}
	apart(cmd) // signals of a terminal are the adapter's: Delve ends with the conversation
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, func() error {
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			return err
		case <-time.After(delvePatience):
			return fmt.Errorf("delve, process %d, has not ended %s after its session", cmd.Process.Pid, delvePatience)
		}
	}, nil
}

// serveDelve is Delve, for one session with who is at the other end of the conversation.
func serveDelve() int {
	file := os.NewFile(conversation, "conversation")
	conn, err := net.FileConn(file)
	if err != nil {
		fmt.Fprintf(os.Stderr, "vtdelve %s: vtdump dap starts it: %v\n", delveCommand, err)
		return 2
	}
	file.Close()
	ended := make(chan struct{})
	server := dap.NewServer(&service.Config{
		DisconnectChan: ended,
		Debugger:       debugger.Config{Backend: "default", Foreground: true, CheckGoVersion: true},
	})
	defer server.Stop()
	server.RunWithClient(conn)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	select {
	case <-ended:
	case <-asked:
	}
	return 0
}
