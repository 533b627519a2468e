package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// aliases maps what the sources import to the committed copies.
func aliases(root string) map[string]string {
	vendor := func(path string) string { return filepath.Join(root, "vendor", filepath.FromSlash(path)) }
	return map[string]string{
		"preact":             vendor("preact/dist/preact.mjs"),
		"preact/hooks":       vendor("preact/hooks/dist/hooks.mjs"),
		"preact/jsx-runtime": vendor("preact/jsx-runtime/dist/jsxRuntime.mjs"),
		"uplot":              vendor("uplot/dist/uPlot.esm.js"),
		"uplot.css":          vendor("uplot/dist/uPlot.min.css"),
	}
}

// static are the sources that are in dist as they are.
var static = []string{"index.html", "icon.svg"}

// options are how the page is bundled.
func options(root string) api.BuildOptions {
	return api.BuildOptions{
		AbsWorkingDir: root,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/page.tsx", OutputPath: "page"},
			{InputPath: "src/boot.ts", OutputPath: "boot"}, // a plain script: it imports nothing that stays, and exports nothing
		},
		Alias:             aliases(root),
		Bundle:            true,
		Format:            api.FormatESModule,
		Target:            api.ES2022,
		JSX:               api.JSXAutomatic,
		JSXImportSource:   "preact",
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone, // licences.txt carries them
		Charset:           api.CharsetUTF8,
		Outdir:            "dist",
		TsconfigRaw:       `{"compilerOptions":{"strict":true,"useDefineForClassFields":true}}`,
		Write:             false,
		Sourcemap:         api.SourceMapExternal, // beside the bundle, which does not name it
	}
}

// bundle returns the files of dist by name, and the maps of the sources, which are not among them.
func bundle(root string) (files, maps map[string][]byte, err error) {
	result := api.Build(options(root))
	if len(result.Errors) > 0 {
		return nil, nil, errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	for _, w := range api.FormatMessages(result.Warnings, api.FormatMessagesOptions{Kind: api.WarningMessage}) {
		fmt.Fprint(os.Stderr, w)
	}
	files, maps = map[string][]byte{}, map[string][]byte{}
	for _, f := range result.OutputFiles {
		name := filepath.Base(f.Path)
		if strings.HasSuffix(name, ".map") {
			maps[name] = f.Contents
		} else {
			files[name] = f.Contents
		}
	}
	for _, name := range static {
		if files[name], err = os.ReadFile(filepath.Join(root, "src", name)); err != nil {
			return nil, nil, err
		}
	}
	if files["licences.txt"], err = licences(root); err != nil {
		return nil, nil, err
	}
	return files, maps, nil
}

// compare says which files of dir differ from files.
func compare(dir string, files map[string][]byte) error {
	var bad []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			bad = append(bad, name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if files[e.Name()] == nil {
			bad = append(bad, e.Name()+" (no longer made)")
		}
	}
	if len(bad) > 0 {
		slices.Sort(bad)
		return fmt.Errorf("webui/dist is stale: %s\n    try: make ui, and commit webui/dist", strings.Join(bad, ", "))
	}
	return nil
}

// write makes dir hold exactly files.
func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if files[e.Name()] == nil {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
