// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Pool.sol";

/// What those who swap have in common. Token 0 of every pool here is wrapped ether.
abstract contract Quote {
    /// The most that a pool gives for an amount; rounded down.
    function amountOut(uint256 amountIn, uint256 reserveIn, uint256 reserveOut) internal pure returns (uint256) {
        uint256 counted = amountIn * 997;
        return (counted * reserveOut) / (reserveIn * 1000 + counted);
    }

    /// Sells wrapped ether that this contract has.
    function sellEther(Pool pool, uint256 amountIn, address to) internal returns (uint256 bought) {
        bought = amountOut(amountIn, pool.reserve0(), pool.reserve1());
        pool.token0().transfer(address(pool), amountIn);
        pool.swap(0, bought, to);
    }
}
