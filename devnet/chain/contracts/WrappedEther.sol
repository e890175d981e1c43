// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Token.sol";

/// Ether as a token, one wei for one wei. What genesis says that accounts have here, genesis gives to this contract too.
contract WrappedEther is Token {
    function deposit() external payable {
        balanceOf[msg.sender] += msg.value;
        totalSupply += msg.value;
        emit Transfer(address(0), msg.sender, msg.value);
    }

    function withdraw(uint256 value) external {
        require(balanceOf[msg.sender] >= value, "balance");
        balanceOf[msg.sender] -= value;
        totalSupply -= value;
        emit Transfer(msg.sender, address(0), value);
        (bool sent, ) = msg.sender.call{value: value}("");
        require(sent, "ether");
    }
}
