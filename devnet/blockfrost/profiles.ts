/** How servers with the provider's API differ from the hosted service. Each has its profile. */
export const PROFILES = ["api", "mirror", "ryo", "dolos", "platform", "ogmios"] as const;
export type Profile = (typeof PROFILES)[number];

/** Calls that a server does not serve, as `GET /txs/{hash}`. The mirror is a second hosted service. */
export const UNSERVED: Record<Profile, readonly RegExp[]> = {
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

/** Whether a profile hides that a listing begins above its tip, as Dolos does: an answer without a word. */
export function isRangeRefused(
  profile: Profile,
  query: URLSearchParams,
  tipHeight: number,
): boolean {
  const from = Number(query.get("from")?.split(":")[0] ?? 0);
  return (profile === "dolos" || profile === "platform") && from > tipHeight;
}

/** What a profile makes of an answer to a submission. */
export function toSubmitAnswer(
  profile: Profile,
  answer: { status: number; body: string },
): { status: number; body: string } {
  if (profile !== "dolos") return answer;
  if (answer.status === 200) return { status: 200, body: JSON.parse(answer.body) };
  // Its own validation refuses without a word.
  return answer.status === 400 ? { status: 400, body: "" } : answer;
}
