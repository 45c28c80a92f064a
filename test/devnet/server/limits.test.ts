import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DevnetNode } from "../../../devnet/server/node.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { ask, brokenRules, control, submit } from "../ask.ts";
import { OPEN_ADDRESS, type Payment, payment, plainWallet } from "../hand-built.ts";

const alice = plainWallet("alice");
const bob = plainWallet("bob");
const TO_BOB = [{ address: bob.address, lovelace: 2_000_000n }];
const LOCKED = 5_000_000n;
/** Covers every padding and every number of units. */
const RICH_FEE = 3_000_000n;

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({
    funds: Array.from({ length: 20 }, () => ({ address: alice.address, lovelace: 1_000_000_000n })),
  });
});
afterAll(() => devnet.close());

interface Parameters {
  min_fee_a: number;
  min_fee_b: number;
  max_tx_size: number;
  max_tx_ex_mem: string;
  max_tx_ex_steps: string;
  max_val_size: string;
  price_mem: number;
  price_step: number;
  collateral_percent: number;
  max_collateral_inputs: number;
  coins_per_utxo_size: string;
  max_block_size: number;
  max_block_ex_mem: string;
  max_block_ex_steps: string;
}

async function newNode(options: object = {}): Promise<{ node: DevnetNode; stated: Parameters }> {
  const { body } = await control(devnet.url, "create", options);
  const node = devnet.chains.get(body.name);
  if (!node) throw new Error("the chain is not there");
  return { node, stated: (await ask(node, "/epochs/latest/parameters")).body };
}

/** A transaction of exactly so many bytes. */
function sized(node: DevnetNode, bytes: number, plan: Partial<Payment> = {}): Uint8Array {
  const of = (padding: number) =>
    payment(node.chain, { from: alice, to: TO_BOB, fee: RICH_FEE, ...plan, padding });
  // Headers of a length and of the one beyond it are the same from 256 bytes on.
  const cbor = of(300 + bytes - of(300).length);
  if (cbor.length !== bytes) throw new Error(`${cbor.length} bytes in place of ${bytes}`);
  return cbor;
}

/** A payment that spends from a script as well. */
function scripted({ chain }: DevnetNode, plan: Partial<Payment>): Uint8Array {
  const spender = chain.utxosAt(alice.address).at(-1);
  if (!spender) throw new Error("alice has nothing left");
  const txHash = chain.submit(
    payment(chain, {
      from: alice,
      to: [{ address: OPEN_ADDRESS, lovelace: LOCKED }],
      inputs: [spender],
    }),
  );
  chain.mine();
  const open = { txHash, index: 0, lovelace: LOCKED };
  return payment(chain, { from: alice, to: TO_BOB, fee: RICH_FEE, open, ...plan });
}

/** The bytes that a fee is for: the flag of the scripts' success is none of them. */
const countedSize = (cbor: Uint8Array) => cbor.length - 1;

/** A node whose parameters are stated, and a transaction that is so much above a limit of them. */
type Limited = (above: number, stated: Parameters, node: DevnetNode) => Uint8Array;

/** A transaction at a stated limit is accepted, one above it is refused for that rule. */
const TRANSACTION_LIMITS: Record<string, [rule: string, Limited]> = {
  "max_tx_size bytes": [
    "MaxTxSizeUTxO",
    (above, { max_tx_size }, node) => sized(node, max_tx_size + above),
  ],
  "max_tx_ex_mem units": [
    "ExUnitsTooBigUTxO",
    (above, { max_tx_ex_mem }, node) =>
      scripted(node, { units: { memory: BigInt(max_tx_ex_mem) + BigInt(above), steps: 100_000n } }),
  ],
  "max_tx_ex_steps units": [
    "ExUnitsTooBigUTxO",
    (above, { max_tx_ex_steps }, node) =>
      scripted(node, { units: { memory: 1_000n, steps: BigInt(max_tx_ex_steps) + BigInt(above) } }),
  ],
  max_collateral_inputs: [
    "TooManyCollateralInputs",
    (above, { max_collateral_inputs }, node) =>
      scripted(node, {
        collateral: node.chain.utxosAt(alice.address).slice(0, max_collateral_inputs + above),
      }),
  ],
  "collateral_percent of the fee": [
    "InsufficientCollateral",
    (above, { collateral_percent }, node) => {
      const needed = (RICH_FEE * BigInt(collateral_percent) + 99n) / 100n;
      return scripted(node, { totalCollateral: needed - BigInt(above) });
    },
  ],
  "min_fee_a a byte and min_fee_b": [
    "FeeTooSmallUTxO",
    (above, { min_fee_a, min_fee_b }, node) => {
      const of = (fee: bigint) => payment(node.chain, { from: alice, to: TO_BOB, fee });
      return of(BigInt(min_fee_a * countedSize(of(200_000n)) + min_fee_b - above));
    },
  ],
  "price_mem and price_step": [
    "FeeTooSmallUTxO",
    (above, { min_fee_a, min_fee_b, price_mem, price_step }, node) => {
      const units = { memory: 1_000_000n, steps: 2_000_000_000n };
      const execution = Math.ceil(1_000_000 * price_mem + 2_000_000_000 * price_step);
      const of = (fee: bigint) =>
        payment(node.chain, { from: alice, to: TO_BOB, fee, mints: [""], units });
      return of(BigInt(min_fee_a * countedSize(of(400_000n)) + min_fee_b + execution - above));
    },
  ],
  "coins_per_utxo_size a byte of an output": [
    "BabbageOutputTooSmallUTxO",
    (above, { coins_per_utxo_size }, node) => {
      // An output of a 29-byte address and a coin of 5 bytes is 39 bytes long; 160 count on top.
      const least = BigInt(coins_per_utxo_size) * (160n + 39n);
      const to = [{ address: bob.address, lovelace: least - BigInt(above) }];
      return payment(node.chain, { from: alice, to });
    },
  ],
  "max_val_size bytes of a value": [
    "OutputTooBigUTxO",
    (above, { max_val_size }, node) => {
      // An array of a coin (5 bytes) and a map of one policy (31) to a map of names (2). A name of 32 bytes
      // takes 34 bytes, and its quantity 1.
      const room = Number(max_val_size) + above - (1 + 5 + 31 + 2);
      const full = Math.floor(room / 35) - 1;
      const names = Array.from({ length: full }, (_, i) => i.toString(16).padStart(64, "0"));
      const left = room - full * 35;
      // The rest in three names of less than 24 bytes, which take two bytes more.
      const lengths = [0, 1, 2].map((i) => Math.floor((left + i) / 3) - 2);
      names.push(...lengths.map((length, i) => `a${i}`.repeat(length)));
      const inputs = node.chain.utxosAt(alice.address).slice(0, 1);
      return payment(node.chain, { from: alice, to: TO_BOB, inputs, fee: RICH_FEE, mints: names });
    },
  ],
};

describe("a transaction", () => {
  for (const [name, [rule, build]] of Object.entries(TRANSACTION_LIMITS)) {
    it(`at the limit that ${name} states is accepted, and one above is refused`, async () => {
      const { node, stated } = await newNode();
      expect(brokenRules(await submit(node, build(1, stated, node)))).toEqual([
        expect.stringContaining(`(${rule} `),
      ]);
      expect(await submit(node, build(0, stated, node))).toMatchObject({ status: 200 });
    });
  }
});

/** A transaction of a block that is filled: so many bytes, or what its script may use. */
type Part = { bytes: number } | { units: { memory: bigint; steps: bigint } };

/** Hands over transactions, each of which spends another of alice's outputs. */
async function submitParts(node: DevnetNode, parts: readonly Part[]): Promise<string[]> {
  const utxos = node.chain.utxosAt(alice.address);
  const hashes: string[] = [];
  for (const [i, part] of parts.entries()) {
    const inputs = utxos.slice(i, i + 1);
    const cbor =
      "bytes" in part
        ? sized(node, part.bytes, { inputs })
        : payment(node.chain, {
            from: alice,
            to: TO_BOB,
            fee: RICH_FEE,
            inputs,
            mints: [""],
            units: part.units,
          });
    const answer = await submit(node, cbor);
    expect(answer).toMatchObject({ status: 200 });
    hashes.push(answer.body);
  }
  return hashes;
}

/** Parts that are together so much above what a block holds by its parameters. */
const BLOCK_LIMITS: Record<string, (stated: Parameters, above: number) => Part[]> = {
  "max_block_size bytes": ({ max_block_size }, above) =>
    [0, 0, 0, 0, 0, 0, 0, above].map((more) => ({ bytes: max_block_size / 8 + more })),
  "max_block_ex_mem units": ({ max_block_ex_mem }, above) =>
    [0n, 0n, 0n, 0n, BigInt(above)].map((more) => ({
      units: { memory: BigInt(max_block_ex_mem) / 5n + more, steps: 100_000n },
    })),
  "max_block_ex_steps units": ({ max_block_ex_steps }, above) =>
    // Divided by three, two are left over.
    [0n, 0n, 2n + BigInt(above)].map((more) => ({
      units: { memory: 1_000n, steps: BigInt(max_block_ex_steps) / 3n + more },
    })),
};

describe("a block", () => {
  for (const [name, parts] of Object.entries(BLOCK_LIMITS)) {
    it(`takes the ${name} that are stated, in order`, async () => {
      const { node, stated } = await newNode();
      const hashes = await submitParts(node, parts(stated, 0));
      expect(node.chain.mine().txs.map(({ hash }) => hash)).toEqual(hashes);
    });

    it(`takes no transaction that would make one more than the ${name}; it waits`, async () => {
      const { node, stated } = await newNode();
      const hashes = await submitParts(node, parts(stated, 1));
      expect(node.chain.mine().txs.map(({ hash }) => hash)).toEqual(hashes.slice(0, -1));
      expect(node.chain.mempool()).toEqual(hashes.slice(-1));
      expect(node.chain.mine().txs.map(({ hash }) => hash)).toEqual(hashes.slice(-1));
    });
  }
});

describe("a mempool", () => {
  it("of two blocks is full: 425 to one more, and the same bytes are taken when there is room", async () => {
    const { node, stated } = await newNode();
    const parts = BLOCK_LIMITS["max_block_size bytes"]?.(stated, 0) ?? [];
    await submitParts(node, [...parts, ...parts]);
    const inputs = node.chain.utxosAt(alice.address).slice(0, 1);
    const cbor = payment(node.chain, { from: alice, to: TO_BOB, inputs });
    expect(await submit(node, cbor)).toMatchObject({
      status: 425,
      body: { status_code: 425, error: "Mempool Full", message: "Mempool Full" },
    });
    node.chain.mine();
    expect((await submit(node, cbor)).status).toBe(200);
  });
});

describe("a chain of lower limits", () => {
  it("states and enforces them", async () => {
    const limits = { transactionMemory: 1_000_000, blockMemory: 2_500_000 };
    const { node, stated } = await newNode({ limits });
    expect(stated).toMatchObject({ max_tx_ex_mem: "1000000", max_block_ex_mem: "2500000" });
    const of = (memory: bigint) => scripted(node, { units: { memory, steps: 100_000n } });
    expect(brokenRules(await submit(node, of(1_000_001n)))).toEqual([
      expect.stringContaining("ExUnitsTooBigUTxO"),
    ]);
    expect((await submit(node, of(1_000_000n))).status).toBe(200);
  });

  it("has none that is higher than the network's", async () => {
    const { status, body } = await control(devnet.url, "create", { limits: { blockSize: 90_113 } });
    expect([status, body.error]).toEqual([400, "blockSize is at most the network's 90112"]);
  });
});
