package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer is durablevet's.
var Analyzer = &analysis.Analyzer{
	Name:      "durable",
	Doc:       "report what bodies of durable threads ask the outside for without a step",
	URL:       "https://github.com/vtscope/vtscope/blob/main/docs/durable.md",
	Run:       run,
	FactTypes: []analysis.Fact{new(reached)},
}

// reached is the fact that a function reaches outside.
type reached struct{ How string }

func (*reached) AFact() {}

func (r *reached) String() string { return r.How }

// A problem is something in a function that a replay may do differently.
type problem struct {
	pos token.Pos
	how string
}

type checker struct {
	pass  *analysis.Pass
	found map[*types.Func][]problem
	calls map[*types.Func][]call // to functions of the package
	fine  map[string]map[int]bool

	durable map[*types.Func]bool // durable code
}

type call struct {
	pos token.Pos
	to  *types.Func
}

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == durablePath || isStandard(pass.Pkg.Path()) {
		return nil, nil
	}
	c := &checker{pass: pass, found: map[*types.Func][]problem{}, calls: map[*types.Func][]call{}, fine: map[string]map[int]bool{}, durable: map[*types.Func]bool{}}
	for _, file := range pass.Files {
		c.readMarks(file)
	}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			f, _ := pass.TypesInfo.Defs[d.Name].(*types.Func)
			if f == nil {
				continue
			}
			c.durable[f] = isDurable(f.Signature())
			c.visit(f, d.Body, c.durable[f])
		}
	}
	c.propagate()
	for f, problems := range c.found {
		if len(problems) > 0 && !c.durable[f] {
			pass.ExportObjectFact(f, &reached{problems[0].how})
		}
		for _, p := range problems {
			if c.durable[f] {
				pass.Reportf(p.pos, "%s", p.how)
			}
		}
	}
	return nil, nil
}

// isStandard reports whether a package is of the standard library, whose functions the rules tell of.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "main" && !strings.Contains(path, "testdata") && isGoroot(first)
}

// isGoroot reports whether a folder of the standard library has that name.
func isGoroot(first string) bool {
	switch first {
	case "archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html",
		"image", "index", "internal", "io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings",
		"structs", "sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe", "vendor", "weak":
		return true
	}
	return false
}

// readMarks notes the lines with //durable:ok.
func (c *checker) readMarks(file *ast.File) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//durable:ok") {
				p := c.pass.Fset.Position(comment.Pos())
				if c.fine[p.Filename] == nil {
					c.fine[p.Filename] = map[int]bool{}
				}
				c.fine[p.Filename][p.Line] = true
			}
		}
	}
}

func (c *checker) isFine(pos token.Pos) bool {
	p := c.pass.Fset.Position(pos)
	return c.fine[p.Filename][p.Line]
}

// isDurable reports whether a function has a durable thread as a parameter.
func isDurable(s *types.Signature) bool {
	for v := range s.Params().Variables() {
		if isThread(v.Type()) {
			return true
		}
	}
	return false
}

func isThread(t types.Type) bool {
	p, ok := t.(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := p.Elem().(*types.Named)
	return ok && n.Obj().Name() == "Thread" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == durablePath
}

// visit collects what a function does. in tells whether it is durable code; function literals with a thread are, wherever they are.
func (c *checker) visit(f *types.Func, body ast.Node, in bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if s, ok := c.pass.TypesInfo.TypeOf(n).(*types.Signature); ok && isDurable(s) && !in {
				c.literal(n)
				return false
			}
		case *ast.CallExpr:
			return c.call(f, n, in)
		case *ast.GoStmt:
			c.add(f, n.Pos(), "go statement in a durable body: use durable.Fork")
		case *ast.SelectStmt:
			c.add(f, n.Pos(), "select in a durable body: use durable.Await or durable.AwaitFor")
			return false
		case *ast.SendStmt:
			c.add(f, n.Pos(), "channel in a durable body: use durable.Do")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				c.add(f, n.Pos(), "channel in a durable body: use durable.Await")
			}
		case *ast.RangeStmt:
			switch c.pass.TypesInfo.TypeOf(n.X).Underlying().(type) {
			case *types.Map:
				c.add(f, n.Pos(), "range over a map in a durable body: its order is another in a replay; sort the keys")
			case *types.Chan:
				c.add(f, n.Pos(), "channel in a durable body: use durable.Await")
			}
		case *ast.DeferStmt:
			c.deferred(f, n, in)
		}
		return true
	})
}

// literal checks a body that is a function literal, as one that is given to durable.Register, by itself.
func (c *checker) literal(n *ast.FuncLit) {
	own := types.NewFunc(n.Pos(), c.pass.Pkg, "literal", c.pass.TypesInfo.TypeOf(n).(*types.Signature))
	c.durable[own] = true
	c.visit(own, n.Body, true)
}

func (c *checker) add(f *types.Func, pos token.Pos, how string) {
	if !c.isFine(pos) {
		c.found[f] = append(c.found[f], problem{pos, how})
	}
}

// call looks at a call, and reports whether its arguments are to be looked at.
func (c *checker) call(f *types.Func, n *ast.CallExpr, in bool) bool {
	to, _ := typeutil.Callee(c.pass.TypesInfo, n).(*types.Func)
	if to == nil || to.Pkg() == nil {
		return true
	}
	to = to.Origin()
	switch {
	case to.Pkg().Path() == durablePath:
		if to.Name() == "Do" || to.Name() == "Move" { // what it is given is outside
			for _, a := range n.Args {
				if _, ok := a.(*ast.FuncLit); !ok {
					c.visit(f, a, in)
				}
			}
			return false
		}
		return true
	case to.Pkg() == c.pass.Pkg:
		if !c.isFine(n.Pos()) {
			c.calls[f] = append(c.calls[f], call{n.Pos(), to})
		}
		return true
	}
	name := to.Pkg().Name() + "." + to.Name()
	if to.Signature().Recv() != nil {
		name = "(" + to.Pkg().Name() + "." + receiver(to) + ")." + to.Name()
	}
	if use := reaches(to); use != "" {
		c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body: use %s", name, use))
		return true
	}
	var fact reached
	if !isStandard(to.Pkg().Path()) && c.pass.ImportObjectFact(to, &fact) {
		c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body: %s", name, within(fact.How)))
	}
	return true
}

// within makes a problem of a function that is called of one of its own.
func within(how string) string {
	return strings.Replace(how, " in a durable body", " in it", 1)
}

// deferred tells of steps in deferred functions.
func (c *checker) deferred(f *types.Func, n *ast.DeferStmt, in bool) {
	if !in {
		return
	}
	ast.Inspect(n.Call, func(m ast.Node) bool {
		call, ok := m.(*ast.CallExpr)
		if !ok {
			return true
		}
		if to, _ := typeutil.Callee(c.pass.TypesInfo, call).(*types.Func); to != nil && to.Pkg() != nil && to.Pkg().Path() == durablePath && to.Signature().Recv() == nil {
			c.add(f, call.Pos(), fmt.Sprintf("durable.%s in a deferred function: it is executed when the thread only hibernates, and ends there", to.Name()))
			return false
		}
		return true
	})
}

// propagate adds to each function what the functions of the package that it calls do, one for each call.
func (c *checker) propagate() {
	for changed := true; changed; {
		changed = false
		for f, calls := range c.calls {
			var left []call
			for _, k := range calls {
				if isDurable(k.to.Signature()) { // it is looked at by itself
					continue
				}
				if problems := c.found[k.to]; len(problems) > 0 {
					c.found[f] = append(c.found[f], problem{k.pos, fmt.Sprintf("%s in a durable body: %s", k.to.Name(), within(problems[0].how))})
					changed = true
					continue
				}
				left = append(left, k)
			}
			c.calls[f] = left
		}
	}
}
