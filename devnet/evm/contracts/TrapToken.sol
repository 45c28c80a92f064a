// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A token that behaves until it is told otherwise: it takes EIP-3009 authorizations, unsigned ones
/// too, and moves nothing. `set` springs one of its traps.
contract TrapToken {
    string public constant name = "Trap";
    string public constant version = "1";
    uint8 public constant decimals = 6;

    /// 0: behaves. 1: reverts, and `authorizationState` reverts too. 2: reverts, and
    /// `authorizationState` returns nothing. 3: logs a transfer that names no amount.
    uint256 public mode;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    function set(uint256 to) external {
        mode = to;
    }

    function balanceOf(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    function authorizationState(address, bytes32) external view returns (bool) {
        require(mode != 1, "Trap: it does not tell");
        if (mode == 2) {
            assembly {
                return(0, 0)
            }
        }
        return false;
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256,
        uint256,
        bytes32 nonce,
        uint8,
        bytes32,
        bytes32
    ) external {
        require(mode != 1 && mode != 2, "Trap: it snaps");
        emit AuthorizationUsed(from, nonce);
        if (mode == 0) {
            emit Transfer(from, to, value);
            return;
        }
        bytes32 topic = Transfer.selector;
        assembly {
            log4(0, 0, topic, from, to, value)
        }
    }
}
