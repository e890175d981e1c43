//go:build pending

// Package pending names modules that rooms under construction import, so that their versions stay pinned until they do.
package pending

import (
	_ "github.com/coder/websocket"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	_ "go.opentelemetry.io/otel/sdk/trace"
	_ "golang.org/x/time/rate"
)
