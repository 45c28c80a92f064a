// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

interface ISmartWallet {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4);
}

/// The token of the local EVM node: ERC-20 with EIP-2612, EIP-3009 in both of its signature forms, and
/// ERC-1271 signatures for payers that are contracts. Anybody may mint. A fee, in hundredths of a
/// percent, makes it a token that delivers less than it takes.
contract TestDollar {
    string public constant name = "Test Dollar";
    string public constant version = "1";
    string public constant symbol = "TUSD";
    uint8 public constant decimals = 6;

    bytes32 private constant TRANSFER_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );

    bytes32 private constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );

    uint256 public immutable feeBasisPoints;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;
    mapping(address => uint256) public nonces;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    constructor(uint256 fee) {
        feeBasisPoints = fee;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    /// EIP-2612.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(block.timestamp <= deadline, "TestDollar: permit is expired");
        bytes32 message = keccak256(
            abi.encode(PERMIT_TYPEHASH, owner, spender, value, nonces[owner]++, deadline)
        );
        bytes32 hash = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), message));
        require(
            _isSigned(owner, hash, abi.encodePacked(r, s, v)), "TestDollar: invalid permit signature"
        );
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        _move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "TestDollar: transfer amount exceeds allowance");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        _move(from, to, value);
        return true;
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        _transferWithAuthorization(
            from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v)
        );
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256(
                    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
                ),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
    }

    function _transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "TestDollar: authorization is not yet valid");
        require(block.timestamp < validBefore, "TestDollar: authorization is expired");
        require(!authorizationState[from][nonce], "TestDollar: authorization is used or canceled");
        bytes32 message = keccak256(
            abi.encode(TRANSFER_TYPEHASH, from, to, value, validAfter, validBefore, nonce)
        );
        bytes32 hash = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), message));
        require(_isSigned(from, hash, signature), "TestDollar: invalid signature");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _move(from, to, value);
    }

    function _isSigned(address signer, bytes32 hash, bytes memory signature)
        private
        view
        returns (bool)
    {
        if (signer.code.length > 0)
            return ISmartWallet(signer).isValidSignature(hash, signature) == 0x1626ba7e;
        if (signature.length != 65) return false;
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
            v := byte(0, mload(add(signature, 0x60)))
        }
        address recovered = ecrecover(hash, v, r, s);
        return recovered != address(0) && recovered == signer;
    }

    function _move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "TestDollar: transfer amount exceeds balance");
        uint256 fee = (value * feeBasisPoints) / 10_000;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee == 0) return;
        balanceOf[address(this)] += fee;
        emit Transfer(from, address(this), fee);
    }
}
