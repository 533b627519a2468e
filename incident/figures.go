package incident

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// figuresFormat names the JSON document of figures.
const figuresFormat = "vtscope/figures/v1"

// Figures are counts that are exact whatever was recorded.
type Figures struct {
	Format string            `json:"format"`
	Events map[string]uint64 `json:"events"` // by kind, since the process began; those of a kind that is off may be fewer than there were
	Off    []string          `json:"off"`    // kinds that are not recorded
	Lost   flight.Lost       `json:"lost"`
}

func (t *taker) figures() ([][]byte, []string, error) {
	rings, err := t.reader.Rings()
	var incomplete []string
	if err != nil {
		incomplete = append(incomplete, err.Error())
	}
	f := Figures{Format: figuresFormat, Events: map[string]uint64{}, Off: []string{}, Lost: t.reader.Lost()}
	settings, settingsErr := t.reader.Settings()
	var text bytes.Buffer
	for k := flight.EventNone + 1; k < flight.KindCount; k++ {
		var n uint64
		for i := range rings {
			n += rings[i].Counts[k]
		}
		name := k.String()
		if n > 0 {
			f.Events[name] = n
		}
		if settingsErr == nil && settings.Known && !settings.Kinds[k].On && k != flight.EventMore {
			f.Off = append(f.Off, name)
			fmt.Fprintf(&text, "%-16s off\n", name)
		} else if n > 0 {
			fmt.Fprintf(&text, "%-16s %s\n", name, dump.Thousands(int(n)))
		}
	}
	fmt.Fprintf(&text, "lost so far: %+v\n", f.Lost)
	body, err := json.MarshalIndent(&f, "", " ")
	return [][]byte{body, text.Bytes()}, incomplete, err
}
