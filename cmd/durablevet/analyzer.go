package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
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
	pos   token.Pos
	how   string
	local bool // of callers in this package alone: in libraries it is mostly a cache, or a lock around one
}

type checker struct {
	pass  *analysis.Pass
	found map[*types.Func][]problem
	calls map[*types.Func][]call // to functions of the package
	fine  map[string]map[int]bool
	named map[*ast.Ident]bool // which a call has looked at

	durable  map[*types.Func]bool         // durable code
	literals map[*types.Func]*ast.FuncLit // which is one
	steps    map[*types.Func]bool         // which makes steps, and so is a body or of one: others that have a thread ask it from outside
	asks     map[*types.Func][]problem    // what is one if it is
}

type call struct {
	pos token.Pos
	to  *types.Func
}

func run(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Path() == durablePath || isStandard(pass.Pkg.Path()) {
		return nil, nil
	}
	c := &checker{pass: pass, found: map[*types.Func][]problem{}, calls: map[*types.Func][]call{}, fine: map[string]map[int]bool{}, named: map[*ast.Ident]bool{}, durable: map[*types.Func]bool{}, literals: map[*types.Func]*ast.FuncLit{}, steps: map[*types.Func]bool{}, asks: map[*types.Func][]problem{}}
	for _, file := range pass.Files {
		c.readMarks(file)
	}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR { // bodies may be literals there
				c.variables(g)
			}
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
	for f, problems := range c.asks {
		for _, p := range problems {
			if c.steps[f] {
				c.addProblem(f, p)
			}
		}
	}
	c.propagate()
	for f, problems := range c.found {
		if i := slices.IndexFunc(problems, func(p problem) bool { return !p.local }); i >= 0 && !c.durable[f] {
			pass.ExportObjectFact(f, &reached{problems[i].how})
		}
		for _, p := range problems {
			if c.durable[f] {
				pass.Reportf(p.pos, "%s", p.how)
			}
		}
	}
	return nil, nil
}

// variables looks at the bodies among the values of variables of the package.
func (c *checker) variables(g *ast.GenDecl) {
	ast.Inspect(g, func(n ast.Node) bool {
		literal, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		if s, ok := c.pass.TypesInfo.TypeOf(literal).(*types.Signature); ok && isDurable(s) {
			c.literal(literal)
			return false
		}
		return true
	})
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

// isCall reports whether a function is one that durable.Do calls.
func isCall(s *types.Signature) bool {
	if s.Params().Len() != 1 {
		return false
	}
	n, ok := s.Params().At(0).Type().(*types.Named)
	return ok && n.Obj().Name() == "Call" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == durablePath
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
			s, ok := c.pass.TypesInfo.TypeOf(n).(*types.Signature)
			if ok && isDurable(s) && !in {
				c.literal(n)
				return false
			}
			if ok && isCall(s) { // for durable.Do, by whatever way
				c.outside(f, n)
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
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				c.written(f, to)
			}
		case *ast.IncDecStmt:
			c.written(f, n.X)
		case *ast.Ident:
			c.name(f, n)
		}
		return true
	})
}

// outside looks at a function literal that is called in a step, and may do all but two: a replay does not call it, so that it sets nothing that the body sees, and the journal is at
// that step.
func (c *checker) outside(f *types.Func, literal *ast.FuncLit) {
	captured := func(to ast.Expr) {
		for {
			switch e := ast.Unparen(to).(type) {
			case *ast.SelectorExpr:
				if _, pointer := c.pass.TypesInfo.TypeOf(e.X).Underlying().(*types.Pointer); pointer {
					return // to what may be outside
				}
				to = e.X
				continue
			case *ast.IndexExpr:
				to = e.X
				continue
			case *ast.Ident:
				v, ok := c.pass.TypesInfo.Uses[e].(*types.Var)
				if body := c.literals[f]; body != nil && ok && !within(v, body) {
					return // of whom the body is a part: it is outside too
				}
				if ok && !isOfPackage(v) && !within(v, literal) {
					c.add(f, e.Pos(), fmt.Sprintf("%s is written in a call in a durable body: a replay does not make the call; return it", v.Name()))
				}
			}
			return
		}
	}
	ast.Inspect(literal.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				captured(to)
			}
		case *ast.IncDecStmt:
			captured(n.X)
		case *ast.CallExpr:
			to, _ := typeutil.Callee(c.pass.TypesInfo, n).(*types.Func)
			if to != nil && isDurable(to.Signature()) && !stepless(to) {
				c.add(f, n.Pos(), fmt.Sprintf("%s in a call in a durable body: a step within a step", nameOf(to)))
			}
		}
		return true
	})
}

// literal checks a body that is a function literal, as one that is given to durable.Register, by itself.
func (c *checker) literal(n *ast.FuncLit) {
	own := types.NewFunc(n.Pos(), c.pass.Pkg, "literal", c.pass.TypesInfo.TypeOf(n).(*types.Signature))
	c.durable[own] = true
	c.literals[own] = n
	c.visit(own, n.Body, true)
}

func (c *checker) add(f *types.Func, pos token.Pos, how string) {
	c.addProblem(f, problem{pos: pos, how: how})
}

func (c *checker) addProblem(f *types.Func, p problem) {
	if !c.isFine(p.pos) {
		c.found[f] = append(c.found[f], p)
	}
}

// written tells of a variable of a package that is written to, or of a part of it.
func (c *checker) written(f *types.Func, to ast.Expr) {
	for {
		switch e := ast.Unparen(to).(type) {
		case *ast.SelectorExpr:
			if v, ok := c.pass.TypesInfo.Uses[e.Sel].(*types.Var); !ok || v.IsField() {
				to = e.X
				continue
			}
			to = e.Sel
		case *ast.IndexExpr:
			to = e.X
		case *ast.StarExpr:
			to = e.X
		case *ast.Ident:
			if v, ok := c.pass.TypesInfo.Uses[e].(*types.Var); ok && isOfPackage(v) {
				c.addProblem(f, problem{e.Pos(), fmt.Sprintf("%s, a variable of the package, is written in a durable body: a replay writes it again; use durable.Do, or a variable of the body", v.Name()), true})
			}
			return
		default:
			return
		}
	}
}

func isOfPackage(v *types.Var) bool { return v.Pkg() != nil && v.Parent() == v.Pkg().Scope() }

// name looks at a name that is no call: a function that somebody may call, or a variable that is outside.
func (c *checker) name(f *types.Func, n *ast.Ident) {
	if c.named[n] {
		return
	}
	switch o := c.pass.TypesInfo.Uses[n].(type) {
	case *types.Func:
		if o = o.Origin(); isCall(o.Signature()) {
			return // for durable.Do, by whatever way
		} else if o.Pkg() == c.pass.Pkg {
			if !c.isFine(n.Pos()) {
				c.calls[f] = append(c.calls[f], call{n.Pos(), o})
			}
		} else if use := reaches(o); use != "" {
			c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body, as a value: use %s", nameOf(o), use))
		} else if how, ok := c.factOf(o); ok {
			c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body, as a value: %s", nameOf(o), inIt(how)))
		}
	case *types.Var:
		if !isOfPackage(o) {
			return
		}
		if use, ok := variables[o.Pkg().Path()+"."+o.Name()]; ok {
			c.add(f, n.Pos(), fmt.Sprintf("%s.%s in a durable body: use %s", o.Pkg().Name(), o.Name(), use))
		}
	}
}

// calleeName returns the name that a call calls by.
func calleeName(n *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(n.Fun)
	for {
		switch e := fun.(type) {
		case *ast.IndexExpr:
			fun = e.X
		case *ast.IndexListExpr:
			fun = e.X
		case *ast.SelectorExpr:
			return e.Sel
		case *ast.Ident:
			return e
		default:
			return nil
		}
	}
}

func nameOf(to *types.Func) string {
	if to.Signature().Recv() != nil {
		return "(" + to.Pkg().Name() + "." + receiver(to) + ")." + to.Name()
	}
	return to.Pkg().Name() + "." + to.Name()
}

// sorts reports whether a function of package slices sorts the sequence that it is given, and returns it.
func sorts(to *types.Func, n *ast.CallExpr) (*ast.CallExpr, bool) {
	if to.Pkg().Path() != "slices" || !strings.HasPrefix(to.Name(), "Sorted") || len(n.Args) == 0 {
		return nil, false
	}
	of, ok := ast.Unparen(n.Args[0]).(*ast.CallExpr)
	return of, ok
}

// call looks at a call, and reports whether its arguments are to be looked at.
func (c *checker) call(f *types.Func, n *ast.CallExpr, in bool) bool {
	to, _ := typeutil.Callee(c.pass.TypesInfo, n).(*types.Func)
	if to == nil || to.Pkg() == nil {
		return true
	}
	to = to.Origin()
	if name := calleeName(n); name != nil {
		c.named[name] = true
	}
	if of, ok := sorts(to, n); ok {
		if seq, _ := typeutil.Callee(c.pass.TypesInfo, of).(*types.Func); seq != nil && seq.Pkg() != nil && seq.Pkg().Path() == "maps" {
			c.named[calleeName(of)] = true // its order plays no part
			for _, a := range append(of.Args, n.Args[1:]...) {
				c.visit(f, a, in)
			}
			return false
		}
	}
	switch {
	case to.Pkg().Path() == durablePath:
		if to.Name() == "Do" || to.Name() == "Move" || to.Name() == "MoveFor" {
			c.steps[f] = true
			// what it is given is outside
			for _, a := range n.Args {
				switch a := a.(type) {
				case *ast.FuncLit:
					c.outside(f, a)
				case *ast.Ident, *ast.SelectorExpr:
					if _, ok := c.pass.TypesInfo.TypeOf(a).Underlying().(*types.Signature); !ok {
						c.visit(f, a, in)
					}
				default:
					c.visit(f, a, in)
				}
			}
			return false
		}
		switch {
		case stepless(to):
			c.asks[f] = append(c.asks[f], problem{pos: n.Pos(), how: fmt.Sprintf("%s in a durable body is no step: it happens again in each replay; use durable.Do, or durable.Fork", nameOf(to))})
		case isDurable(to.Signature()) && to.Name() != "Values":
			c.steps[f] = true
		}
		return true
	case to.Pkg() == c.pass.Pkg:
		if !c.isFine(n.Pos()) {
			c.calls[f] = append(c.calls[f], call{n.Pos(), to})
		}
		return true
	}
	name := nameOf(to)
	if shares(to) {
		c.addProblem(f, problem{n.Pos(), fmt.Sprintf("%s in a durable body: what others do meanwhile is different in a replay; use durable.Do", name), true})
		return true
	}
	if use := reaches(to); use != "" {
		c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body: use %s", name, use))
		return true
	}
	if how, ok := c.factOf(to); ok {
		c.add(f, n.Pos(), fmt.Sprintf("%s in a durable body: %s", name, inIt(how)))
	}
	return true
}

// factOf returns how a function of another package reaches outside, as its analysis tells.
func (c *checker) factOf(f *types.Func) (how string, ok bool) {
	var fact reached
	if f.Pkg() == nil || isStandard(f.Pkg().Path()) || f.Pkg().Path() == durablePath || f.Pkg().Path() == continuations || !c.pass.ImportObjectFact(f, &fact) {
		return "", false
	}
	return fact.How, true
}

// within reports whether a variable is declared in a part of the code.
func within(v *types.Var, n ast.Node) bool { return n.Pos() <= v.Pos() && v.Pos() < n.End() }

// inIt makes a problem of a function that is called of one of its own.
func inIt(how string) string {
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
		if to, _ := typeutil.Callee(c.pass.TypesInfo, call).(*types.Func); to != nil && to.Pkg() != nil && isDurable(to.Signature()) {
			c.add(f, call.Pos(), fmt.Sprintf("%s in a deferred function: it is executed when the thread only hibernates, and ends there", nameOf(to)))
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
					p := problems[0]
					if i := slices.IndexFunc(problems, func(p problem) bool { return !p.local }); i > 0 {
						p = problems[i]
					}
					c.found[f] = append(c.found[f], problem{k.pos, fmt.Sprintf("%s in a durable body: %s", k.to.Name(), inIt(p.how)), p.local})
					changed = true
					continue
				}
				left = append(left, k)
			}
			c.calls[f] = left
		}
	}
}
