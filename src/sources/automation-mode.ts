/** What the service does for a source or with a wallet, the least first. */
export const AUTOMATION_MODES = [
  /** It is watched. */
  "nothing",
  /** What is open is brought to its end; nothing new is begun. */
  "finish",
  "all",
] as const;
export type AutomationMode = (typeof AUTOMATION_MODES)[number];

/** What a wallet does for its source: the stricter of the two holds. */
export function selectAutomationMode(
  source: { drives: AutomationMode },
  wallet: { drives: AutomationMode },
): AutomationMode {
  return (
    AUTOMATION_MODES.find((one) => one === source.drives || one === wallet.drives) ?? "nothing"
  );
}
