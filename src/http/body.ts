import type { AppContext } from "./context.ts";
import { ApiError } from "./errors.ts";

/** Larger bodies are refused with 413. */
export const MAX_BODY_BYTES = 1024 * 1024;

/**
 * The request's body as JSON, whatever its content type says. Keeps the text in `c.var.bodyText`.
 *
 * @throws ApiError 413 when it is too large, 400 when it is missing or not JSON
 */
export async function readJson(c: AppContext): Promise<unknown> {
  const text = decode(await readBytes(c.req.raw));
  if (text.trim() === "") throw new ApiError(400, "body: is required");
  c.set("bodyText", text);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own words quote the body, which may hold a secret.
    throw new ApiError(400, "body: is not valid JSON");
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const tooLarge = new ApiError(413, `body: must be at most ${MAX_BODY_BYTES} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw tooLarge;
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new ApiError(400, "body: is not valid UTF-8");
  }
}
