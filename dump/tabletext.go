package dump

import (
	"io"
	"strings"
)

// TableText prints a table for a person: a line for each row, indented below the row around it. Top is the number of rows shown below each row; 0 means 10, negative all.
func TableText(w io.Writer, t *Table, o TextOptions) error {
	glyphs, lines := o.drawn()
	if o.Top == 0 {
		o.Top = 10
	}
	p := &tablePage{t: t, o: o, glyphs: glyphs, lines: lines}
	p.print()
	_, err := w.Write(p.b.Bytes())
	return err
}

// A tablePage is a table being printed.
type tablePage struct {
	t *Table
	o TextOptions
	glyphs
	lines
	countCol int
}

func (p *tablePage) print() {
	t := p.t
	p.text(bold, p.process(&t.Process))
	p.text(plain, "  "+t.Process.Threads(t.Threads)+" by "+strings.Join(t.By, ", "))
	p.endLine()
	p.trust(&t.Process, max(t.Taken.Sub(t.AsOf), 0), t.Took, t.Complete)
	p.endLine()
	if t.Filter != "" {
		p.text(plain, "only "+p.clean(t.Filter)+": "+Count(t.Filtered, "other thread"))
		p.endLine()
	}
	p.missing(t.Incomplete)
	p.endLine()
	p.countCol = max(len(Thousands(t.Threads)), len(t.Process.noun()+"s")) + 1
	p.right(dim, t.Process.noun()+"s", p.countCol)
	p.text(dim, "  waits for       "+p.pattern()+"  ")
	p.text(dim, strings.Join(t.By, ", "))
	p.endLine()
	p.below(-1, 0)
}

// patternWidth is how many columns the shape of waits has.
const patternWidth = 12

func (p *tablePage) pattern() string {
	if p.o.ASCII {
		return "1us --> 5min"
	}
	return "1µs ──► 5min"
}

// below prints the rows of a parent, from row i on, and returns the row after them.
func (p *tablePage) below(parent, i int) int {
	shown, more, moreCount := 0, 0, 0
	for i < len(p.t.Rows) && (parent < 0 || p.t.Rows[i].Depth > p.t.Rows[parent].Depth) {
		row := &p.t.Rows[i]
		if p.o.Top > 0 && shown == p.o.Top {
			more++
			moreCount += row.Count
			for i++; i < len(p.t.Rows) && p.t.Rows[i].Depth > row.Depth; i++ {
			}
			continue
		}
		shown++
		p.row(row)
		i = p.below(i, i+1)
	}
	if more > 0 {
		depth := 0
		if parent >= 0 {
			depth = p.t.Rows[parent].Depth + 1
		}
		p.right(dim, Thousands(moreCount), p.countCol)
		p.pad(p.valueCol(depth))
		p.text(dim, p.ellipsis+" "+Count(more, "more row"))
		p.endLine()
	}
	return i
}

func (p *tablePage) valueCol(depth int) int { return p.countCol + 2 + 16 + patternWidth + 2 + 2*depth }

func (p *tablePage) row(r *TableRow) {
	st := plain
	if r.Depth == 0 && len(p.t.By) > 1 {
		st = bold
	}
	p.right(st, Thousands(r.Count), p.countCol)
	p.text(plain, "  ")
	p.text(plain, r.Wait.Text(r.Count, Span))
	p.pad(p.countCol + 2 + 16)
	p.text(dim, p.shape(r))
	p.pad(p.valueCol(r.Depth))
	p.text(st, p.clean(r.Value))
	if r.Count == 1 && r.Oldest != nil {
		p.text(dim, "   #"+number(uint64(r.Oldest.ID)))
		if r.Oldest.Name != "" {
			p.text(dim, " "+p.quote(r.Oldest.Name))
		}
	}
	p.endLine()
}

// shape draws how the waits are distributed: a column for each quarter of a decade from a microsecond on, as high as it has threads.
func (p *tablePage) shape(r *TableRow) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	if p.o.ASCII {
		levels = []rune(" .:-=+*#@")
	}
	var columns [patternWidth]uint64
	most := uint64(0)
	for i, n := range r.Waits {
		c := min(max((r.First+i-6)*patternWidth/58, 0), patternWidth-1)
		columns[c] += n
		most = max(most, columns[c])
	}
	var b strings.Builder
	for _, n := range columns {
		level := 0
		if n > 0 {
			level = 1 + int(n*uint64(len(levels)-2)/most)
		}
		b.WriteRune(levels[level])
	}
	return b.String()
}
