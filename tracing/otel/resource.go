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
	schemaURL = otlpenv.SchemaURL
)

// instrumentation is the scope of all that this package sends.
func instrumentation() *commonpb.InstrumentationScope {
	return &commonpb.InstrumentationScope{Name: scopeName, Version: otlpenv.Version()}
}

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
