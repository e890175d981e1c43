// Package serve is what the HTTP handlers of all services share: bounded bodies, negotiation,
// errors that are always JSON, request ids, and a server that stops in order. It knows no service:
// a refusal is any error that has an HTTP status.
//
//	listener ─▶ server (time-outs, header limit) ─▶ id ─▶ access log ─▶ panic becomes 500 ─▶ mux ─▶ operation
//	                                                                                       └─▶ 404 / 405 as {"code","message"}
package serve
