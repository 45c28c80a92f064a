import { hexToBytes } from "@noble/hashes/utils.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVED } from "../../../devnet/blockfrost/router.ts";
import { assertMatchesSpecification } from "../../../devnet/blockfrost/schema.ts";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask } from "../ask.ts";
import {
  ASSET_NAME,
  ONCHAIN_METADATA,
  SCRIPT_ADDRESS,
  SCRIPT_HASH,
  UNIT,
  walletAddress,
  walletOn,
} from "../evolution.ts";
import { payment, plainWallet } from "../hand-built.ts";

const carol = plainWallet("carol");
const STAKE_ADDRESS = "stake_test1uruw6wswag80sd0l57alehj47llf6tx96402vt8vks46k0q0e2ne6";

let devnet: Devnet;
let node: DevnetNode;
let wallet: string;
const sent = { lock: "", mint: "", spend: "", reference: "", burn: "" };

beforeAll(async () => {
  devnet = await startDevnet();
  wallet = await walletAddress();
  const funds = [
    { address: wallet, lovelace: 10_000_000_000n },
    { address: carol.address, lovelace: 1_000_000_000n },
  ];
  node = devnet.createChain("specification", { funds, autoMine: true });
  const owner = walletOn(node);
  sent.lock = await owner.lock();
  sent.mint = await owner.mint();
  sent.spend = await owner.spend();
});
afterAll(() => devnet.close());

/** The hash of `Constr 5 []`, as the notes on the escrow's redeemers have it. */
const CONSTR_5_HASH = "6a50f67a33f1f5aab556cde0301a5e6871188c5d536b1958fb6d3819841864f3";

describe("every call that is served", () => {
  it("answers as the specification says", async () => {
    const datum = (await ask(node, `/txs/${sent.lock}/utxos`)).body.outputs[0].data_hash;
    const cbor = payment(node.chain, {
      from: carol,
      to: [{ address: wallet, lovelace: 2_000_000n }],
    });
    const hex = Buffer.from(cbor).toString("hex");
    const json = { "content-type": "application/json" };
    const plain = { "content-type": "application/cbor" };
    const calls: Record<string, [path: string, init?: RequestInit]> = {
      "GET /": ["/"],
      "GET /health": ["/health"],
      "GET /genesis": ["/genesis"],
      "GET /blocks/latest": ["/blocks/latest"],
      "GET /blocks/{hash_or_number}": ["/blocks/2"],
      "GET /blocks/{hash_or_number}/txs": ["/blocks/2/txs"],
      "GET /epochs/latest": ["/epochs/latest"],
      "GET /epochs/latest/parameters": ["/epochs/latest/parameters"],
      "GET /addresses/{address}": [`/addresses/${wallet}`],
      "GET /addresses/{address}/transactions": [`/addresses/${wallet}/transactions`],
      "GET /addresses/{address}/utxos": [`/addresses/${SCRIPT_ADDRESS}/utxos`],
      "GET /addresses/{address}/utxos/{asset}": [`/addresses/${wallet}/utxos/${UNIT}`],
      "GET /accounts/{stake_address}/addresses/assets": [
        `/accounts/${STAKE_ADDRESS}/addresses/assets`,
      ],
      "GET /txs/{hash}": [`/txs/${sent.spend}`],
      "GET /txs/{hash}/utxos": [`/txs/${sent.spend}/utxos`],
      "GET /txs/{hash}/cbor": [`/txs/${sent.spend}/cbor`],
      "GET /txs/{hash}/metadata": [`/txs/${sent.mint}/metadata`],
      "GET /txs/{hash}/metadata/cbor": [`/txs/${sent.mint}/metadata/cbor`],
      "GET /txs/{hash}/redeemers": [`/txs/${sent.spend}/redeemers`],
      "GET /scripts/{script_hash}/redeemers": [`/scripts/${SCRIPT_HASH}/redeemers`],
      "GET /txs/{hash}/required_signers": [`/txs/${sent.spend}/required_signers`],
      "GET /assets/policy/{policy_id}": [`/assets/policy/${SCRIPT_HASH}`],
      "GET /assets/{asset}": [`/assets/${UNIT}`],
      "GET /assets/{asset}/history": [`/assets/${UNIT}/history`],
      "GET /assets/{asset}/addresses": [`/assets/${UNIT}/addresses`],
      "GET /assets/{asset}/transactions": [`/assets/${UNIT}/transactions`],
      "GET /scripts/{script_hash}": [`/scripts/${SCRIPT_HASH}`],
      "GET /scripts/{script_hash}/cbor": [`/scripts/${SCRIPT_HASH}/cbor`],
      "GET /scripts/datum/{datum_hash}/cbor": [`/scripts/datum/${datum}/cbor`],
      "POST /utils/txs/evaluate": [
        "/utils/txs/evaluate",
        { method: "POST", headers: plain, body: hex },
      ],
      "POST /utils/txs/evaluate/utxos": [
        "/utils/txs/evaluate/utxos",
        { method: "POST", headers: json, body: JSON.stringify({ cbor: hex }) },
      ],
      "POST /tx/submit": ["/tx/submit", { method: "POST", headers: plain, body: hexToBytes(hex) }],
    };
    expect(Object.keys(calls).sort()).toEqual([...SERVED].sort());

    for (const [call, [path, init]] of Object.entries(calls)) {
      const { status, body } = await ask(node, path, init);
      expect([call, status]).toEqual([call, 200]);
      if (Array.isArray(body) && !call.includes("required_signers")) {
        expect([call, body.length]).not.toEqual([call, 0]);
      }
      assertMatchesSpecification(call.split(" ")[1] ?? "", 200, body);
    }
  });

  it("refuses as the specification says", async () => {
    for (const path of [`/txs/${"00".repeat(32)}`, "/txs/junk"]) {
      const { status, body } = await ask(node, path);
      assertMatchesSpecification("/txs/{hash}", status, body);
    }
  });

  it("would be caught if it answered otherwise", () => {
    expect(() => assertMatchesSpecification("/health", 200, { is_healthy: "yes" })).toThrow(
      "out of specification",
    );
    expect(() => assertMatchesSpecification("/no/such/path", 200, {})).toThrow("has no answer");
  });
});

describe("what the answers tell of a spend of a script output", () => {
  it("marks the output consumed and lists spent and collateral inputs apart", async () => {
    const made = (await ask(node, `/txs/${sent.lock}/utxos`)).body.outputs;
    expect(made[0]).toMatchObject({
      address: SCRIPT_ADDRESS,
      amount: [{ unit: "lovelace", quantity: "10000000" }],
      inline_datum: "d8799f182aff",
      consumed_by_tx: sent.spend,
    });
    expect(made[1]).toMatchObject({ reference_script_hash: SCRIPT_HASH, consumed_by_tx: null });

    const { inputs, outputs } = (await ask(node, `/txs/${sent.spend}/utxos`)).body;
    const spent = inputs.filter((input: { collateral: boolean }) => !input.collateral);
    expect(spent).toContainEqual(
      expect.objectContaining({ tx_hash: sent.lock, output_index: 0, address: SCRIPT_ADDRESS }),
    );
    expect(inputs.some((input: { collateral: boolean }) => input.collateral)).toBe(true);
    const last = outputs.at(-1);
    expect(last).toMatchObject({ collateral: true, output_index: outputs.length - 1 });
  });

  it("gives hash, bounds and cost of the redeemer", async () => {
    const [redeemer] = (await ask(node, `/txs/${sent.spend}/redeemers`)).body;
    expect(redeemer).toMatchObject({
      purpose: "spend",
      script_hash: SCRIPT_HASH,
      redeemer_data_hash: CONSTR_5_HASH,
      unit_mem: "500",
      unit_steps: "64100",
      fee: "34",
    });
    const { body } = await ask(node, `/txs/${sent.spend}`);
    expect(Number(body.invalid_hereafter) - Number(body.invalid_before)).toBe(300);
    expect(body).toMatchObject({ redeemer_count: 1, valid_contract: true, block_height: 3 });
  });

  it("gives back exactly the transaction that was submitted", async () => {
    const { body } = await ask(node, `/txs/${sent.spend}/cbor`);
    const known = node.chain.view().transactions.get(sent.spend);
    expect(body.cbor).toBe(Buffer.from(known?.tx.cbor ?? []).toString("hex"));
  });
});

describe("what the answers tell of a token", () => {
  it("shows supply, holder and CIP-25 metadata", async () => {
    const { body } = await ask(node, `/assets/${UNIT}`);
    expect(body).toMatchObject({
      policy_id: SCRIPT_HASH,
      asset_name: ASSET_NAME,
      quantity: "1",
      initial_mint_tx_hash: sent.mint,
      mint_or_burn_count: 1,
      onchain_metadata: ONCHAIN_METADATA,
      onchain_metadata_standard: "CIP25v1",
    });
    expect(body.fingerprint).toMatch(/^asset1[a-z0-9]{38}$/);
    expect((await ask(node, `/assets/${UNIT}/addresses`)).body).toEqual([
      { address: wallet, quantity: "1" },
    ]);
    expect((await ask(node, `/txs/${sent.mint}/metadata`)).body).toEqual([
      { label: "721", json_metadata: { [SCRIPT_HASH]: { Agent: ONCHAIN_METADATA } } },
    ]);
    expect((await ask(node, `/accounts/${STAKE_ADDRESS}/addresses/assets`)).body).toEqual([
      { unit: UNIT, quantity: "1" },
    ]);
    const summary = (await ask(node, `/addresses/${wallet}`)).body;
    expect(summary).toMatchObject({ stake_address: STAKE_ADDRESS, type: "shelley", script: false });
  });

  it("shows a burned token without holder or supply, and both in its history", async () => {
    sent.reference = await walletOn(node).spendByReference();
    sent.burn = await walletOn(node).burn();

    const { inputs } = (await ask(node, `/txs/${sent.reference}/utxos`)).body;
    expect(inputs).toContainEqual(
      expect.objectContaining({ reference: true, reference_script_hash: SCRIPT_HASH }),
    );
    expect((await ask(node, `/assets/${UNIT}/history`)).body).toEqual([
      { tx_hash: sent.mint, action: "minted", amount: "1" },
      { tx_hash: sent.burn, action: "burned", amount: "1" },
    ]);
    expect((await ask(node, `/assets/${UNIT}/addresses`)).body).toEqual([]);
    expect((await ask(node, `/assets/${UNIT}`)).body).toMatchObject({
      quantity: "0",
      onchain_metadata: ONCHAIN_METADATA,
    });
    expect((await ask(node, `/assets/policy/${SCRIPT_HASH}`)).body).toEqual([
      { asset: UNIT, quantity: "0" },
    ]);
  });
});
