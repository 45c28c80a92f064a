import * as z from "zod";

/**
 * Describes a field for the document.
 *
 * @param description - its meaning and unit
 * @param examples - real values; none for a list or an object
 *
 * @example amount: described(z.string().regex(/^\d+$/), "Minor units of `unit`.", "10000000"),
 */
export function described<Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  ...examples: unknown[]
): Schema {
  const meta = { description, ...(examples.length > 0 && { examples }) };
  // `meta` makes a copy, which costs a start as much as the schema did. Who describes a schema first
  // has it as it is, all others get copies.
  if (z.globalRegistry.has(schema)) return schema.meta(meta);
  z.globalRegistry.add(schema, meta);
  return schema;
}

/** Makes a schema a named component, which clients are generated with. */
export function named<Schema extends z.ZodType>(
  name: string,
  description: string,
  schema: Schema,
): Schema {
  return schema.meta({ id: name, description });
}

const documentSchemas = new WeakMap<z.ZodType, z.ZodType>();

/**
 * Has a body shown in another form, where its own checks say more than JSON Schema can read.
 *
 * @param form - accepts nothing that the schema refuses
 */
export function setDocumentSchema<Schema extends z.ZodType>(
  schema: Schema,
  form: z.ZodType,
): Schema {
  documentSchemas.set(schema, form);
  return schema;
}

/** What the document shows of a schema. */
export function documentSchemaOf(schema: z.ZodType): z.ZodType {
  return documentSchemas.get(schema) ?? schema;
}

/** An id in an answer. */
export function idField(of: string, example = "01m80ye14arhma0jvpxvf6nc73") {
  return described(z.string(), `Id of ${of}.`, example);
}

/** A point in time in an answer. */
export function timestampField(what: string, example = "2026-11-22T06:17:26.922Z") {
  return described(z.iso.datetime({ precision: 3 }), what, example);
}

/** A text in an answer. */
export function textField(what: string, ...examples: string[]) {
  return described(z.string(), what, ...examples);
}

/** A text in an answer that may be null, as its description says. */
export function nullableTextField(what: string, ...examples: (string | null)[]) {
  return described(z.string().nullable(), what, ...examples);
}

/** Warnings in the answer to a change of settings. */
export const settingWarnings = described(
  z.array(textField("A warning.")),
  "Warnings about settings that are allowed but not advisable.",
  [],
);

/** A point in time in an answer that may be null, as its description says. */
export function nullableTimestampField(
  what: string,
  example: string | null = "2026-11-22T06:17:26.922Z",
) {
  return described(timestampField("").nullable(), what, example);
}

/** A whole number from 0 on in an answer. */
export function countField(what: string, example: number) {
  return described(z.int().min(0), what, example);
}

/** A whole number of minor units in an answer, as decimal text. */
export function minorUnitsField(what: string, example = "10000000") {
  return described(z.string().regex(/^\d+$/), what, example);
}

/** Hex in an answer, in lower case. */
export function hexField(digits: number, what: string, example: string) {
  return described(z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`)), what, example);
}

/** A payment key hash in an answer. */
export function walletVkeyField(
  of: string,
  example = "c98139eca804a346806b3962b27320501b33ee669519da38d1b794b3",
) {
  return hexField(56, `Payment key hash of ${of}.`, example);
}

/** A ledger address in an answer. */
export function walletAddressField(of: string) {
  return textField(`Address of ${of}, in bech32.`, EXAMPLE_WALLET_ADDRESS);
}

/** What the document says of a chain provider's failures, by status. */
export const PROVIDER_FAILURES = {
  502: "The chain provider failed.",
  504: "The chain provider did not answer in time.",
};
/** The same of calls that callers share. */
export const PROVIDER_ERRORS = {
  ...PROVIDER_FAILURES,
  503: "The chain provider accepts no calls; see Retry-After.",
};

export const EXAMPLE_WALLET_ADDRESS =
  "addr_test1qryczw0v4qz2x35qdvuk9vnnypgpkvlwv623nk3c6xmefvl6f9ju6lpktya0uaazv6dqgj6cf6lnqa43uvq8fduucmhstwghng";
export const EXAMPLE_CONTRACT_ADDRESS =
  "addr_test1wqvh9y2msxdze3vmqzmp0kakghmauns2qhgyqyllcsyvmjgwksgqr";
export const EXAMPLE_POLICY_ID = "ed0c3e1d73f9a32dc36448e3130024a9d4decffc129706f8beed4e90";
export const EXAMPLE_AGENT_IDENTIFIER = `${EXAMPLE_POLICY_ID}969d0864855709947883f115da01ab9d57124cf9558222434adce2ca618e17ed`;
export const EXAMPLE_TX_HASH = "3f731af5f69a5b886f59b3fecbb81677febc206f30bf954701f461d8647348cd";
