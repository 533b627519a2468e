package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// A Secret is a token. It prints as nothing but that, whatever prints it.
type Secret string

const hidden = "[secret]"

func (Secret) String() string               { return hidden }
func (Secret) GoString() string             { return hidden }
func (Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
func (Secret) Format(f fmt.State, _ rune)   { io.WriteString(f, hidden) }

// Bounds of tokens: below the first they can be guessed.
const (
	shortestToken = 20
	longestToken  = 256
	maxSecretFile = 1 << 20 // bytes of tokens, of a key, or of certificates
	maxTokens     = 1000
)

// A Token is what somebody shows, and who may do what with it.
type Token struct {
	Role   Role
	Name   string // in the audit; ""; the role
	Secret Secret
}

func (t Token) check() error {
	switch s := string(t.Secret); {
	case t.Role != Read && t.Role != Operate:
		return fmt.Errorf("a token for %v: want read or operate", t.Role)
	case len(s) < shortestToken:
		return fmt.Errorf("a token of %d characters: want at least %d, such as openssl rand -hex 32 prints", len(s), shortestToken)
	case len(s) > longestToken:
		return fmt.Errorf("a token of %d characters: want at most %d", len(s), longestToken)
	case strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0:
		return errors.New("a token with a space or a character that is not ASCII")
	case strings.IndexFunc(t.Name, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 || len(t.Name) > 40:
		return errors.New("a token's name with a space, with a character that is not ASCII, or of more than 40")
	}
	return nil
}

// ParseTokens reads tokens, one a line: ROLE TOKEN, or ROLE NAME TOKEN. Lines may be empty or begin with #. An error never has a token in it.
func ParseTokens(text string) ([]Token, error) {
	var tokens []Token
	seen := map[Secret]bool{}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 && len(words) != 3 {
			return nil, fmt.Errorf("line %d: want ROLE TOKEN or ROLE NAME TOKEN", i+1)
		}
		role, err := ParseRole(words[0])
		if err != nil { // the word may be a token
			return nil, fmt.Errorf("line %d: the first word is no role: want read or operate", i+1)
		}
		t := Token{Role: role, Secret: Secret(words[len(words)-1])}
		if len(words) == 3 {
			t.Name = words[1]
		}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if seen[t.Secret] {
			return nil, fmt.Errorf("line %d: a token that stands above", i+1)
		}
		if len(tokens) == maxTokens {
			return nil, fmt.Errorf("line %d: more than %d tokens", i+1, maxTokens)
		}
		seen[t.Secret] = true
		tokens = append(tokens, t)
	}
	if len(tokens) == 0 {
		return nil, errors.New("no token in it")
	}
	return tokens, nil
}

// ReadTokens reads a file of tokens that nobody but its owner may read, of this user or root.
func ReadTokens(path string) ([]Token, error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	tokens, err := ParseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("tokens: %s: %w", path, err)
	}
	return tokens, nil
}

// readSecret reads a file that nobody else may read.
func readSecret(path string) (string, error) {
	text, err := readOwned(path, 0o077, "600")
	return string(text), err
}

// readOwned reads a small file of this user or root, to which others have none of the permissions, and checks what it read from rather than what has the name.
func readOwned(path string, others fs.FileMode, mode string) ([]byte, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := ownedAlone(info, others); err != nil {
		return nil, Refuse(fmt.Errorf("%s: %w", path, err), "chmod "+mode+" "+path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err == nil && len(text) > maxSecretFile {
		err = fmt.Errorf("%s: more than %d bytes", path, maxSecretFile)
	}
	return text, err
}

// Variables of the environment that have tokens: those of a server, and that of a client, or of the file that has it.
const (
	EnvRead      = "VTSCOPE_TOKEN_READ"
	EnvOperate   = "VTSCOPE_TOKEN_OPERATE"
	EnvToken     = "VTSCOPE_TOKEN"
	EnvTokenFile = "VTSCOPE_TOKEN_FILE"
)

// TakeEnvironment returns the tokens of a server that are in the environment, and takes them out of it, so that its children do not have them.
func TakeEnvironment() ([]Token, error) {
	var tokens []Token
	for _, v := range []struct {
		name string
		role Role
	}{{EnvRead, Read}, {EnvOperate, Operate}} {
		s, ok := os.LookupEnv(v.name)
		if !ok {
			continue
		}
		os.Unsetenv(v.name)
		t := Token{Role: v.role, Secret: Secret(strings.TrimSpace(s))}
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		tokens = append(tokens, t)
	}
	return tokens, nil
}
