import { SCOPE_DESCRIPTIONS, type Scope } from "../../src/http/scope.ts";
import { openApi } from "../support/endpoints/document.ts";

/** The scope of each operation of the OpenAPI document. Paths under /api/v1 are named without it. */
const DECLARED: ReadonlyMap<string, Scope> = new Map(
  Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { "x-scope": scope }]) => {
      const operation = `${method.toUpperCase()} ${path.replace(/^\/api\/v1/, "")}`;
      return [operation, scopeIn(scope)] as const;
    }),
  ),
);

/** Every operation of the document. */
export const OPERATIONS: readonly string[] = [...DECLARED.keys()];

/** The scope of an operation, as the document has it. */
export function scopeOf(operation: string): Scope {
  const scope = DECLARED.get(operation);
  if (!scope) throw new Error(`the document has no operation ${operation}`);
  return scope;
}

function scopeIn(scope: string): Scope {
  if (!(scope in SCOPE_DESCRIPTIONS)) throw new Error(`${scope} is no scope`);
  return scope as Scope;
}
