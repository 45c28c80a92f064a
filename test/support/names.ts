import { env } from "cloudflare:workers";

/** What resolves to nothing but the public internet. */
export const PUBLIC_RECORDS: readonly string[] = ["93.184.215.14", "2606:4700::1111"];

let names = 0;

/** A host name that nobody else uses. */
export function freshName(): string {
  return `${crypto.randomUUID().slice(0, 8)}-${names++}.dev`;
}

const control = () => new URL("/_control", env.DNS_OVER_HTTPS_URL);

/**
 * Sets the records of a name in the local resolver.
 *
 * @param answer - addresses, and aliases ending in a dot, or a failure. Null: the name does not
 *   exist.   See devnet/demo/resolver.ts.
 */
export async function setName(
  name: string,
  answer: readonly string[] | string | null,
): Promise<void> {
  const told = await fetch(control(), { method: "POST", body: JSON.stringify({ name, answer }) });
  if (!told.ok) throw new Error(await told.text());
  await told.body?.cancel();
}

/** How often the local resolver was asked for a name, whatever the type. */
export async function questionsFor(name: string): Promise<number> {
  const url = control();
  url.searchParams.set("name", name);
  const { questions } = (await (await fetch(url)).json()) as { questions: number };
  return questions;
}

/** An URL at a name that resolves to public addresses. Nothing listens there. */
export async function publicUrl(): Promise<string> {
  const name = freshName();
  await setName(name, PUBLIC_RECORDS);
  return `https://${name}/a`;
}
