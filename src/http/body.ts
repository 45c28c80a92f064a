import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";
import { findJsonError } from "./json-error.ts";

/** Larger bodies are refused with 413. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Lists and objects nested deeper are refused: the code that walks them is recursive. */
export const MAX_BODY_DEPTH = 64;

/**
 * The request's body as JSON, whatever its content type says. Keeps the text in `c.var.bodyText`.
 *
 * @throws ApiError 413 when it is too large, 400 when it is missing, not JSON or nested too deeply
 */
export async function readJsonBody(c: AppContext): Promise<unknown> {
  const text = decodeUtf8(await readBodyBytes(c.req.raw));
  if (text.trim() === "") throw new ApiError(400, "body: is required");
  c.set("bodyText", text);
  const value = parseJson(text);
  if (measureDepth(text) > MAX_BODY_DEPTH)
    throw new ApiError(400, `body: must be nested at most ${MAX_BODY_DEPTH} levels deep`);
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    const error = findJsonError(text);
    if (!error) throw new ApiError(400, "body: is not valid JSON");
    const what = error.isCutOff ? "is JSON that ends too early" : "is not valid JSON";
    throw new ApiError(400, `body: ${what}, at line ${error.line}, column ${error.column}`);
  }
}

/** How deeply lists and objects are nested in a JSON text. */
function measureDepth(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (inString && character === "\\") i++;
    else if (character === '"') inString = !inString;
    else if (inString) continue;
    else if (character === "[" || character === "{") deepest = Math.max(deepest, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return deepest;
}

async function readBodyBytes(request: Request): Promise<Uint8Array> {
  const tooLarge = new ApiError(413, `body: must be at most ${MAX_BODY_BYTES} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // What is left unread here is for `drainBody`: cancelling the body would cost the connection.
  for await (const chunk of request.body?.values({ preventCancel: true }) ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new ApiError(400, "body: is not valid UTF-8");
  }
}
