/** Transactions of every kind, built by an independent library against our node. */
import {
  Address,
  Assets,
  Client,
  Data,
  InlineDatum,
  PlutusV3,
  preprod,
  ScriptHash,
  TransactionHash,
} from "@evolution-sdk/evolution";
import { hexToBytes } from "@noble/hashes/utils.js";
import type { DevnetNode } from "../../devnet/server/node.ts";
import { addressFromBytes } from "../../src/chain/address.ts";

export const MNEMONIC = `${"test ".repeat(23)}sauce`;

/** Plutus V3 `(program 1.1.0 (lam _ (con unit ())))`: whatever is asked, it succeeds. */
const script = new PlutusV3.PlutusV3({ bytes: hexToBytes("450101002499") });
export const SCRIPT_HASH = ScriptHash.toHex(ScriptHash.fromScript(script));
export const SCRIPT_ADDRESS = addressFromBytes(hexToBytes(`70${SCRIPT_HASH}`));
const scriptAddress = Address.fromBech32(SCRIPT_ADDRESS);

export const ASSET_NAME = Buffer.from("Agent").toString("hex");
export const UNIT = SCRIPT_HASH + ASSET_NAME;
export const ONCHAIN_METADATA = { name: "Agent", tags: ["a", "b"], version: 7 };

/** Base address of the wallet that all of it is paid from. */
export async function walletAddress(): Promise<string> {
  const wallet = Client.make(preprod).withSeed({ mnemonic: MNEMONIC, accountIndex: 0 });
  return Address.toBech32(await wallet.address());
}

/** A wallet whose provider is the node, over HTTP. */
export function walletOn(node: DevnetNode) {
  const client = Client.make(preprod)
    .withBlockfrost({ baseUrl: node.url, projectId: "preprodTest" })
    .withSeed({ mnemonic: MNEMONIC, accountIndex: 0 });
  const redeemer = Data.constr(5n, []);

  async function send(builder: ReturnType<typeof client.newTx>): Promise<string> {
    const built = await builder.build();
    const signed = await built.sign();
    return TransactionHash.toHex(await signed.submit());
  }

  async function locked() {
    const [utxo] = (await client.getUtxos(scriptAddress)).filter(({ scriptRef }) => !scriptRef);
    if (!utxo) throw new Error("Nothing is locked");
    return utxo;
  }

  return {
    /** Locks an output with an inline datum, and one that carries the script. */
    lock: () =>
      send(
        client
          .newTx()
          .payToAddress({
            address: scriptAddress,
            assets: Assets.fromLovelace(10_000_000n),
            datum: new InlineDatum.InlineDatum({ data: Data.constr(0n, [42n]) }),
          })
          .payToAddress({
            address: scriptAddress,
            assets: Assets.fromLovelace(5_000_000n),
            script,
          }),
      ),
    /** Spends the locked output with the script in the witnesses, and locks another. */
    async spend() {
      const from = BigInt(node.chain.now() - 60_000);
      return send(
        client
          .newTx()
          .collectFrom({ inputs: [await locked()], redeemer })
          .attachScript({ script })
          .payToAddress({
            address: scriptAddress,
            assets: Assets.fromLovelace(9_000_000n),
            datum: new InlineDatum.InlineDatum({ data: Data.constr(1n, []) }),
          })
          .setValidity({ from, to: from + 300_000n }),
      );
    },
    /** Spends the locked output with the script read from its reference output. */
    async spendByReference() {
      const carrier = (await client.getUtxos(scriptAddress)).filter(({ scriptRef }) => scriptRef);
      return send(
        client
          .newTx()
          .readFrom({ referenceInputs: carrier })
          .collectFrom({ inputs: [await locked()], redeemer }),
      );
    },
    mint: () =>
      send(
        client
          .newTx()
          .mintAssets({ assets: Assets.fromRecord({ [UNIT]: 1n }), redeemer })
          .attachScript({ script })
          .attachMetadata({
            label: 721n,
            metadata: metadatum({ [SCRIPT_HASH]: { Agent: ONCHAIN_METADATA } }),
          }),
      ),
    burn: () =>
      send(
        client
          .newTx()
          .mintAssets({ assets: Assets.fromRecord({ [UNIT]: -1n }), redeemer })
          .attachScript({ script }),
      ),
  };
}

type Json = string | number | Json[] | { [key: string]: Json };
type Metadatum = string | bigint | Metadatum[] | Map<Metadatum, Metadatum>;

function metadatum(value: Json): Metadatum {
  if (typeof value === "string") return value;
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value.map(metadatum);
  return new Map(Object.entries(value).map(([key, member]) => [key, metadatum(member)]));
}
