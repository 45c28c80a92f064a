// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A wallet with one owner that signs by ERC-1271.
contract SmartWallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        address recovered = ecrecover(
            hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64])
        );
        return recovered == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/// Deploys wallets at addresses known beforehand, as ERC-6492 signatures need.
contract SmartWalletFactory {
    function addressOf(address owner) public view returns (address) {
        bytes32 initCode = keccak256(
            abi.encodePacked(type(SmartWallet).creationCode, abi.encode(owner))
        );
        return address(
            uint160(
                uint256(keccak256(abi.encodePacked(hex"ff", address(this), bytes32(0), initCode)))
            )
        );
    }

    function deploy(address owner) external returns (address wallet) {
        wallet = addressOf(owner);
        if (wallet.code.length == 0) new SmartWallet{salt: bytes32(0)}(owner);
    }
}
