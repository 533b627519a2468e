package access

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// clean returns a text from the wire as it may stand in a line: without control characters and broken UTF-8, and of at most so many bytes.
func clean(s string, most int) string {
	cut := len(s) > most
	if cut {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most]
	}
	s = strings.Map(func(c rune) rune {
		// Direction marks and line separators change how a line reads.
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == '\u2028' || c == '\u2029' || c >= '\u202a' && c <= '\u202e' || c >= '\u2066' && c <= '\u2069' || c == utf8.RuneError {
			return '?'
		}
		return c
	}, s)
	if cut {
		s += "…"
	}
	return s
}

// OpenAudit returns a logger that appends a JSON object for each line to a file of mode 0600, which is made if it is not there. Links are not followed, and a file with
// two names is refused.
func OpenAudit(path string) (*slog.Logger, *os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openNoFollow|openNonblock, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("audit: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err == nil { // a name in a neighbour's directory may lead to any file of this user
		err = plainfile.Sole(f)
	}
	if err == nil {
		if err = ownedAlone(info, 0o022); err != nil {
			err = Refuse(fmt.Errorf("%s: %w", path, err), "chmod 600 "+path)
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("audit: %w", err)
	}
	return slog.New(slog.NewJSONHandler(f, nil)), f, nil
}

// Audit writes the line of an action. Handlers behind [Policy.Handler] need not: each request that needs the role operate has one. It is for actions that come
// another way, such as messages of a websocket. The texts may be those of who asks.
func (p *Policy) Audit(ctx context.Context, what, process, result string) {
	p.line(slog.LevelInfo, "action", CallerOf(ctx), what, process, result, 0)
}

func (p *Policy) line(level slog.Level, message string, who Caller, what, process, result string, took time.Duration) {
	if p.options.Audit == nil {
		return
	}
	attrs := []slog.Attr{
		slog.String("who", clean(who.Name, 120)), slog.String("role", who.Role.String()), slog.String("peer", clean(who.Peer, 120)),
		slog.String("what", clean(what, 200)), slog.String("process", clean(process, 80)), slog.String("result", clean(result, 200)),
	}
	if took > 0 {
		attrs = append(attrs, slog.Duration("took", took))
	}
	p.options.Audit.LogAttrs(context.Background(), level, message, attrs...)
}

// Refusals are told one by one up to so many in a second; then how many there were.
const refusalsTold = 20

// refused writes the line of something that was not allowed.
func (p *Policy) refused(who Caller, what, why string) {
	p.mu.Lock()
	now := time.Now()
	missed := 0
	if now.After(p.mu.quiet) {
		if p.mu.count > refusalsTold {
			missed = p.mu.count - refusalsTold
		}
		p.mu.quiet, p.mu.count = now.Add(time.Second), 0
	}
	p.mu.count++
	tell := p.mu.count <= refusalsTold
	p.mu.Unlock()
	if missed > 0 {
		p.line(slog.LevelWarn, "refused", Caller{}, fmt.Sprintf("%d more", missed), "", "not told one by one", 0)
	}
	if tell {
		p.line(slog.LevelWarn, "refused", who, what, "", why, 0)
	}
}

// An errorLog takes what net/http complains of: texts of whoever connects, and stacks of handlers that panicked.
type errorLog struct{ p *Policy }

func (e errorLog) Write(b []byte) (int, error) {
	line, stack, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if strings.Contains(line, "panic serving") && e.p.options.Audit != nil {
		e.p.options.Audit.Error("panic", "what", clean(line, 300), "stack", clean(strings.ReplaceAll(stack, "\n", " | "), 4000))
		return len(b), nil
	}
	e.p.refused(Caller{}, "connection", line)
	return len(b), nil
}
