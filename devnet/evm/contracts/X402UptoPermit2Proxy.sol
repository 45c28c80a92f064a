// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {
    IERC20,
    Permit2,
    Permit2612,
    PermitTransferFrom,
    SignatureTransferDetails
} from "./Permit2.sol";

/// The spender that x402 names for payments of the scheme `upto`, written after its interface: the
/// facilitator that the payer has signed as a witness may send up to the permitted amount, once.
contract X402UptoPermit2Proxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    event Settled();

    error AmountExceedsPermitted();
    error InvalidAmount();
    error InvalidDestination();
    error InvalidOwner();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();
    error UnauthorizedFacilitator();

    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    string private constant WITNESS_TYPE =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";

    function settle(
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _check(permit, amount, witness);
        _settle(permit, amount, owner, witness, signature);
    }

    /// The same after a permit of the owner. A permit that others have used already does no harm.
    function settleWithPermit(
        Permit2612 calldata permit2612,
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        _check(permit, amount, witness);
        if (permit2612.value != permit.permitted.amount) revert Permit2612AmountMismatch();
        try IERC20(permit.permitted.token).permit(
            owner,
            address(PERMIT2),
            permit2612.value,
            permit2612.deadline,
            permit2612.v,
            permit2612.r,
            permit2612.s
        ) {} catch {}
        _settle(permit, amount, owner, witness, signature);
    }

    function _check(PermitTransferFrom calldata permit, uint256 amount, Witness calldata witness)
        private
        view
    {
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
    }

    function _settle(
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        if (amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        bytes32 witnessHash = keccak256(
            abi.encode(
                keccak256("Witness(address to,address facilitator,uint256 validAfter)"),
                witness.to,
                witness.facilitator,
                witness.validAfter
            )
        );
        PERMIT2.permitWitnessTransferFrom(
            permit,
            SignatureTransferDetails(witness.to, amount),
            owner,
            witnessHash,
            WITNESS_TYPE,
            signature
        );
        emit Settled();
    }
}
