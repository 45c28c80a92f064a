/** Compiled scripts that replace our own contracts. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UPLC } from "@evolution-sdk/evolution";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Deployment, deploy } from "../../../devnet/contracts/deployment.ts";
import { readReadyContracts } from "../../../devnet/contracts/ready.ts";
import { TERMS } from "../../../devnet/contracts/terms.ts";
import { burnToken, mintToken } from "../../../devnet/demo/actors/registry.ts";
import { buildTransaction } from "../../../devnet/demo/actors/transaction.ts";
import { ACTOR_FUNDS, SELLERS } from "../../../devnet/demo/actors/wallets.ts";
import { createChain } from "../../../devnet/ledger/chain.ts";
import { encodeBytes } from "../../../src/chain/cbor.ts";
import { encodeRedeemer } from "../../../src/chain/contracts/redeemers.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { PAYMENT_SOURCE_TYPES } from "../../../src/chain/network.ts";
import {
  type EscrowParameters,
  encodeEscrowParameters,
  encodePolicyParameters,
} from "../../../src/chain/plutus/contract-parameters.ts";
import { encodePlutusData, type PlutusData } from "../../../src/chain/plutus/data.ts";
import { deploymentOf, OWN } from "./escrows.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ready-contracts-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(contents: unknown): string {
  const path = join(folder, "contracts.json");
  writeFileSync(path, typeof contents === "string" ? contents : JSON.stringify(contents));
  return path;
}

const [SELLER] = SELLERS;
const V3 = "PlutusV3";
const own = (type: EscrowParameters["type"]) => deploy(TERMS[type], {});
const wrapped = (cbor: string) => bytesToHex(encodeBytes(hexToBytes(cbor)));

/** A script of an older language that accepts everything, and takes parameters and arguments. */
function permissive(parameters: readonly PlutusData[], ownArguments: number): string {
  const lambdas = parameters.length + ownArguments;
  const body = Array.from({ length: lambdas }).reduce<UPLC.Term>(
    (inner) => UPLC.lambdaTerm(0n, inner),
    UPLC.constantTerm("Unit", null),
  );
  const applied = parameters
    .map((data) => UPLC.constantTerm("Data", encodePlutusData(data)))
    .reduce(UPLC.applyTerm, body);
  const program = new UPLC.Program({ version: "1.0.0", body: applied });
  return UPLC.applySingleCborEncoding(UPLC.toFlatHex(program));
}

describe("a file of ready scripts", () => {
  it.each(PAYMENT_SOURCE_TYPES)("gives those of %s the parameters that are asked for", (type) => {
    // With other administrators and another fee.
    const other = deploymentOf(type, "three", OWN);
    expect(other.escrow).not.toEqual(own(type).escrow);
    const given = { language: V3, escrow: other.escrow.cbor, policy: other.policy.cbor };
    expect(deploy(TERMS[type], readReadyContracts(write({ [type]: given })))).toEqual(own(type));
  });

  it("may have them wrapped once more, as some providers show them", () => {
    const { escrow, policy } = own("Web3ChainV2");
    const given = { language: V3, escrow: wrapped(escrow.cbor), policy: wrapped(policy.cbor) };
    const ready = readReadyContracts(write({ Web3ChainV2: given }));
    expect(deploy(TERMS.Web3ChainV2, ready)).toEqual(own("Web3ChainV2"));
  });

  it("leaves what it does not name as it is: the policy, and the other generation", () => {
    const escrow = permissive(encodeEscrowParameters(TERMS.Web3ChainV1), 1);
    const ready = readReadyContracts(write({ Web3ChainV1: { language: V3, escrow } }));
    const { policy, ...rest } = deploy(TERMS.Web3ChainV1, ready);
    expect(rest.escrow.cbor).toBe(escrow);
    // Each escrow of Web3ChainV1 has another policy.
    expect(policy.language).toBe(V3);
    expect(policy.hash).not.toBe(own("Web3ChainV1").policy.hash);
    expect(deploy(TERMS.Web3ChainV2, ready)).toEqual(own("Web3ChainV2"));
  });
});

describe("a ready script of another language runs on the local chain:", () => {
  it("an escrow of Plutus V2", () => {
    const escrow = permissive(encodeEscrowParameters(TERMS.Web3ChainV2), 3);
    const ready = readReadyContracts(write({ Web3ChainV2: { language: "PlutusV2", escrow } }));
    const deployment = deploy(TERMS.Web3ChainV2, ready);
    const chain = createChain({ funds: ACTOR_FUNDS, autoMine: true });
    const funds = [{ unit: "", amount: 10_000_000n }];
    const lock = {
      payer: SELLER,
      outputs: [{ address: deployment.address, funds, datum: Uint8Array.of(0x80) }],
    };
    const txHash = chain.submit(buildTransaction(chain, lock));
    const spends = [{ txHash, index: 0, funds, redeemer: encodeRedeemer(0) }];
    const plan = { payer: SELLER, spends, scripts: [deployment.escrow] };
    chain.submit(buildTransaction(chain, plan));
    expect(chain.utxosAt(deployment.address)).toEqual([]);
  });

  it("a policy of Plutus V1", () => {
    const escrow = permissive(encodeEscrowParameters(TERMS.Web3ChainV1), 3);
    const policy = permissive(encodePolicyParameters(own("Web3ChainV1").address), 2);
    const given = { language: "PlutusV1", escrow, policy };
    const deployment: Deployment = deploy(
      TERMS.Web3ChainV1,
      readReadyContracts(write({ Web3ChainV1: given })),
    );
    const chain = createChain({ funds: ACTOR_FUNDS, autoMine: true });
    const token = mintToken(chain, deployment, SELLER, "an agent");
    const held = () =>
      chain.utxosAt(SELLER.address).flatMap(({ amount }) => amount.map(({ unit }) => unit));
    expect(held()).toContain(token.unit);
    burnToken(chain, token);
    expect(held()).not.toContain(token.unit);
  });
});

describe("a file of ready scripts is refused in one sentence that names it when", () => {
  const { escrow, policy } = own("Web3ChainV2");
  const generation = { language: V3, escrow: escrow.cbor };

  it.each([
    ["it is not JSON", "{", " is not JSON"],
    ["it is something else", "[]", /: Invalid input: expected object, received array$/],
    ["it has no generation", {}, ": names no generation"],
    ["it has an unknown one", { Web3ChainV3: generation }, ': Unrecognized key: "Web3ChainV3"'],
    [
      "it has an unknown language",
      { Web3ChainV2: { ...generation, language: "PlutusV4" } },
      /: Web3ChainV2: language: Invalid option: expected one of "PlutusV1"\|"PlutusV2"\|"PlutusV3"$/,
    ],
    [
      "a script is no hex",
      { Web3ChainV2: { ...generation, escrow: "0x5820" } },
      ": Web3ChainV2: escrow: must be bytes in lower-case hex",
    ],
  ])("%s", (_, contents, problem) => {
    const path = write(contents);
    expect(() => readReadyContracts(path)).toThrow(
      typeof problem === "string"
        ? new Error(`ESCROW_CONTRACTS: ${path}${problem}`)
        : new RegExp(`^ESCROW_CONTRACTS: ${path}${problem.source}`),
    );
  });

  it("it is not there", () => {
    const path = join(folder, "nowhere.json");
    expect(() => readReadyContracts(path)).toThrow(
      new Error(`ESCROW_CONTRACTS: ${path} cannot be read (ENOENT)`),
    );
  });

  it.each([
    ["a program without its byte string", escrow.cbor.slice(6)],
    ["a program that is cut off", `5820${escrow.cbor.slice(6, 70)}`],
    ["a program without parameters", policy.cbor],
    ["the other generation's", own("Web3ChainV1").escrow.cbor],
  ])("the escrow is %s", (_, cbor) => {
    const path = write({ Web3ChainV2: { language: V3, escrow: cbor } });
    const ready = readReadyContracts(path);
    expect(() => deploy(TERMS.Web3ChainV2, ready)).toThrow(
      `ESCROW_CONTRACTS: ${path}: Web3ChainV2: escrow: does not take the local parameters: `,
    );
  });
});
