// Package observe makes services observable: it has a Prometheus registry for each, the metrics
// that every HTTP server has, and traces for an OpenTelemetry collector. It uses no process-wide
// registry or tracer; callers pass them on.
//
//	serve ──Begin──▶ HTTP ─▶ context ─▶ Stage(ctx, "decode") … done() ─┬─▶ gavel_stage_seconds ─▶ registry ─▶ /metrics
//	                  │                                                └─▶ span ─▶ tracer ─▶ OTLP/HTTP, if there is an endpoint
//	                  └──done──▶ gavel_http_…, the request's span
package observe
