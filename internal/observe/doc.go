// Package observe is how a service is watched: its own Prometheus registry, the measures that every
// HTTP server has, and traces for an OpenTelemetry collector. There are no process-wide registries
// or tracers here: what is not handed on does not exist.
//
//	serve ──Begin──▶ HTTP ─▶ context ─▶ Stage(ctx, "decode") … done() ─┬─▶ gavel_stage_seconds ─▶ registry ─▶ /metrics
//	                  │                                                └─▶ span ─▶ tracer ─▶ OTLP/HTTP, if there is an endpoint
//	                  └──done──▶ gavel_http_…, the request's span
package observe
