import {
  fetchPublic,
  PublicFetchError,
  type PublicFetchOptions,
} from "../../http/outbound/fetch-public.ts";
import type { Health } from "../entry.ts";

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 64 * 1024;
/** The type that agents of this protocol name in their answer. */
const AGENT_TYPE = "masumi-agent";

/** What an agent's `/availability` answered: its JSON, or what went wrong before there was any. */
export type Availability = { answer: unknown } | { failed: "Offline" | "Invalid" };

/** Which addresses guarded fetches may reach, and how names are resolved. */
export type Outbound = Pick<PublicFetchOptions, "loopbackOrigins" | "resolverUrl" | "resolve">;

/**
 * Asks an agent whether it is available. An address that may not be asked makes it `Invalid`, all
 * else that fails `Offline`.
 *
 * @param apiBaseUrl - as the agent's metadata has it
 */
export async function askAvailability(
  apiBaseUrl: string,
  outbound: Outbound,
): Promise<Availability> {
  // The path that is put behind it would be a part of the query.
  if (/[?#]/.test(apiBaseUrl)) return { failed: "Invalid" };
  try {
    const { status, body } = await fetchPublic(
      `${apiBaseUrl.trim().replace(/\/$/, "")}/availability`,
      {
        ...outbound,
        allowHttp: true,
        headers: { accept: "application/json" },
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      },
    );
    if (status < 200 || status > 299) return { failed: "Offline" };
    return { answer: JSON.parse(new TextDecoder().decode(body)) };
  } catch (error) {
    if (error instanceof PublicFetchError)
      return { failed: error.reason === "refused" ? "Invalid" : "Offline" };
    // Not JSON.
    if (error instanceof SyntaxError) return { failed: "Offline" };
    throw error;
  }
}

/**
 * What an answer says of one agent. One that names another agent, or is not an agent's at all, is
 * `Invalid`; an agent that says it is unavailable is `Offline`.
 */
export function judge(availability: Availability, agentIdentifier: string): Health {
  if ("failed" in availability) return availability.failed;
  const { answer } = availability;
  if (typeof answer !== "object" || answer === null) return "Offline";
  const { agentIdentifier: named, type, status } = answer as Record<string, unknown>;
  const isOurs = named ? named === agentIdentifier : type === AGENT_TYPE;
  if (!isOurs) return "Invalid";
  return status === "unavailable" ? "Offline" : "Online";
}
