package jfr

import "strings"

// A symbol is a Go function as a JFR method. Class + "." + Method is the name that Go itself gives the function.
type symbol struct {
	Package string // the folder of the import path; "" if that has none
	Class   string // the import path, and the receiver as Go writes it; never empty
	Method  string

	path string // the import path
}

// split takes apart what [runtime.Frame.Function] says. Of a name that is none of Go's, Method is all that could not be understood.
func split(function string) symbol {
	path, rest := cutPath(function)
	if path == "" || path[0] == '[' {
		return nativeSymbol(function)
	}
	s := symbol{Class: path, Method: rest, path: path}
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		s.Package = path[:i]
	}
	if receiver, method := cutReceiver(rest); receiver != "" {
		s.Class, s.Method = path+"."+receiver, method
	}
	return s
}

// nativeSymbol is what is no name of Go's: a function of C, or an address.
func nativeSymbol(name string) symbol {
	if name == "" {
		name = "unknown"
	}
	return symbol{Class: "native", Method: name, path: "native"}
}

// cutPath cuts function after its import path, and undoes how Go escapes dots in the last element of that.
func cutPath(function string) (path, rest string) {
	name := function
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i] // types among the arguments have paths of their own
	}
	dot := strings.LastIndexByte(name, '/') + 1
	i := strings.IndexByte(name[dot:], '.')
	if i <= 0 || dot+i+1 == len(function) {
		return "", function
	}
	return strings.ReplaceAll(function[:dot+i], "%2e", "."), function[dot+i+1:]
}

// cutReceiver cuts "(*T).M" and "T.M" before the method; of a function, receiver is empty.
func cutReceiver(rest string) (receiver, method string) {
	var i int
	if strings.HasPrefix(rest, "(") {
		i = strings.Index(rest, ").") + 1
	} else {
		i = endOfName(rest)
	}
	if i <= 0 || i+1 >= len(rest) || rest[i] != '.' {
		return "", rest
	}
	if receiver, method = rest[:i], rest[i+1:]; receiver[0] != '(' && !isMethod(method) {
		return "", rest // T is the function around it
	}
	return receiver, method
}

// isMethod reports whether s is the name of a method, with function literals in it. Else what comes before it is a function that it was inlined into.
func isMethod(s string) bool {
	for first := true; ; first = false {
		name := firstName(s)
		if madeByCompiler(name) == first || name != "" && name[0] == '(' {
			return false
		}
		if len(name) == len(s) {
			return true
		}
		s = strings.TrimPrefix(s[len(name):], ".")
	}
}

// endOfName returns where the name that s begins with ends, its type arguments included.
func endOfName(s string) int {
	i := strings.IndexAny(s, ".[")
	if i >= 0 && s[i] == '[' {
		depth := 0
		for ; i < len(s); i++ {
			switch s[i] {
			case '[':
				depth++
			case ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return i
}

func firstName(s string) string {
	if i := endOfName(s); i >= 0 {
		return s[:i]
	}
	return s
}

// madeByCompiler reports whether the compiler gave a function literal or a wrapper this name.
func madeByCompiler(name string) bool {
	name, _, _ = strings.Cut(name, "-range")
	for _, prefix := range []string{"func", "gowrap", "deferwrap"} {
		if digits, ok := strings.CutPrefix(name, prefix); ok && digits != "" {
			name = digits
			break
		}
	}
	return strings.Trim(name, "0123456789") == "" // "", "1" and what was left of func1
}

// ofStandardLibrary reports whether the import path is one of Go's own, or vtscope's runtime: a user's frame is further out.
func ofStandardLibrary(path string) bool {
	if rest, ok := strings.CutPrefix(path, ourRuntime); ok && (rest == "" || rest[0] == '/') {
		return true
	}
	first, _, _ := strings.Cut(path, "/")
	_, ok := standardRoots[first]
	return ok
}

const ourRuntime = "github.com/vtscope/vtscope/runtime"

// standardRoots are the first elements of the import paths of the standard library, and what stands for frames that are not Go's.
var standardRoots = func() map[string]struct{} {
	roots := map[string]struct{}{}
	for _, name := range strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar
		flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime simd slices sort strconv
		strings structs sync syscall testing text time unicode unique unsafe vendor weak native`) {
		roots[name] = struct{}{}
	}
	return roots
}()
