package metricstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Ask asks a Prometheus, or what has its query interface at base, for the values of an expression. further are parameters, name and value in turn.
func Ask(ctx context.Context, base, query string, further ...string) ([]float64, error) {
	values := url.Values{"query": {query}}
	for i := 0; i+1 < len(further); i += 2 {
		values.Set(further[i], further[i+1])
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/query", strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("%s: answer with status %d: %w", query, r.StatusCode, err)
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", query, answer.Error)
	}
	var rows []struct{ Value [2]any }
	if answer.Data.ResultType == "scalar" {
		rows = make([]struct{ Value [2]any }, 1)
		err = json.Unmarshal(answer.Data.Result, &rows[0].Value)
	} else {
		err = json.Unmarshal(answer.Data.Result, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: answer: %w", query, err)
	}
	var all []float64
	for _, row := range rows {
		text, _ := row.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: answer: %w", query, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// Compare asks for each value, and returns a line for each that is not there or another, up to a part in a million.
func Compare(ctx context.Context, base, pidLabel string, pid int, wants []Want, further ...string) (wrong []string, err error) {
	for i := range wants {
		w := &wants[i]
		query := w.Query(pidLabel, pid)
		got, err := Ask(ctx, base, query, further...)
		if err != nil {
			return wrong, err
		}
		if len(got) != 1 || max(got[0]-w.Value, w.Value-got[0]) > w.Value*1e-6 {
			wrong = append(wrong, fmt.Sprintf("%s: got %v, want %v", query, got, w.Value))
		}
	}
	return wrong, nil
}
