package otel

import (
	"strings"
	"unicode/utf8"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

const (
	scopeName = "github.com/vtscope/vtscope/tracing/otel"
	// schemaURL is the version of the semantic conventions that the names without "vt." are of.
	schemaURL = "https://opentelemetry.io/schemas/1.37.0"
)

func resourceOf(attributes []otlpenv.Attribute) *resourcepb.Resource {
	r := &resourcepb.Resource{}
	for _, a := range attributes {
		v := &commonpb.AnyValue{}
		switch x := a.Value.(type) {
		case string:
			v.Value = &commonpb.AnyValue_StringValue{StringValue: cut(x, 0)}
		case int64:
			v.Value = &commonpb.AnyValue_IntValue{IntValue: x}
		}
		r.Attributes = append(r.Attributes, &commonpb.KeyValue{Key: a.Key, Value: v})
	}
	return r
}

// cut makes a text one that can be sent: UTF-8, of at most so many bytes; 0 means maxText.
func cut(text string, limit int) string {
	if limit == 0 {
		limit = maxText
	}
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit]
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}
