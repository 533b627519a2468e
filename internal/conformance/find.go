package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A test is a function that shows behaviours.
type test struct {
	dir   string // of its package, relative to the working directory
	name  string
	codes []string
	at    token.Position
}

// find returns the tests below a folder that name codes, and a line for each comment that names codes where they
// do not count.
func find(root string) (tests []test, wrong []string, err error) {
	files := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isNoCode(path, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found, bad := inFile(files, file)
		for i := range found {
			found[i].dir = filepath.Dir(path)
		}
		tests, wrong = append(tests, found...), append(wrong, bad...)
		return nil
	})
	return tests, wrong, err
}

// isNoCode reports whether a folder holds no tests of the main module: Go's tools leave these out, too.
func isNoCode(path, name string) bool {
	if name == "testdata" || name == "node_modules" || path != "." && (name[0] == '.' || name[0] == '_') {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil && path != "."
}

func inFile(files *token.FileSet, file *ast.File) (tests []test, wrong []string) {
	above := map[*ast.CommentGroup]*ast.FuncDecl{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
			above[f.Doc] = f
		}
	}
	for _, comment := range file.Comments {
		f := above[comment]
		var codes []string
		for _, line := range comment.List {
			found, err := codesOf(line.Text)
			if err == nil && found != nil && (f == nil || !isTest(f)) {
				err = fmt.Errorf("codes that are not above a test")
			}
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %q: %v", files.Position(line.Pos()), line.Text, err))
				continue
			}
			codes = append(codes, found...)
		}
		if f != nil && isTest(f) && codes != nil {
			tests = append(tests, test{name: f.Name.Name, codes: codes, at: files.Position(f.Pos())})
		}
	}
	return tests, wrong
}

var (
	codeForm = regexp.MustCompile(`^[A-Z]{2}-\d{2}[a-z]?$`)
	codeLike = regexp.MustCompile(`^[A-Z]{2}-?\d`)
)

// codesOf returns the codes of a comment line "// XX-01, XX-02: words", or none if the line does not begin with
// one.
func codesOf(line string) (codes []string, err error) {
	text := strings.TrimSpace(strings.TrimPrefix(line, "//"))
	if !codeLike.MatchString(text) {
		return nil, nil
	}
	list, _, _ := strings.Cut(text, ":")
	for code := range strings.SplitSeq(list, ",") {
		if code = strings.TrimSpace(code); !codeForm.MatchString(code) {
			return nil, fmt.Errorf("%q is not a code; want XX-01, XX-02: words", code)
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// isTest reports whether go test runs f.
func isTest(f *ast.FuncDecl) bool {
	if f.Recv != nil {
		return false
	}
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(f.Name.Name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}
