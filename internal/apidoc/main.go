package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stable are the packages that docs/api.md promises.
var stable = []string{
	"agent/auto", "runtime/structured", "runtime/vfile", "runtime/vhttp", "runtime/vnet", "runtime/vslog", "runtime/vsync", "runtime/vthread", "runtime/vttest",
}

const usage = "usage: apidoc FILE\n       apidoc -breaks OLD.txt NEW.txt CHANGELOG.md"

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "apidoc: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] != "-breaks":
		lines, err := surface(filepath.Join(filepath.Dir(args[0]), ".."))
		if err != nil {
			return err
		}
		return os.WriteFile(args[0], []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	case len(args) == 4 && args[0] == "-breaks":
		var texts [3]string
		for i, path := range args[1:] {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts[i] = string(b)
		}
		if untold := breaks(texts[0], texts[1], texts[2]); len(untold) > 0 {
			return fmt.Errorf("%s does not name what is gone, or has another type:\n\t%s", args[3], strings.Join(untold, "\n\t"))
		}
		return nil
	}
	return fmt.Errorf("%s", usage)
}

// breaks returns the lines of an old surface that the new one has not, and whose names the changelog does not have.
func breaks(was, is, changelog string) (untold []string) {
	now := map[string]bool{}
	for line := range strings.Lines(is) {
		now[line] = true
	}
	for line := range strings.Lines(was) {
		if now[line] {
			continue
		}
		if line = strings.TrimSpace(line); !strings.Contains(changelog, "`"+nameOf(line)+"`") {
			untold = append(untold, line)
		}
	}
	return untold
}

// nameOf is how a changelog names what a line is of: "vthread.Recv", or "vthread.Thread.Join" of a method or a field.
func nameOf(line string) string {
	name, _, _ := strings.Cut(line, ": ")
	return name
}

// surface returns what the stable packages below a directory export, sorted.
func surface(root string) (lines []string, err error) {
	for _, path := range stable {
		more, err := exported(filepath.Join(root, path), path[strings.LastIndexByte(path, '/')+1:])
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// exported returns what a package exports: "vthread.Recv: func[T any](ch <-chan T) (T, error)".
func exported(dir, name string) (lines []string, err error) {
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if f.Name.Name == name {
			files = append(files, f)
		}
	}
	d, err := doc.NewFromFiles(set, files, name, doc.AllMethods)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	text := func(node any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, set, node); err != nil {
			return err.Error() // of a node that the parser has made there is none
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	tell := func(what, as string) { lines = append(lines, name+"."+what+": "+as) }
	function := func(prefix string, f *doc.Func) {
		t := *f.Decl.Type
		params := ""
		if t.TypeParams != nil {
			params = "[" + strings.TrimSuffix(strings.TrimPrefix(text(&ast.FuncType{Params: t.TypeParams}), "func("), ")") + "]"
			t.TypeParams = nil
		}
		tell(prefix+f.Name, "func"+params+strings.TrimPrefix(text(&t), "func"))
	}
	values := func(kind string, all []*doc.Value) {
		for _, v := range all {
			for _, n := range v.Names {
				if token.IsExported(n) {
					tell(n, kind)
				}
			}
		}
	}
	values("const", d.Consts)
	values("var", d.Vars)
	for _, f := range d.Funcs {
		function("", f)
	}
	for _, t := range d.Types {
		values("const", t.Consts)
		values("var", t.Vars)
		for _, f := range t.Funcs {
			function("", f)
		}
		for _, f := range t.Methods {
			function(t.Name+".", f)
		}
		for _, spec := range t.Decl.Specs {
			typeOf(spec.(*ast.TypeSpec), text, tell)
		}
	}
	return lines, nil
}

// typeOf tells a type: a struct and an interface by their exported members, each in a line of its own.
func typeOf(spec *ast.TypeSpec, text func(any) string, tell func(what, as string)) {
	if !spec.Name.IsExported() {
		return
	}
	params := ""
	if spec.TypeParams != nil {
		params = "[" + strings.TrimSuffix(strings.TrimPrefix(text(&ast.FuncType{Params: spec.TypeParams}), "func("), ")") + "]"
	}
	kind := "type" + params + " "
	if spec.Assign.IsValid() {
		kind = "type" + params + " = "
	}
	var members *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		members = t.Fields
		tell(spec.Name.Name, kind+"struct")
	case *ast.InterfaceType:
		members = t.Methods
		tell(spec.Name.Name, kind+"interface")
	default:
		tell(spec.Name.Name, kind+text(spec.Type))
		return
	}
	for _, f := range members.List {
		for _, n := range f.Names {
			if n.IsExported() {
				tell(spec.Name.Name+"."+n.Name, text(f.Type))
			}
		}
		if as := text(f.Type); len(f.Names) == 0 && token.IsExported(strings.TrimLeft(as[strings.LastIndexByte(as, '.')+1:], "*")) {
			tell(spec.Name.Name+"."+as, "embedded")
		}
	}
}
