import { describe, expect, it } from "vitest";
import { buildTransaction } from "../../devnet/actors/transaction.ts";
import { ACTOR_FUNDS, SELLERS } from "../../devnet/actors/wallets.ts";
import { createChain } from "../../devnet/chain.ts";
import { compileContracts } from "../../devnet/contracts/compile.ts";
import COMPILED from "../../devnet/contracts/compiled.json" with { type: "json" };
import { CONTRACTS, type DevnetContract } from "../../devnet/contracts/index.ts";
import { LedgerRejection } from "../../devnet/rejection.ts";
import { parseAddress } from "../../src/chain/address.ts";
import { encodeRedeemer } from "../../src/chain/redeemer.ts";

const [payer] = SELLERS;
const LOCKED = [{ unit: "", amount: 10_000_000n }];
const numbersTo = (end: number) => Array.from({ length: end }, (_, i) => i);

/** Constructor numbers below 10 that the ledger takes as redeemer of such a transaction. */
function accepted(submit: (redeemer: Uint8Array) => void): number[] {
  return numbersTo(10).filter((number) => {
    try {
      submit(encodeRedeemer(number));
      return true;
    } catch (error) {
      if (error instanceof LedgerRejection && error.token === "PlutusFailure") return false;
      throw error;
    }
  });
}

function spendWith(contract: DevnetContract, redeemer: Uint8Array): void {
  const chain = createChain({ funds: ACTOR_FUNDS, autoMine: true });
  const outputs = [{ address: contract.address, funds: LOCKED, datum: Uint8Array.of(0x80) }];
  const txHash = chain.submit(buildTransaction(chain, { payer, outputs }));
  const spends = [{ txHash, index: 0, funds: LOCKED, redeemer }];
  chain.submit(buildTransaction(chain, { payer, spends, scripts: [contract.scriptCbor] }));
}

function mintWith({ policyId, scriptCbor }: DevnetContract, redeemer: Uint8Array): void {
  const chain = createChain({ funds: ACTOR_FUNDS, autoMine: true });
  const mints = [{ policyId, assetName: "00ff", quantity: 1n, redeemer }];
  const outputs = [
    { address: payer.address, funds: [...LOCKED, { unit: `${policyId}00ff`, amount: 1n }] },
  ];
  chain.submit(buildTransaction(chain, { payer, outputs, mints, scripts: [scriptCbor] }));
}

describe("contracts of the local chain", () => {
  it("compile from their sources to the committed scripts", async () => {
    expect(await compileContracts()).toEqual(COMPILED);
  });

  it("have addresses and policies of their own, at their script hashes", () => {
    expect(new Set(CONTRACTS.map(({ address }) => address)).size).toBe(2);
    expect(new Set(CONTRACTS.map(({ policyId }) => policyId)).size).toBe(2);
    for (const { address, scriptHash } of CONTRACTS) {
      expect(parseAddress(address)?.payment).toEqual({ kind: "script", hash: scriptHash });
      expect(address).toMatch(/^addr_test1w/);
    }
  });

  it.each(CONTRACTS)("$type: spends take redeemers 0 to 6 and no other", (contract) => {
    expect(accepted((redeemer) => spendWith(contract, redeemer))).toEqual(numbersTo(7));
  });

  it.each([
    { contract: CONTRACTS[0], methods: ["register", "deregister"] },
    { contract: CONTRACTS[1], methods: ["register", "update", "deregister"] },
  ])("$contract.type: the policy takes the redeemers of $methods", ({ contract, methods }) => {
    if (!contract) throw new Error("two contracts are expected");
    const numbers = accepted((redeemer) => mintWith(contract, redeemer));
    expect(numbers).toEqual(numbersTo(methods.length));
  });

  it("accept the fields that redeemer 4 of Web3ChainV2 carries", () => {
    const contract = CONTRACTS.find(({ type }) => type === "Web3ChainV2");
    if (!contract) throw new Error("a V2 contract is expected");
    const fields = [{ entries: [] }, { entries: [] }, []];
    expect(() => spendWith(contract, encodeRedeemer(4, fields))).not.toThrow();
  });
});
