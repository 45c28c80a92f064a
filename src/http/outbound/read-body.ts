/**
 * Reads the body of an answer. The size counts after decompression, so that a small answer which
 * expands to a large one is not read either.
 *
 * @returns null when the body is larger
 */
export async function readBody(response: Response, maxBytes: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body ?? []) {
    left -= chunk.byteLength;
    if (left < 0) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
