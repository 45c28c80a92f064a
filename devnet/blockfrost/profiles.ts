/** How servers with the provider's API differ from the hosted service. Each has a door of its own. */
export const DOORS = ["api", "mirror", "ryo", "dolos", "platform", "ogmios"] as const;
export type Door = (typeof DOORS)[number];

/** Calls that a server does not serve, as `GET /txs/{hash}`. The mirror is a second hosted service. */
export const UNSERVED: Record<Door, readonly RegExp[]> = {
  api: [],
  mirror: [],
  // The open server over db-sync has no node.
  ryo: [/^POST /],
  dolos: [/\/redeemers$/, /\/assets\/\{asset\}\/history$/, /\/utils\/txs\/evaluate/],
  platform: [
    /\/scripts\/\{script_hash\}\/redeemers$/,
    /\/assets\/policy\//,
    /\/assets\/\{asset\}\/history$/,
    /\/required_signers$/,
    /\/utils\/txs\/evaluate/,
  ],
  ogmios: [/./],
};

/** Whether a door hides that a listing begins above its tip, as Dolos does: an answer without a word. */
export function isRangeRefused(door: Door, query: URLSearchParams, tipHeight: number): boolean {
  const from = Number(query.get("from")?.split(":")[0] ?? 0);
  return (door === "dolos" || door === "platform") && from > tipHeight;
}

/** What a door makes of an answer to a submission. */
export function toSubmitAnswer(
  door: Door,
  answer: { status: number; body: string },
): { status: number; body: string } {
  if (door !== "dolos") return answer;
  if (answer.status === 200) return { status: 200, body: JSON.parse(answer.body) };
  // Its own validation refuses without a word.
  return answer.status === 400 ? { status: 400, body: "" } : answer;
}
