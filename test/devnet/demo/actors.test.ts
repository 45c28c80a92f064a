import { describe, expect, it } from "vitest";
import { contractOf } from "../../../devnet/contracts/index.ts";
import { act, actAll, lock, lockAll } from "../../../devnet/demo/actors/actions.ts";
import type { Escrow } from "../../../devnet/demo/actors/escrow.ts";
import type { EscrowAction } from "../../../devnet/demo/actors/moves.ts";
import { burnToken, mintToken } from "../../../devnet/demo/actors/registry.ts";
import { failToSpend, lockAgain, lockRaw } from "../../../devnet/demo/actors/strangers.ts";
import {
  ACTOR_FUNDS,
  ADMIN,
  BUYERS,
  SELLERS,
  STRANGER,
} from "../../../devnet/demo/actors/wallets.ts";
import { type Chain, createChain } from "../../../devnet/ledger/chain.ts";
import {
  toBlockchainIdentifier,
  verifySellerSignature,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import { decodeEscrowDatum } from "../../../src/chain/contracts/escrow-datum.ts";
import { PAYMENT_SOURCE_TYPES } from "../../../src/chain/network.ts";
import { decodeTransaction } from "../../../src/chain/transaction/decode-transaction.ts";

const [seller] = SELLERS;
const [buyer] = BUYERS;
const makeChain = () => createChain({ funds: ACTOR_FUNDS, autoMine: true });
const nativeAt = (chain: Chain, address: string) =>
  chain.utxosAt(address).reduce((sum, { amount }) => sum + (amount[0]?.quantity ?? 0n), 0n);

/** The datum that the chain holds for an escrow, read back from the ledger. */
function datumOnChain(chain: Chain, { contract, txHash, index }: Escrow) {
  const utxo = chain
    .utxosAt(contract.address)
    .find((candidate) => candidate.txHash === txHash && candidate.index === index);
  const context = {
    version: contract.type,
    network: "Preprod",
    contractAddress: contract.address,
  } as const;
  const decoded = decodeEscrowDatum(utxo?.inlineDatum ?? "", context);
  if (!decoded.ok) throw new Error(decoded.reason);
  return decoded.datum;
}

describe.each(PAYMENT_SOURCE_TYPES)("a lock on %s", (version) => {
  it("carries a datum whose seller signature and identifier hold", () => {
    const chain = makeChain();
    const escrow = lock(chain, { version, seller, buyer, collateral: 2_000_000n });
    const datum = datumOnChain(chain, escrow);
    const contractAddress = escrow.contract.address;
    expect(datum).toEqual(escrow.datum);
    expect(datum).toMatchObject({ state: "FundsLocked", sellerVkey: seller.vkey });
    expect(escrow.funds).toEqual([{ unit: "", amount: 12_000_000n }]);
    expect(verifySellerSignature(datum, { contractAddress, lockedFunds: escrow.funds })).toEqual({
      ok: true,
    });
    expect(toBlockchainIdentifier(datum, contractAddress)).toBe(escrow.identifier);
  });

  it("verifies for a price that the seller signed, and not for another", () => {
    const chain = makeChain();
    const requestedFunds = [{ unit: "", amount: 7_000_000n }];
    const paid = lock(chain, { version, seller, buyer, requestedFunds, funds: requestedFunds });
    const cheated = lock(chain, { version, seller, buyer, requestedFunds });
    const verdict = ({ datum, contract, funds }: Escrow) =>
      verifySellerSignature(datum, { contractAddress: contract.address, lockedFunds: funds }).ok;
    expect(verdict(paid)).toBe(true);
    expect(verdict(cheated)).toBe(false);
  });

  it("can be forged: what is laid over the signed datum is what the chain holds", () => {
    const chain = makeChain();
    const datum = { sellerCooldownTime: 5n, payByTime: 1n };
    expect(datumOnChain(chain, lock(chain, { version, seller, buyer, datum }))).toMatchObject(
      datum,
    );
  });

  it("can hold tokens", () => {
    const chain = makeChain();
    const token = mintToken(chain, contractOf(version), buyer, { name: "coin" });
    const funds = [
      { unit: "", amount: 5_000_000n },
      { unit: token.unit, amount: 1n },
    ];
    const escrow = lock(chain, { version, seller, buyer, funds });
    const [utxo] = chain.utxosAt(escrow.contract.address);
    expect(utxo?.amount).toContainEqual({ unit: token.unit, quantity: 1n });
    act(chain, escrow, "withdrawRefund");
    const held = chain.utxosAt(buyer.address).flatMap(({ amount }) => amount);
    expect(held).toContainEqual({ unit: token.unit, quantity: 1n });
  });
});

describe("an action", () => {
  const next: [version: "Web3ChainV1" | "Web3ChainV2", steps: EscrowAction[], state: string][] = [
    ["Web3ChainV1", ["submitResult"], "ResultSubmitted"],
    ["Web3ChainV1", ["requestRefund"], "RefundRequested"],
    ["Web3ChainV1", ["submitResult", "requestRefund"], "Disputed"],
    ["Web3ChainV1", ["requestRefund", "submitResult"], "Disputed"],
    ["Web3ChainV1", ["requestRefund", "cancelRefund"], "FundsLocked"],
    ["Web3ChainV1", ["submitResult", "requestRefund", "cancelRefund"], "ResultSubmitted"],
    ["Web3ChainV1", ["submitResult", "requestRefund", "authorizeRefund"], "RefundRequested"],
    ["Web3ChainV2", ["submitResult", "requestRefund", "authorizeWithdrawal"], "WithdrawAuthorized"],
    ["Web3ChainV2", ["submitResult", "authorizeRefund"], "RefundAuthorized"],
  ];
  it.each(next)("%s: %j leaves the escrow %s", (version, steps, state) => {
    const chain = makeChain();
    let escrow = lock(chain, { version, seller, buyer });
    for (const step of steps) escrow = act(chain, escrow, step);
    expect(datumOnChain(chain, escrow)).toEqual(escrow.datum);
    expect(escrow.datum.state).toBe(state);
    expect(chain.utxosAt(escrow.contract.address)).toHaveLength(1);
  });

  it("starts the actor's cooldown and ends the other side's", () => {
    const chain = makeChain();
    const locked = lock(chain, { version: "Web3ChainV2", seller, buyer });
    const asked = act(chain, locked, "requestRefund").datum;
    expect(asked.buyerCooldownTime).toBeGreaterThan(BigInt(chain.now()));
    expect(asked.sellerCooldownTime).toBe(0n);
  });

  it("clears the result when the seller authorizes a refund", () => {
    const chain = makeChain();
    const locked = lock(chain, { version: "Web3ChainV1", seller, buyer });
    const result = act(chain, locked, "submitResult", { resultHash: "ab".repeat(32) });
    expect(datumOnChain(chain, result).resultHash).toBe("ab".repeat(32));
    const disputed = act(chain, result, "requestRefund");
    expect(datumOnChain(chain, act(chain, disputed, "authorizeRefund")).resultHash).toBe("");
  });

  it("cannot be done twice to the same escrow", () => {
    const chain = makeChain();
    const escrow = lock(chain, { version: "Web3ChainV1", seller, buyer });
    act(chain, escrow, "submitResult");
    expect(() => act(chain, escrow, "requestRefund")).toThrow(/^BadInputsUTxO/);
  });

  it("can be done to many escrows in one transaction, in any order", () => {
    const chain = makeChain();
    const order = { version: "Web3ChainV2", seller, buyer } as const;
    const [a, b, c] = lockAll(chain, [order, order, order]);
    expect(new Set([a.txHash, b.txHash, c.txHash]).size).toBe(1);
    const [movedC, movedA] = actAll(chain, [
      { escrow: c, action: "withdrawRefund" },
      { escrow: a, action: "requestRefund" },
    ]);
    expect(movedC.index).toBeNull();
    expect(datumOnChain(chain, movedA)).toEqual(movedA.datum);
    expect(chain.utxosAt(a.contract.address)).toHaveLength(2);
  });
});

describe("a withdrawal", () => {
  it("on Web3ChainV1 pays the fee to the fee receiver, the collateral back and the rest out", () => {
    const chain = makeChain();
    const order = { version: "Web3ChainV1", seller, buyer, collateral: 2_000_000n } as const;
    const funds = [{ unit: "", amount: 100_000_000n }];
    const result = act(chain, lock(chain, { ...order, funds }), "submitResult");
    const before = [ADMIN, buyer].map(({ address }) => nativeAt(chain, address));
    const { txHash } = act(chain, result, "withdraw");
    const after = [ADMIN, buyer].map(({ address }) => nativeAt(chain, address));
    expect(after.map((amount, i) => amount - (before[i] ?? 0n))).toEqual([5_100_000n, 2_000_000n]);
    const [payout] = chain.utxosAt(seller.address).filter((utxo) => utxo.txHash === txHash);
    expect(payout?.amount).toEqual([{ unit: "lovelace", quantity: 94_900_000n }]);
    expect(chain.utxosAt(result.contract.address)).toEqual([]);
  });

  it("on Web3ChainV2 goes to the seller's return address", () => {
    const chain = makeChain();
    const sellerReturnAddress = STRANGER.address;
    const order = { version: "Web3ChainV2", seller, buyer, sellerReturnAddress } as const;
    const before = nativeAt(chain, sellerReturnAddress);
    act(chain, act(chain, lock(chain, order), "submitResult"), "withdraw");
    expect(nativeAt(chain, sellerReturnAddress) - before).toBe(10_000_000n);
  });

  it("out of a dispute gives each side its share", () => {
    const chain = makeChain();
    let escrow = lock(chain, { version: "Web3ChainV2", seller, buyer });
    for (const step of ["submitResult", "requestRefund"] as const)
      escrow = act(chain, escrow, step);
    const before = [buyer, seller].map(({ address }) => nativeAt(chain, address));
    act(chain, escrow, "withdrawDisputed", { buyerShare: 4_000_000n });
    const after = [buyer, seller].map(({ address }) => nativeAt(chain, address));
    expect(after.map((amount, i) => amount - (before[i] ?? 0n))).toEqual([4_000_000n, 6_000_000n]);
  });
});

describe("strangers", () => {
  it("lock any Plutus data, no datum at all, and outputs with a reference script", () => {
    const chain = makeChain();
    const contract = contractOf("Web3ChainV1");
    const datum = Uint8Array.of(0x9f, 0xff);
    const payer = STRANGER;
    const referenceScript = true;
    lockRaw(chain, [
      { contract, payer, datum },
      { contract, payer },
      { contract, payer, datum, referenceScript },
    ]);
    const utxos = chain.utxosAt(contract.address);
    expect(utxos.map(({ inlineDatum }) => inlineDatum)).toEqual(["9fff", null, "9fff"]);
    const decoded = decodeTransaction(chain.tip().txs[0]?.cbor ?? new Uint8Array());
    expect(decoded.outputs.map(({ hasReferenceScript }) => hasReferenceScript)).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it("lock somebody's datum again under the same identifier", () => {
    const chain = makeChain();
    const escrow = lock(chain, { version: "Web3ChainV2", seller, buyer });
    const again = lockAgain(chain, escrow, STRANGER);
    expect(again.txHash).not.toBe(escrow.txHash);
    expect(datumOnChain(chain, again)).toEqual(datumOnChain(chain, escrow));
  });

  it("get a failing spend into a block, which moves nothing and costs collateral", () => {
    const chain = makeChain();
    const escrow = lock(chain, { version: "Web3ChainV1", seller, buyer });
    const before = nativeAt(chain, buyer.address);
    const txHash = failToSpend(chain, escrow);
    const [tx] = chain.tip().txs;
    expect(tx).toMatchObject({ hash: txHash, isValid: false });
    expect(datumOnChain(chain, escrow)).toEqual(escrow.datum);
    expect(before - nativeAt(chain, buyer.address)).toBe(5_000_000n);
  });
});

describe("a registry token", () => {
  it.each(PAYMENT_SOURCE_TYPES)("of %s is minted with its metadata and burned", (version) => {
    const chain = makeChain();
    const contract = contractOf(version);
    const token = mintToken(chain, contract, seller, { name: "agent", tags: ["a", "b"] });
    expect(chain.tip().txs[0]?.metadata).toMatchObject([
      {
        label: "721",
        json: { [contract.policy.hash]: { [token.assetName]: { tags: ["a", "b"] } } },
      },
    ]);
    burnToken(chain, token);
    const held = chain.utxosAt(seller.address).flatMap(({ amount }) => amount);
    expect(held.filter(({ unit }) => unit === token.unit)).toEqual([]);
  });
});

it("transactions chain on unconfirmed ones and share a block", () => {
  const chain = createChain({ funds: ACTOR_FUNDS });
  const escrow = lock(chain, { version: "Web3ChainV1", seller, buyer });
  lock(chain, { version: "Web3ChainV1", seller, buyer });
  act(chain, escrow, "submitResult");
  expect(chain.mine().txs).toHaveLength(3);
});
