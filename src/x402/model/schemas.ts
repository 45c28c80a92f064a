import * as z from "zod";
import {
  described,
  idField,
  named,
  nullableTimestampField,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import { textParameter } from "../../http/openapi/parameters.ts";
import { ATTEMPT_DIRECTIONS, ATTEMPT_STATUSES, X402_SCHEMES } from "./tables.ts";

export const EXAMPLE_ASSET = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
export const EXAMPLE_PAYER = "0x39bdf5c0f0e6c6069ecceea6f9c0e4a064d7b4dd";
export const EXAMPLE_PAY_TO = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
export const EXAMPLE_WALLET_ID = "01m80ydzn5c8rht693n1df67fx";
export const EXAMPLE_ATTEMPT_ID = "01m80ydzvk11e5v3h51yhyt2rj";
export const EXAMPLE_SOURCE_ID = "01m80ydyvfm72p96eyrddq8dsz";
export const EXAMPLE_PAYLOAD_HASH =
  "770c1903ef159aa087a03e3f4904c2b4972a07eb1027ccc853332d4e4399c768";
export const EXAMPLE_TX_HASH = "0x56bd51156cc41b5ab4c2a750d53f6e6914ae9c60baa416ea2688a351ec0ee95c";
export const EXAMPLE_RESOURCE_URL = "https://agents.example.com/forecast";
const EXAMPLE_CAIP2_ID = "eip155:8453";

/** `eip155:` and a chain number that fits a JavaScript number. */
export const caip2 = described(
  z.string().regex(/^eip155:[1-9]\d{0,14}$/, "must have the form eip155:<chain number>"),
  "EVM chain, as a CAIP-2 id.",
  EXAMPLE_CAIP2_ID,
);

/** As a filter, with the bound of the interface. */
export const caip2Filter = described(
  z
    .string()
    .regex(/^eip155:\d+$/, "must have the form eip155:<chain number>")
    .max(250)
    .optional(),
  "Only entries on this EVM chain.",
  EXAMPLE_CAIP2_ID,
);

const ZERO_ADDRESS_PATTERN = /^0x0{40}$/i;
const ADDRESS_PATTERN = "^0x(?!0{40}$)[0-9a-fA-F]{40}$";
const TOKEN_ADDRESS_PATTERN = "^0x(?!0{40}$|[eE]{40}$)[0-9a-fA-F]{40}$";

/** An EVM address; stored and compared in lower case. */
export const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be 0x and 40 hex digits")
  .refine((value) => !ZERO_ADDRESS_PATTERN.test(value), "must not be the zero address")
  .transform((value) => value.toLowerCase())
  .meta({ wire: { type: "string", pattern: ADDRESS_PATTERN }, examples: [EXAMPLE_ASSET] });

/** Excludes the address by which some tools write the native coin. */
export const tokenAddress = evmAddress
  .refine((value) => value !== `0x${"e".repeat(40)}`, "must be an ERC-20 token")
  .meta({ wire: { type: "string", pattern: TOKEN_ADDRESS_PATTERN }, examples: [EXAMPLE_ASSET] });

const MAX_UINT256 = 2n ** 256n - 1n;

/** A whole number of a token's minor units, decimal text. */
export function tokenAmount(min = 1n) {
  return (
    z
      .string()
      // The checks below must only see numbers.
      .regex(/^\d{1,78}$/, { error: "must be a whole number in decimal digits", abort: true })
      .refine((value) => BigInt(value) <= MAX_UINT256, "must be below 2^256")
      .refine((value) => BigInt(value) >= min, `must be at least ${min}`)
      .transform((value) => BigInt(value).toString())
      // One digit less than 2^256 has: every such number is below it.
      .meta({
        wire: { type: "string", pattern: min > 0n ? "^(?=.*[1-9])\\d{1,77}$" : "^\\d{1,77}$" },
        examples: ["10000"],
      })
  );
}

export const timeoutSeconds = described(
  z.int().min(1).max(86_400),
  "Seconds that a settlement may take.",
  300,
);

/** A URL may fill a body, which is bounded to 1 MiB. */
export const MAX_URL_LENGTH = 1024 * 1024;

const jsonObject = z.record(z.string(), z.unknown());
const REQUIREMENTS_DESCRIPTION = "Terms of a payment (x402 v2, specification §5).";

const requirementFields = {
  scheme: described(textParameter(50), "Payment scheme: `exact` or `upto`.", "exact"),
  network: described(textParameter(100, 3), "EVM chain, as a CAIP-2 id.", EXAMPLE_CAIP2_ID),
  amount: described(textParameter(100), "Minor units of the token.", "10000"),
  asset: described(textParameter(100), "Address of the token.", EXAMPLE_ASSET),
  payTo: described(textParameter(100), "Address of the payee.", EXAMPLE_PAY_TO),
  maxTimeoutSeconds: described(
    z
      .number()
      .positive()
      .meta({ wire: { type: "integer", minimum: 1 } }),
    "Seconds that a settlement may take.",
    300,
  ),
  extra: described(
    jsonObject.nullish(),
    "Name and version of the token's EIP-712 domain, and the transfer method.",
    { name: "Test Dollar", version: "1" },
  ),
};

/** Terms of a payment on the wire (x402 v2, specification §5). */
export const paymentRequirements = named(
  "X402PaymentRequirements",
  REQUIREMENTS_DESCRIPTION,
  z.object(requirementFields),
);

/** Terms of a payment that the service can settle; addresses in lower case. */
export const strictRequirements = z.object({
  ...requirementFields,
  network: caip2,
  asset: described(tokenAddress, "Address of the token.", EXAMPLE_ASSET),
  payTo: described(evmAddress, "Address of the payee.", EXAMPLE_PAY_TO),
  amount: described(tokenAmount(), "Minor units of the token.", "10000"),
  maxTimeoutSeconds: timeoutSeconds,
});

/**
 * A buyer's payment (x402 v2, specification §5). Unknown fields are dropped before hashing, except
 * inside `payload` and `extensions`.
 */
export const paymentPayload = named(
  "X402PaymentPayload",
  "A buyer's payment (x402 v2, specification §5).",
  z.object({
    x402Version: described(z.int().min(0), "Version of x402. The service settles version 2.", 2),
    resource: described(
      z
        .object({
          url: described(
            textParameter(MAX_URL_LENGTH),
            "URL of the resource.",
            EXAMPLE_RESOURCE_URL,
          ),
        })
        .optional(),
      "The resource that the payment is for.",
    ),
    accepted: described(paymentRequirements, "The terms that the buyer accepted."),
    payload: described(jsonObject, "The signed authorization: `signature` and the signed fields.", {
      signature: "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608",
    }),
    extensions: described(
      jsonObject.nullish(),
      "Extensions of x402, such as `payment-identifier`.",
      { "payment-identifier": { info: { required: false, id: "order_2026_11_22_0001" } } },
    ),
  }),
);

export type PaymentRequirements = z.output<typeof paymentRequirements>;
export type PaymentPayload = z.output<typeof paymentPayload>;

/** An EVM address in a response, in lower case. */
export function addressResponse(what: string, example: string) {
  return described(z.string().regex(/^0x[0-9a-f]{40}$/), what, example);
}

/** Minor units of a token in a response. */
export function amountResponse(what: string, example = "10000") {
  return described(z.string(), `${what}, in minor units.`, example);
}

/** A nullable text in a response. */
export function nullableText(what: string, example: string) {
  return described(z.string().nullable(), what, example);
}

export const settlementFields = {
  id: idField("the settlement", "01m80ydzwf9y6z8qdyyy1mc03x"),
  success: described(z.boolean(), "Whether the payer paid.", true),
  txHash: textField("Transaction hash. Empty: no transaction.", EXAMPLE_TX_HASH),
  amount: amountResponse("Amount paid"),
  payer: textField("Address of the payer.", EXAMPLE_PAYER),
  createdAt: timestampField("Time of settlement."),
};

export const paymentScheme = named("X402Scheme", "Scheme of payments.", z.enum(X402_SCHEMES));

export const attemptSide = named(
  "X402Side",
  "Side of the caller: who pays (`buy`), or who is paid (`sell`).",
  z.enum(["buy", "sell"]),
);

export const expectedOutcome = named(
  "X402ExpectedOutcome",
  "How an attempt ended.",
  z.enum(["Settled", "Failed"]),
);

export const attemptDirection = named(
  "X402AttemptDirection",
  "Purpose of an attempt.",
  z.enum(ATTEMPT_DIRECTIONS),
);
export const attemptStatus = named(
  "X402AttemptStatus",
  "Status of an attempt.",
  z.enum(ATTEMPT_STATUSES),
);

const attemptFields = {
  id: idField("the attempt", EXAMPLE_ATTEMPT_ID),
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("Time of the last change."),
  direction: described(attemptDirection, "Purpose of the attempt.", "InboundSettle"),
  status: described(attemptStatus, "Status.", "Settled"),
  apiKeyId: nullableText(
    "Id of the API key that requested the attempt. Null: the key was deleted.",
    "env-admin",
  ),
  evmWalletId: nullableText(
    "Id of the managed wallet that paid. Null: the payer is no managed wallet.",
    EXAMPLE_WALLET_ID,
  ),
  facilitator: nullableText(
    "What settles: the address of a facilitator wallet, or the origin of another facilitator. Null: nothing does.",
    EXAMPLE_PAYER,
  ),
  registryRequestId: nullableText("Note of the resource's owner. Null: none.", "agent-7"),
  supportedPaymentSourceId: nullableText(
    "Id of the registered resource. Null: the resource is not registered.",
    EXAMPLE_SOURCE_ID,
  ),
  caip2Network: textField("EVM chain, as a CAIP-2 id.", EXAMPLE_CAIP2_ID),
  asset: textField("Address of the token.", EXAMPLE_ASSET),
  amount: amountResponse("Amount of the payment"),
  maxAmount: nullableText(
    "Of the scheme `upto`: what the payer signed at most, in minor units. `amount` is the charge. Null: `exact`.",
    "10000",
  ),
  payTo: textField("Address of the payee.", EXAMPLE_PAY_TO),
  payer: nullableText("Address of the payer. Null: the payment names none.", EXAMPLE_PAYER),
  resource: nullableText(
    "URL of the resource. Null: the payment names none.",
    EXAMPLE_RESOURCE_URL,
  ),
  paymentPayloadHash: textField("SHA-256 of the payment in canonical form.", EXAMPLE_PAYLOAD_HASH),
  paymentIdentifier: nullableText(
    "The payer's identifier of the payment. Null: none.",
    "order_2026_11_22_0001",
  ),
  errorReason: nullableText("Reason code of x402. Null: no failure.", "insufficient_funds"),
  errorMessage: nullableText(
    "Explanation of the failure. Null: no failure.",
    "The payer holds too little",
  ),
  Settlement: described(
    named(
      "X402AttemptSettlement",
      "The settlement of an attempt.",
      z.object(settlementFields),
    ).nullable(),
    "The settlement. Null: the attempt is not settled.",
  ),
};

export const attemptRecord = named(
  "X402PaymentAttempt",
  "An attempt to verify, settle or make a payment.",
  z.object(attemptFields),
);

/** `data` of X402_PAYMENT_SETTLED and X402_PAYMENT_FAILED. */
export const outcomeEventData = named(
  "X402AttemptOutcome",
  "An attempt that has ended.",
  z.object({
    ...attemptFields,
    attemptId: idField("the attempt", EXAMPLE_ATTEMPT_ID),
    txHash: nullableText("Transaction hash. Null: no transaction.", EXAMPLE_TX_HASH),
    success: described(z.boolean(), "Whether the payer paid.", true),
    settledAt: nullableTimestampField(
      "Time of settlement. Null: not settled.",
      "2026-11-22T06:17:25.647Z",
    ),
  }),
);

export const evmWalletType = described(
  named("X402WalletType", "Purpose of an EVM wallet.", z.enum(["Purchasing", "Selling"])),
  "Purpose of the wallet.",
  "Purchasing",
);

export const walletFields = {
  id: idField("the wallet", EXAMPLE_WALLET_ID),
  networkId: idField("the network", "01m80ydys10y2a8emavwntdfzj"),
  caip2Network: caip2,
  address: addressResponse("Address of the wallet.", EXAMPLE_PAYER),
  type: evmWalletType,
  note: nullableText("Note about the wallet. Null: none.", "Buyer"),
  createdById: idField("the API key that created it", "env-admin"),
  createdAt: timestampField("Time of creation."),
  updatedAt: timestampField("Time of the last change."),
};

export const walletRecord = named("X402Wallet", "A managed EVM wallet.", z.object(walletFields));

/** Hash of an EVM transaction in a request. */
export const txHash = z.string().regex(/^0x[0-9a-fA-F]{64}$/, "must be 0x and 64 hex digits");

/** Answer of an operation that counts. */
export const countRecord = z.object({ total: described(z.int(), "How many there are.", 3) });

/** Chain number of a CAIP-2 id with the namespace `eip155`. */
export function parseChainId(caip2Id: string): number {
  return Number(caip2Id.slice("eip155:".length));
}
