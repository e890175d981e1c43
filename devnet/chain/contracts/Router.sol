// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Quote.sol";
import "./WrappedEther.sol";

/// Where users swap.
contract Router is Quote {
    /// Buys the token of a pool with the ether that is sent.
    function buy(Pool pool, uint256 leastOut) external payable {
        WrappedEther(address(pool.token0())).deposit{value: msg.value}();
        require(sellEther(pool, msg.value, msg.sender) >= leastOut, "price");
    }

    /// Sells the token of a pool; its owner must have allowed that. The ether that it brings stays wrapped.
    function sell(Pool pool, uint256 amountIn, uint256 leastOut) external {
        uint256 bought = amountOut(amountIn, pool.reserve1(), pool.reserve0());
        require(bought >= leastOut, "price");
        pool.token1().transferFrom(msg.sender, address(pool), amountIn);
        pool.swap(bought, 0, msg.sender);
    }
}
