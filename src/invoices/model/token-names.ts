import { POLICY_ID_LENGTH } from "../../chain/unit.ts";

/** A unit as messages name it. The unit of the native coin is the empty text. */
export function describeUnit(unit: string): string {
  return unit === "" ? "the native coin" : `the unit ${JSON.stringify(unit)}`;
}

/**
 * The printed form of a token: its plain-text name, and the ends of its policy id.
 *
 * @param unit - policy id and asset name in hex; other text stays unchanged
 */
export function formatUnit(unit: string): string {
  if (!/^[0-9a-f]{56,120}$/.test(unit)) return unit;
  const name = Buffer.from(unit.slice(POLICY_ID_LENGTH), "hex").toString("latin1");
  const policy = `${unit.slice(0, 6)}…${unit.slice(POLICY_ID_LENGTH - 6, POLICY_ID_LENGTH)}`;
  return /^[\x21-\x7e]+$/.test(name) ? `${name} (${policy})` : policy;
}

const MAX_NAME_LENGTH = 80;

/** A registered name, cut where it is longer than a line or two. */
export function shortenName(name: string): string {
  const letters = [...name.trim()];
  return letters.length > MAX_NAME_LENGTH
    ? `${letters.slice(0, MAX_NAME_LENGTH - 1).join("")}…`
    : letters.join("");
}

/** The printed form of an agent identifier: long ones by their ends. */
export function formatAgentIdentifier(agentIdentifier: string): string {
  return agentIdentifier.length > 14
    ? `${agentIdentifier.slice(0, 6)}…${agentIdentifier.slice(-12)}`
    : agentIdentifier;
}
