import { Data, PlutusV3, ScriptHash, UPLC } from "@evolution-sdk/evolution";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contractOf, templates } from "../../devnet/contracts/index.ts";
import type { ParameterForm } from "../../devnet/contracts/plutus/compile.ts";
import { scriptOf as asScript } from "../../devnet/contracts/scripts.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { buildTransaction } from "../../devnet/demo/actors/transaction.ts";
import { ACTOR_FUNDS, SELLERS } from "../../devnet/demo/actors/wallets.ts";
import { createChain } from "../../devnet/ledger/chain.ts";
import { startDevnet } from "../../devnet/server/server.ts";
import { formatAddress } from "../../src/chain/address.ts";
import { encodeRedeemer } from "../../src/chain/contracts/redeemers.ts";
import { bytesToHex, hexToBytes } from "../../src/chain/hex.ts";
import {
  createScriptFromTemplate,
  type EscrowParameters,
  encodeEscrowParameters,
  encodePolicyParameters,
} from "../../src/chain/plutus/contract-parameters.ts";
import { encodePlutusData, type PlutusData } from "../../src/chain/plutus/data.ts";
import { hashScript, parseScript, replaceParameters } from "../../src/chain/plutus/script.ts";
import { createBlockfrostProvider } from "../../src/chain/provider/blockfrost/blockfrost.ts";

/** Scripts are built here by a wallet library of others, and ours must come out the same. */
const FORMS: readonly ParameterForm[] = ["applications", "case"];

/** The parameters on a body with arguments, as that library writes it. */
function scriptOf(
  form: ParameterForm,
  body: UPLC.Term,
  own: readonly UPLC.Term[],
  parameters: readonly PlutusData[],
  version: UPLC.Program["version"] = "1.1.0",
): Uint8Array {
  const constants = [...own, ...parameters.map((data) => UPLC.dataConstant(toTheirs(data)))];
  const applied =
    form === "case"
      ? UPLC.caseTerm(UPLC.constrTerm(0n, constants), [body])
      : constants.reduce(UPLC.applyTerm, body);
  // Unchecked: its check of a nested term of some kilobytes takes seconds.
  const program = new UPLC.Program({ version, body: applied }, { disableValidation: true });
  const flat = UPLC.toFlatHex(program);
  return hexToBytes(UPLC.applySingleCborEncoding(flat));
}

const programOf = (scriptCbor: string) =>
  UPLC.fromFlatBytes(UPLC.decodeDoubleCborHexToFlat(scriptCbor));

/** What takes a script's parameters, and the version of its language. */
function bodyOf(scriptCbor: string, form: ParameterForm, parameters: number) {
  const { version, body } = programOf(scriptCbor);
  if (form === "case") {
    const [taker] = body.type === "Case" ? body.cases : [];
    if (!taker) throw new Error("not a case of parameters");
    return { version, body: taker };
  }
  let taker = body;
  for (let i = 0; i < parameters; i++) {
    if (taker.type !== "Apply") throw new Error("not applied to parameters");
    taker = taker.function;
  }
  return { version, body: taker };
}

/** A term in lambdas that pass over their arguments. */
const inLambdas = (count: number, body: UPLC.Term): UPLC.Term =>
  count === 0 ? body : UPLC.lambdaTerm(0n, inLambdas(count - 1, body));

function toTheirs(data: PlutusData): Data.Data {
  if (typeof data === "bigint" || data instanceof Uint8Array) return data;
  if (Array.isArray(data)) return data.map(toTheirs);
  if ("entries" in data) throw new Error("no map is among these parameters");
  return Data.constr(BigInt(data.index), data.fields.map(toTheirs));
}

const theirHash = (script: Uint8Array) =>
  ScriptHash.toHex(ScriptHash.fromScript(new PlutusV3.PlutusV3({ bytes: script })));

const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((array) => Uint8Array.from(array));

const { data: anyData } = fc.letrec<{ data: PlutusData }>((tie) => ({
  data: fc.oneof(
    { maxDepth: 3 },
    fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
    bytes(700),
    fc.array(tie("data"), { maxLength: 3 }),
    fc.record({ index: fc.nat(127), fields: fc.array(tie("data"), { maxLength: 3 }) }),
  ),
}));

const dataBytes = anyData.map(encodePlutusData);
const constant = fc.oneof(
  fc.bigInt().map((value) => UPLC.constantTerm("Integer", value)),
  bytes(600).map((value) => UPLC.constantTerm("ByteString", value)),
  fc.string().map((value) => UPLC.constantTerm("String", value)),
  fc.constant(UPLC.constantTerm("Unit", null)),
  dataBytes.map((value) => UPLC.constantTerm("Data", value)),
  fc
    .array(bytes(90), { maxLength: 3 })
    .map((items): UPLC.Term => UPLC.constantTerm({ list: "ByteString" }, { items } as never)),
  fc.array(fc.tuple(dataBytes, fc.bigInt()), { maxLength: 3 }).map((pairs) => {
    const items = pairs.map((pair) => ({ items: pair }));
    return UPLC.constantTerm({ list: { pair: ["Data", "Integer"] } }, { items } as never);
  }),
);
const { term: anyTerm } = fc.letrec<{ term: UPLC.Term }>((tie) => ({
  term: fc.oneof(
    { maxDepth: 6 },
    constant,
    fc.bigInt({ min: 1n, max: 400n }).map(UPLC.varTerm),
    fc.constantFrom(...UPLC.BuiltinFunctions).map(UPLC.builtinTerm),
    fc.constant(UPLC.errorTerm),
    tie("term").map(UPLC.forceTerm),
    tie("term").map(UPLC.delayTerm),
    tie("term").map((body) => UPLC.lambdaTerm(0n, body)),
    fc.tuple(tie("term"), tie("term")).map(([f, argument]) => UPLC.applyTerm(f, argument)),
    fc
      .tuple(fc.bigInt({ min: 0n, max: 2n ** 40n }), fc.array(tie("term"), { maxLength: 3 }))
      .map(([tag, terms]) => UPLC.constrTerm(tag, terms)),
    fc
      .tuple(tie("term"), fc.array(tie("term"), { maxLength: 3 }))
      .map(([scrutinee, cases]) => UPLC.caseTerm(scrutinee, cases)),
  ),
}));
const anyParameters = fc.integer({ min: 1, max: 6 }).chain((length) => {
  const list = fc.array(anyData, { minLength: length, maxLength: length });
  return fc.tuple(list, list);
});

describe.each(FORMS)("a script whose parameters stand as %s", (form) => {
  it("takes others in their place, and is then as their compiler makes it", () => {
    fc.assert(
      fc.property(
        anyTerm,
        fc.array(anyTerm, { maxLength: 2 }),
        anyParameters,
        (body, own, [before, after]) => {
          const script = scriptOf(form, body, own, before);
          const wanted = scriptOf(form, body, own, after);
          const made = replaceParameters(script, after.map(encodePlutusData));
          expect(bytesToHex(made.script)).toBe(bytesToHex(wanted));
          expect(made.replaced).toEqual(before.map(encodePlutusData));
          expect(hashScript(made.script)).toBe(theirHash(wanted));
          const back = replaceParameters(made.script, made.replaced);
          expect(back.replaced).toEqual(after.map(encodePlutusData));
          expect(bytesToHex(back.script)).toBe(bytesToHex(script));
        },
      ),
      { numRuns: 100 },
    );
  });

  it("runs on the ledger with others", () => {
    // One argument more: the script context.
    const body = inLambdas(3, UPLC.constantTerm("Unit", null));
    const script = scriptOf(form, body, [], [1n, [Uint8Array.of(1)]]);
    const parameters = [2n ** 70n, [new Uint8Array(300), { index: 1, fields: [] }]];
    const made = replaceParameters(script, parameters.map(encodePlutusData)).script;
    expect(bytesToHex(made)).toBe(bytesToHex(scriptOf(form, body, [], parameters)));

    const address = formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash: theirHash(made) },
      stake: null,
    });
    const chain = createChain({ funds: ACTOR_FUNDS, autoMine: true });
    const [payer] = SELLERS;
    const funds = [{ unit: "", amount: 10_000_000n }];
    const outputs = [{ address, funds, datum: Uint8Array.of(0x80) }];
    const txHash = chain.submit(buildTransaction(chain, { payer, outputs }));
    const spends = [{ txHash, index: 0, funds, redeemer: encodeRedeemer(0) }];
    chain.submit(buildTransaction(chain, { payer, spends, scripts: [asScript(made)] }));
    expect(chain.utxosAt(address)).toEqual([]);
  });
});

describe("a contract that is derived from what the provider shows", () => {
  const hash = fc.uint8Array({ minLength: 28, maxLength: 28 }).map((raw) => bytesToHex(raw));
  const anyTerms = fc.record({
    requiredAdminSignatures: fc.integer({ min: 1, max: 50 }),
    adminVkeys: fc.array(hash, { minLength: 1, maxLength: 50 }),
    cooldownTime: fc.nat(30 * 24 * 60 * 60_000),
    receiver: fc.tuple(hash, hash),
    permille: fc.nat(1000),
  });

  it("has the hash and the policy that its compiler's own tools give it", async () => {
    const devnet = await startDevnet();
    try {
      const node = devnet.createChain("derive", { funds: ACTOR_FUNDS, autoMine: true });
      publishScripts(node.chain);
      const provider = createBlockfrostProvider({ baseUrl: node.url, projectId: "local" });
      const shown = async (template: string) => {
        const script = parseScript(template, (await provider.scriptCbor(template)) ?? "");
        if (!script) throw new Error(`${template} is not shown`);
        return script;
      };
      /** Hash of a script of the local chain, applied to other parameters by their tools. */
      const applied = (
        scriptCbor: string,
        form: ParameterForm,
        parameters: readonly PlutusData[],
      ) => {
        const { version, body } = bodyOf(scriptCbor, form, parameters.length);
        return theirHash(scriptOf(form, body, [], parameters, version));
      };
      const v1 = contractOf("Web3ChainV1");
      const v2 = contractOf("Web3ChainV2");
      const { Web3ChainV1, Web3ChainV2 } = templates();
      const v1Escrow = await shown(Web3ChainV1.escrow);
      const v1Policy = await shown(Web3ChainV1.policy);
      const v2Escrow = await shown(Web3ChainV2.escrow);

      fc.assert(
        fc.property(anyTerms, ({ receiver: [payment, stake], permille, ...rest }) => {
          const receiver = formatAddress({
            network: "Preprod",
            payment: { kind: "key", hash: payment },
            stake: { kind: "key", hash: stake },
          });
          const admins = rest.adminVkeys.map(hexToBytes);
          const [required, cooldown] = [
            BigInt(rest.requiredAdminSignatures),
            BigInt(rest.cooldownTime),
          ];
          const credential = (key: string) => ({ index: 0, fields: [hexToBytes(key)] });
          const some = (data: PlutusData) => ({ index: 0, fields: [data] });
          const feeAddress = {
            index: 0,
            fields: [credential(payment), some(some(credential(stake)))],
          };

          const v1Terms: EscrowParameters = {
            ...rest,
            type: "Web3ChainV1",
            fee: { receiver, permille },
          };
          const escrow = createScriptFromTemplate(
            v1Escrow,
            "Web3ChainV1",
            "Preprod",
            encodeEscrowParameters(v1Terms),
          );
          const parameters = [required, admins, feeAddress, BigInt(permille), cooldown];
          expect(hashScript(escrow)).toBe(applied(v1.escrow.cbor, "case", parameters));
          const address = formatAddress({
            network: "Preprod",
            payment: { kind: "script", hash: hashScript(escrow) },
            stake: null,
          });
          const policy = createScriptFromTemplate(
            v1Policy,
            "policy",
            "Preprod",
            encodePolicyParameters(address),
          );
          const text = new TextEncoder().encode(address);
          expect(hashScript(policy)).toBe(applied(v1.policy.cbor, "applications", [text]));

          const v2Terms: EscrowParameters = { ...rest, type: "Web3ChainV2", fee: null };
          expect(
            hashScript(
              createScriptFromTemplate(
                v2Escrow,
                "Web3ChainV2",
                "Preprod",
                encodeEscrowParameters(v2Terms),
              ),
            ),
          ).toBe(applied(v2.escrow.cbor, "applications", [required, admins, cooldown]));
        }),
        { numRuns: 10 },
      );
    } finally {
      await devnet.close();
    }
  });
});
