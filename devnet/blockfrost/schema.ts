import { createRequire } from "node:module";
import { Ajv, type ValidateFunction } from "ajv";

type Responses = Record<string, object>;

/** The specification's schemas, already dereferenced, by path template. */
const SPECIFICATION = createRequire(import.meta.url)(
  "@blockfrost/openapi/json-schema.json",
) as Record<string, { response: Responses }>;

const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
const compiled = new Map<string, ValidateFunction>();

/**
 * Checks an answer against the specification.
 *
 * @param template path with its parameters in braces, as in `/txs/{hash}`
 * @throws Error that lists the differences
 */
export function assertMatchesSpecification(template: string, status: number, body: unknown): void {
  const key = `${status} ${template}`;
  let validate = compiled.get(key);
  if (!validate) {
    const schema = SPECIFICATION[template]?.response[status];
    if (!schema) throw new Error(`The specification has no answer ${key}`);
    validate = ajv.compile(schema);
    compiled.set(key, validate);
  }
  if (!validate(body)) {
    throw new Error(`Answer ${key} is out of specification: ${ajv.errorsText(validate.errors)}`);
  }
}
