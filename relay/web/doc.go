// Package web decides what the relay's website shows: it keeps the newest auctions as the relay's
// facts tell them, holds back what is secret while a slot runs, and makes pages of it. A page is
// data; relay/api writes it as HTML, Markdown or JSON.
//
//	facts ─▶ Auctions ─▶ Auction ─▶ Policy.Show ─▶ Shown ─┬─▶ SlotPage ─▶ Page ─▶ HTML, Markdown, JSON
//	archive ──▶ traces ──────────────────────────────────┴─▶ Landing …  ─▶ Page
package web
