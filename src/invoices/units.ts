const POLICY_DIGITS = 56;

/**
 * A token as it is printed: its name, when that is plain text, and the ends of its policy id.
 *
 * @param unit - policy id and asset name in hex; other text is shown as it is
 */
export function unitName(unit: string): string {
  if (!/^[0-9a-f]{56,120}$/.test(unit)) return unit;
  const name = Buffer.from(unit.slice(POLICY_DIGITS), "hex").toString("latin1");
  const policy = `${unit.slice(0, 6)}…${unit.slice(POLICY_DIGITS - 6, POLICY_DIGITS)}`;
  return /^[\x21-\x7e]+$/.test(name) ? `${name} (${policy})` : policy;
}

/** An agent identifier as it is printed: long ones by their ends. */
export function agentName(agentIdentifier: string): string {
  return agentIdentifier.length > 14
    ? `${agentIdentifier.slice(0, 6)}…${agentIdentifier.slice(-12)}`
    : agentIdentifier;
}
