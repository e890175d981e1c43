// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Quote.sol";
import "./WrappedEther.sol";

/// Closes the gap that somebody's swap has opened between two pools of the same tokens. It need not be told how wide the gap is or which way it
/// goes: the transaction is signed by who has seen no more of the swap than the pool's address.
contract Backrun is Quote {
    /// Uses of the ether that is sent what earns most, pays the block's fee recipient a part of the profit, and returns everything else.
    /// Without a profit it reverts.
    function run(Pool first, Pool second, uint256 percent) external payable {
        (Pool cheap, Pool dear) = first.reserve1() * second.reserve0() > second.reserve1() * first.reserve0()
            ? (first, second)
            : (second, first);
        uint256 amountIn = best(cheap, dear);
        if (amountIn > msg.value) amountIn = msg.value;
        require(amountIn > 0, "no gap");

        uint256 amountBack = there(cheap, dear, amountIn);
        require(amountBack > amountIn, "no profit");
        uint256 payment = ((amountBack - amountIn) * percent) / 100;
        send(block.coinbase, payment);
        send(msg.sender, address(this).balance);
    }

    receive() external payable {}

    /// Swaps ether for the token where it is cheap, and back where it is dear.
    function there(Pool cheap, Pool dear, uint256 amountIn) private returns (uint256 amountBack) {
        WrappedEther ether_ = WrappedEther(address(cheap.token0()));
        ether_.deposit{value: amountIn}();
        uint256 bought = sellEther(cheap, amountIn, address(dear));
        amountBack = amountOut(bought, dear.reserve1(), dear.reserve0());
        dear.swap(amountBack, 0, address(this));
        ether_.withdraw(amountBack);
    }

    /// The amount with the greatest profit. Both swaps together turn x into e*x/(f+g*x), and x is (sqrt(e*f)-f)/g. Reserves are counted in
    /// millionths of ether here, so that no product is too great.
    function best(Pool cheap, Pool dear) private view returns (uint256) {
        uint256 etherCheap = cheap.reserve0() / 1e12;
        uint256 tokenCheap = cheap.reserve1() / 1e12;
        uint256 etherDear = dear.reserve0() / 1e12;
        uint256 tokenDear = dear.reserve1() / 1e12;
        uint256 e = 997 * 997 * tokenCheap * etherDear;
        uint256 f = 1000 * 1000 * etherCheap * tokenDear;
        uint256 g = 997 * (1000 * tokenDear + 997 * tokenCheap);
        uint256 mean = root(e * f);
        return mean > f ? ((mean - f) * 1e12) / g : 0;
    }

    /// The square root, rounded down.
    function root(uint256 n) private pure returns (uint256 r) {
        if (n == 0) return 0;
        r = 1;
        for (uint256 left = n; left > 3; left >>= 2) r <<= 1;
        r <<= 1; // above the root: from there every step is downwards
        for (uint256 next = (r + n / r) / 2; next < r; next = (r + n / r) / 2) r = next;
    }

    function send(address to, uint256 valueWei) private {
        (bool sent, ) = to.call{value: valueWei}("");
        require(sent, "ether");
    }
}
