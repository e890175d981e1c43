// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Token.sol";

/// A constant-product pool of two tokens: after every swap, with three thousandths of what came in left out, the product of the reserves is at
/// least what it was. It speaks of its swaps in the events of Uniswap v2's pairs, which searchers know.
contract Pool {
    Token public token0; // slot 0
    Token public token1; // slot 1
    uint256 public reserve0; // slot 2
    uint256 public reserve1; // slot 3

    event Swap(
        address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to
    );
    event Sync(uint112 reserve0, uint112 reserve1);

    /// Whoever calls has sent what goes in already: what the pool has more than its reserves is it.
    function swap(uint256 amount0Out, uint256 amount1Out, address to) external {
        require(amount0Out > 0 || amount1Out > 0, "nothing out");
        require(amount0Out < reserve0 && amount1Out < reserve1, "liquidity");
        if (amount0Out > 0) token0.transfer(to, amount0Out);
        if (amount1Out > 0) token1.transfer(to, amount1Out);
        uint256 balance0 = token0.balanceOf(address(this));
        uint256 balance1 = token1.balanceOf(address(this));
        uint256 amount0In = balance0 - (reserve0 - amount0Out);
        uint256 amount1In = balance1 - (reserve1 - amount1Out);
        require(amount0In > 0 || amount1In > 0, "nothing in");
        require(
            (balance0 * 1000 - amount0In * 3) * (balance1 * 1000 - amount1In * 3) >= reserve0 * reserve1 * 1000 ** 2, "product"
        );
        require(balance0 <= type(uint112).max && balance1 <= type(uint112).max, "too much");
        reserve0 = balance0;
        reserve1 = balance1;
        emit Sync(uint112(balance0), uint112(balance1));
        emit Swap(msg.sender, amount0In, amount1In, amount0Out, amount1Out, to);
    }
}
