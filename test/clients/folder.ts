/**
 * Copies of the clients that `WIRE_NAMES=cardano` is for. They stand outside of this repository, each in
 * a folder with the name of its repository, in the folder that `PEER_CLIENTS` names.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const { PEER_CLIENTS } = process.env;

/** Another's module or value, whose types this repository does not have. */
// biome-ignore lint/suspicious/noExplicitAny: the assertions are what checks its shape
export type Foreign = any;

/** Loads a copied module. */
export const loadCopy = (path: string | null): Promise<Foreign> =>
  import(/* @vite-ignore */ path ?? "");

/**
 * The path of a copied file. Null: it is missing, and a line says what is left out.
 *
 * @param repository - name of its folder
 * @param path - inside of the repository
 * @param stage - what needs the file
 */
export function findCopy(repository: string, path: string, stage: string): string | null {
  if (!PEER_CLIENTS) {
    console.log(`PEER_CLIENTS names no folder: ${stage} is left out`);
    return null;
  }
  const found = join(PEER_CLIENTS, repository, path);
  if (existsSync(found)) return found;
  console.log(`PEER_CLIENTS has no ${repository}/${path}: ${stage} is left out`);
  return null;
}

/** What a copy's call found. @throws with the copy's reason when it refuses. */
export function accept(result: Foreign): Foreign {
  if (result.isErr()) throw new Error(`the marketplace refuses: ${JSON.stringify(result.error)}`);
  return result.value;
}
