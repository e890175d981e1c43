// Package eth holds the arithmetic of the consensus layer that many packages need, so that each
// rule exists once: forks, slots and epochs, signing domains, and the gas-limit rule. It is pure:
// no clock, no I/O, no state.
//
// Values have the types of go-eth2-client (phase0.Slot, phase0.Root, …), so that no package
// translates names.
package eth
