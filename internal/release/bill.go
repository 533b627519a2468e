package main

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A program is a command as it was built.
type program struct {
	name string
	sum  [32]byte
	info *debug.BuildInfo
}

// Of SPDX 2.3, what a bill has.
type (
	bill struct {
		Version       string        `json:"spdxVersion"`
		License       string        `json:"dataLicense"`
		ID            string        `json:"SPDXID"`
		Name          string        `json:"name"`
		Namespace     string        `json:"documentNamespace"`
		Created       creation      `json:"creationInfo"`
		Packages      []spdxPackage `json:"packages"`
		Relationships []relation    `json:"relationships"`
	}
	creation struct {
		Creators []string `json:"creators"`
		Created  string   `json:"created"`
	}
	spdxPackage struct {
		ID        string      `json:"SPDXID"`
		Name      string      `json:"name"`
		Version   string      `json:"versionInfo"`
		Download  string      `json:"downloadLocation"`
		Analyzed  bool        `json:"filesAnalyzed"`
		Checksums []checksum  `json:"checksums,omitempty"`
		Refs      []reference `json:"externalRefs,omitempty"`
		Comment   string      `json:"comment,omitempty"`
	}
	checksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relation struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// billOf writes what the programs of an archive are made of: the modules that Go has noted in them, with its own release.
func billOf(name string, r *release, programs []program) ([]byte, error) {
	b := bill{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://github.com/vtscope/vtscope/spdx/" + name + "/" + r.commit,
		Created:   creation{[]string{"Tool: vtscope-internal-release"}, r.at.UTC().Format(time.RFC3339)},
	}
	modules := map[string]spdxPackage{}
	for _, p := range programs {
		id := "SPDXRef-Program-" + p.name
		b.Packages = append(b.Packages, spdxPackage{
			ID: id, Name: p.name, Version: r.version, Download: "NOASSERTION",
			Checksums: []checksum{{"SHA256", hex.EncodeToString(p.sum[:])}},
		})
		b.Relationships = append(b.Relationships, relation{b.ID, "DESCRIBES", id})
		for _, m := range append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(p.info.GoVersion, "go")}}, p.info.Deps...) {
			if m.Replace != nil {
				m = m.Replace
			}
			of := packageOf(m)
			modules[of.ID] = of
			b.Relationships = append(b.Relationships, relation{id, "CONTAINS", of.ID})
		}
	}
	for _, m := range modules {
		b.Packages = append(b.Packages, m)
	}
	slices.SortFunc(b.Packages, func(x, y spdxPackage) int { return cmp.Compare(x.ID, y.ID) })
	slices.SortFunc(b.Relationships, func(x, y relation) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// packageOf is a module as a bill has it. The checksum of go.sum is a comment, since it is none of a file.
func packageOf(m *debug.Module) spdxPackage {
	id := strings.Map(func(c rune) rune {
		if c < 0x80 && (c == '.' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return c
		}
		return '-'
	}, m.Path+"-"+m.Version)
	p := spdxPackage{
		ID: "SPDXRef-Module-" + id, Name: m.Path, Version: m.Version, Download: "NOASSERTION",
		Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ReplaceAll(m.Path, "/", "%2F") + "@" + m.Version}},
	}
	if i := strings.LastIndexByte(m.Path, '/'); i > 0 {
		p.Refs[0].Locator = "pkg:golang/" + m.Path[:i] + "/" + m.Path[i+1:] + "@" + m.Version
	}
	if m.Sum != "" {
		p.Comment = "go.sum has " + m.Sum
	}
	return p
}
