// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface IERC20 {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;
}

/// A permit of EIP-2612, whose spender is Permit2.
struct Permit2612 {
    uint256 value;
    uint256 deadline;
    bytes32 r;
    bytes32 s;
    uint8 v;
}

interface IContractSigner {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4);
}

struct TokenPermissions {
    address token;
    uint256 amount;
}

struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
}

struct SignatureTransferDetails {
    address to;
    uint256 requestedAmount;
}

/// The part of Permit2 that x402 uses, written after its interface, for the local EVM node.
contract Permit2 {
    error InvalidNonce();
    error InvalidSigner();
    error InvalidAmount(uint256 maxAmount);
    error InvalidContractSignature();
    error InvalidSignatureLength();
    error SignatureExpired(uint256 signatureDeadline);

    mapping(address => mapping(uint256 => uint256)) public nonceBitmap;

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)"),
                keccak256("Permit2"),
                block.chainid,
                address(this)
            )
        );
    }

    function invalidateUnorderedNonces(uint256 word, uint256 mask) external {
        nonceBitmap[msg.sender][word] |= mask;
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        if (block.timestamp > permit.deadline) revert SignatureExpired(permit.deadline);
        if (details.requestedAmount > permit.permitted.amount)
            revert InvalidAmount(permit.permitted.amount);
        _useNonce(owner, permit.nonce);
        bytes32 typeHash = keccak256(
            abi.encodePacked(
                "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,",
                witnessTypeString
            )
        );
        bytes32 permissions = keccak256(
            abi.encode(
                keccak256("TokenPermissions(address token,uint256 amount)"),
                permit.permitted.token,
                permit.permitted.amount
            )
        );
        bytes32 message = keccak256(
            abi.encode(typeHash, permissions, msg.sender, permit.nonce, permit.deadline, witness)
        );
        bytes32 hash = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), message));
        _checkSignature(owner, hash, signature);
        IERC20(permit.permitted.token).transferFrom(owner, details.to, details.requestedAmount);
    }

    function _useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 0xff);
        uint256 word = nonce >> 8;
        if (nonceBitmap[owner][word] & bit != 0) revert InvalidNonce();
        nonceBitmap[owner][word] |= bit;
    }

    function _checkSignature(address owner, bytes32 hash, bytes calldata signature) private view {
        if (owner.code.length > 0) {
            if (IContractSigner(owner).isValidSignature(hash, signature) != 0x1626ba7e)
                revert InvalidContractSignature();
            return;
        }
        if (signature.length != 65) revert InvalidSignatureLength();
        address recovered = ecrecover(
            hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64])
        );
        if (recovered == address(0) || recovered != owner) revert InvalidSigner();
    }
}
