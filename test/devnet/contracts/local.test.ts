/** The local chain's contracts, which no other chain may have. */
import { expect, it } from "vitest";
import { deploy } from "../../../devnet/contracts/deployment.ts";
import { contracts } from "../../../devnet/contracts/index.ts";
import { TERMS } from "../../../devnet/contracts/terms.ts";
import { parseAddress } from "../../../src/chain/address.ts";
import { LOCAL_SCRIPT_HASHES } from "../../../src/sources/contracts/local-contracts.ts";

it("the contracts and policies of the local chain are all refused outside of development", () => {
  const hashes = Object.values(TERMS)
    .map((terms) => deploy(terms, {}))
    .flatMap(({ escrow, policy }) => [escrow.hash, policy.hash]);
  expect([...LOCAL_SCRIPT_HASHES].sort()).toEqual(hashes.sort());
});

it("the contracts of the local chain have addresses and policies of their own", () => {
  expect(new Set(contracts().map(({ address }) => address)).size).toBe(2);
  expect(new Set(contracts().map(({ policy }) => policy.hash)).size).toBe(2);
  for (const { address, escrow } of contracts()) {
    expect(parseAddress(address)?.payment).toEqual({ kind: "script", hash: escrow.hash });
    expect(address).toMatch(/^addr_test1w/);
  }
});
