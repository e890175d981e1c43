package observe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing returns a tracer that sends spans to an OpenTelemetry collector (OTLP over HTTP) under a
// service's name. The endpoint is http[s]://host:port; a path may follow, and is /v1/traces
// otherwise. Without an endpoint the tracer is nil, which NewHTTP accepts, and shutdown does
// nothing. Spans are sent in batches in the background, and dropped if the collector does not keep
// up. shutdown sends what is left.
func Tracing(ctx context.Context, endpoint,
	service string) (tracer trace.Tracer, shutdown func(context.Context) error, err error) {
	if endpoint == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	target, err := tracesURL(endpoint)
	if err != nil {
		return nil, nil, fmt.Errorf("tracing endpoint %q: %w", endpoint, err)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(target))
	if err != nil {
		return nil, nil, fmt.Errorf("open tracing endpoint %q: %w", endpoint, err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))),
	)
	return provider.Tracer("github.com/gavel-relay/gavel"), provider.Shutdown, nil
}

func tracesURL(endpoint string) (string, error) {
	target, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", err
	case target.Scheme != "http" && target.Scheme != "https":
		return "", errors.New("want http:// or https://")
	case target.Host == "":
		return "", errors.New("no host")
	}
	if strings.Trim(target.Path, "/") == "" {
		target.Path = "/v1/traces"
	}
	return target.String(), nil
}
