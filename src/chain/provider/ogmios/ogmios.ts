import * as z from "zod";
import { bytesToHex } from "../../hex.ts";
import {
  type AdditionalOutput,
  type EvaluationObstacle,
  EvaluationUnavailableError,
  type ExecutionUnits,
  type LedgerState,
  type NetworkIdentity,
  type Provider,
  ProviderError,
  ScriptFailedError,
} from "../provider.ts";
import { UNKNOWN_INPUT_PATTERN } from "../rejection.ts";
import {
  createSender,
  parseJson,
  type RequesterOptions,
  toDecimalText,
  toJson,
  truncateMessage,
} from "../request.ts";

const COUNT_SCHEMA = z.int().nonnegative();

const ANSWER = z.union([
  z.object({ result: z.unknown() }),
  z.object({
    error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
  }),
]);

/** A redeemer's name, such as `mint:0`; Ogmios 6.0 sends it as text. */
const VALIDATOR = z.union([
  z.string(),
  z
    .object({ purpose: z.string(), index: COUNT_SCHEMA })
    .transform(({ purpose, index }) => `${purpose}:${index}`),
]);

const EVALUATION = z.array(
  z.object({
    validator: VALIDATOR,
    budget: z.object({ memory: COUNT_SCHEMA, cpu: COUNT_SCHEMA }),
  }),
);

const SUBMISSION = z.object({ transaction: z.object({ id: z.string().regex(/^[0-9a-f]{64}$/) }) });

const GENESIS = z.object({ networkMagic: COUNT_SCHEMA });

const TIP = z.object({ slot: COUNT_SCHEMA });

const REFERENCE = z.object({ transaction: z.object({ id: z.string() }), index: COUNT_SCHEMA });

const LOVELACE = z.object({ ada: z.object({ lovelace: COUNT_SCHEMA }) });
const BYTES = z.object({ bytes: COUNT_SCHEMA });
const RATIO = z.string().regex(/^\d+\/[1-9]\d*$/);

const PARAMETERS = z.object({
  minFeeCoefficient: COUNT_SCHEMA,
  minFeeConstant: LOVELACE,
  minFeeReferenceScripts: z.object({ base: z.number().positive() }),
  minUtxoDepositCoefficient: COUNT_SCHEMA,
  maxTransactionSize: BYTES,
  maxValueSize: BYTES,
  collateralPercentage: z.int().positive(),
  maxCollateralInputs: z.int().positive(),
  scriptExecutionPrices: z.object({ memory: RATIO, cpu: RATIO }),
  maxExecutionUnitsPerTransaction: z.object({ memory: COUNT_SCHEMA, cpu: COUNT_SCHEMA }),
  plutusCostModels: z.object({ "plutus:v3": z.array(z.int()).min(1) }),
});

/** An error of Ogmios: what it says, by its code. */
class OgmiosError extends Error {
  override name = "OgmiosError";
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a node answers through Ogmios without a history of the chain. */
export type OgmiosClient = Pick<Provider, "evaluate" | "submit" | "protocolParameters"> &
  NetworkIdentity &
  LedgerState;

/** A client of Ogmios 6 or 7 over HTTP (https://ogmios.dev/api/): JSON-RPC 2.0. It reads no history. */
export function createOgmiosClient(options: RequesterOptions): OgmiosClient {
  const send = createSender(options);

  async function call<T>(method: string, params: object, shape: z.ZodType<T>): Promise<T> {
    const body = toJson({ jsonrpc: "2.0", method, params, id: null });
    const { status, text } = await send("/", { contentType: "application/json", body });
    const answer = ANSWER.safeParse(parseJson(text)).data;
    if (answer !== undefined && "error" in answer) throw new OgmiosError(answer.error);
    const result = shape.safeParse(answer?.result);
    if (result.success) return result.data;
    throw new ProviderError(`provider: ${method}: answer is malformed`, { status });
  }

  /** A call whose errors say nothing of what was asked. */
  function query<T>(method: string, params: object, shape: z.ZodType<T>): Promise<T> {
    return call(method, params, shape).catch((error: unknown) => {
      throw error instanceof OgmiosError ? toUnavailable(error) : error;
    });
  }

  return {
    async networkMagic() {
      const name = "queryNetwork/genesisConfiguration";
      return (await query(name, { era: "shelley" }, GENESIS)).networkMagic;
    },

    async protocolParameters() {
      const found = await query("queryLedgerState/protocolParameters", {}, PARAMETERS);
      const { scriptExecutionPrices: prices, maxExecutionUnitsPerTransaction: units } = found;
      return {
        feePerByte: BigInt(found.minFeeCoefficient),
        feeConstant: BigInt(found.minFeeConstant.ada.lovelace),
        priceMemory: prices.memory,
        priceSteps: prices.cpu,
        pricePerReferenceByte: toDecimalText(found.minFeeReferenceScripts.base),
        collateralPercent: BigInt(found.collateralPercentage),
        maxCollateralInputs: found.maxCollateralInputs,
        coinsPerByte: BigInt(found.minUtxoDepositCoefficient),
        maxTransactionSize: found.maxTransactionSize.bytes,
        maxValueSize: found.maxValueSize.bytes,
        maxUnits: { memory: BigInt(units.memory), steps: BigInt(units.cpu) },
        plutusV3Costs: found.plutusCostModels["plutus:v3"].map(BigInt),
      };
    },

    async unspentOutputs(txHash, indexes, slot) {
      const tip = await query("queryLedgerState/tip", {}, TIP);
      if (tip.slot < slot) throw new ProviderError("provider: its tip is behind the reader's");
      const outputReferences = indexes.map((index) => ({ transaction: { id: txHash }, index }));
      const rows = await query("queryLedgerState/utxo", { outputReferences }, z.array(REFERENCE));
      return rows.flatMap(({ transaction, index }) => (transaction.id === txHash ? [index] : []));
    },

    async evaluate(cbor, additional = []) {
      const params = {
        transaction: { cbor: bytesToHex(cbor) },
        additionalUtxo: additional.map(toOgmiosOutput),
      };
      try {
        const runs = await call("evaluateTransaction", params, EVALUATION);
        return new Map(
          runs.map(({ validator, budget: { memory, cpu } }) => [
            validator,
            { memory: BigInt(memory), steps: BigInt(cpu) } satisfies ExecutionUnits,
          ]),
        );
      } catch (error) {
        throw error instanceof OgmiosError ? toEvaluationError(error) : error;
      }
    },

    async submit(cbor) {
      try {
        await call("submitTransaction", { transaction: { cbor: bytesToHex(cbor) } }, SUBMISSION);
        return null;
      } catch (error) {
        if (!(error instanceof OgmiosError)) throw error;
        if (!isRefusal(error.code)) throw toUnavailable(error);
        return { refused: describeRefusal(error) };
      }
    },
  };
}

const OBSTACLES: Record<number, EvaluationObstacle> = {
  3002: "AdditionalUtxoOverlap",
  3003: "NotSynced",
  3117: "UnknownInput",
};

const SCRIPT_FAILURES = z.array(
  z.object({
    validator: VALIDATOR,
    error: z.object({ code: z.int() }),
  }),
);
const UNKNOWN_INPUT_CODE = 3117;

function toEvaluationError(error: OgmiosError): Error {
  const { code, data } = error;
  const detail = `${error.message} ${JSON.stringify(data)}`;
  const obstacle = OBSTACLES[code];
  if (obstacle !== undefined) return new EvaluationUnavailableError(obstacle, detail);
  // The node has no codes for what is behind the ledger's words.
  if (code === 3004 && UNKNOWN_INPUT_PATTERN.test(detail))
    return new EvaluationUnavailableError("UnknownInput", detail);
  if (code === 3010) {
    const failures = SCRIPT_FAILURES.safeParse(data).data ?? [];
    if (
      failures.length > 0 &&
      failures.every(({ error: { code: one } }) => one === UNKNOWN_INPUT_CODE)
    )
      return new EvaluationUnavailableError("UnknownInput", detail);
    return new ScriptFailedError(
      detail,
      failures.map(({ validator }) => validator),
    );
  }
  if (code === 3004 || code === -32602)
    return new ProviderError("provider: the node cannot interpret the transaction", {
      status: 400,
      permanent: true,
      cause: truncateMessage(detail),
    });
  return toUnavailable(error);
}

function toUnavailable({ code, message }: OgmiosError): ProviderError {
  return new ProviderError(`provider: Ogmios answered with error ${code}`, {
    cause: truncateMessage(message),
  });
}

/** Errors of a submission that depend on what the node knows of the chain. */
const TEMPORARY_CODES: readonly number[] = [3005, 3117, 3118, 3130, 3997];
/** Errors of a submission that are about the bytes: first and last codes. */
const PERMANENT_CODES = [
  [3100, 3116],
  [3119, 3129],
  [3131, 3136],
  [3161, 3161],
  [3164, 3164],
  [3166, 3166],
  [-32602, -32602],
] as const;

function isPermanent(code: number): boolean {
  return PERMANENT_CODES.some(([first, last]) => code >= first && code <= last);
}

function isRefusal(code: number): boolean {
  return isPermanent(code) || TEMPORARY_CODES.includes(code);
}

/** A refusal in words that `isPermanentRejection` classifies as the code does. */
function describeRefusal({ code, message, data }: OgmiosError): string {
  const kind = isPermanent(code) ? "malformed" : "mempool";
  const detail = isPermanent(code) ? message : `${message} ${listUnknownOutputs(data).join(" ")}`;
  return `Ogmios ${code} (${kind}): ${detail}`;
}

const UNKNOWN_OUTPUTS = z.object({ unknownOutputReferences: z.array(REFERENCE) });

/** As `findMentionedOutputs` reads them. */
function listUnknownOutputs(data: unknown): string[] {
  const { unknownOutputReferences = [] } = UNKNOWN_OUTPUTS.safeParse(data).data ?? {};
  return unknownOutputReferences.map(({ transaction: { id }, index }) => `${id}#${index}`);
}

function toOgmiosOutput({ txHash, index, address, value }: AdditionalOutput) {
  const assets: Record<string, Record<string, bigint>> = {};
  for (const [unit, amount] of value) {
    if (unit === "") continue;
    const policyId = unit.slice(0, 56);
    assets[policyId] = { ...assets[policyId], [unit.slice(56)]: amount };
  }
  return {
    transaction: { id: txHash },
    index,
    address,
    value: { ada: { lovelace: value.get("") ?? 0n }, ...assets },
  };
}
