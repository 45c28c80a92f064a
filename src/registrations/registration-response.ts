import { isoTime } from "../http/envelope.ts";
import type { AgentProfile } from "../registry/entries/profile.ts";
import { shownProfile } from "../registry/entries/shown-profile.ts";
import type { RegistrationRow } from "./tables.ts";
import type { InboxAgentProfile, WalletName } from "./token.ts";

/** What the records of agents and of inbox agents have in common. */
function common(row: RegistrationRow, tip: number | null) {
  const { wallet, recipient, tx, task } = row;
  return {
    id: row.id,
    error: row.error ?? task?.reason ?? null,
    state: row.state,
    createdAt: isoTime(row.createdAt),
    updatedAt: isoTime(Math.max(row.updatedAt, task?.updatedAt ?? 0)),
    lastCheckedAt: row.lastCheckedAt === null ? null : isoTime(row.lastCheckedAt),
    agentIdentifier: row.agentIdentifier ?? "",
    sendFundingMinorUnit: row.sendFunding,
    SmartContractWallet: shownWallet(wallet),
    RecipientWallet: recipient && shownWallet(recipient),
    CurrentTransaction: tx && {
      txHash: tx.hash,
      status: tx.status,
      fees: tx.fees,
      blockHeight: tx.blockHeight,
      blockTime: tx.blockTime,
      confirmations:
        tx.blockHeight === null || tip === null ? null : Math.max(tip - tx.blockHeight + 1, 1),
    },
  };
}

const shownWallet = ({ vkey, address }: WalletName) => ({
  walletVkey: vkey,
  walletAddress: address,
});

/**
 * An agent's registration as the interface shows it.
 *
 * @param tip - height of the newest block seen, from which confirmations are counted
 */
export function toAgentResponse(row: RegistrationRow, tip: number | null) {
  return { ...common(row, tip), ...shownProfile(row.profile as AgentProfile) };
}

/** An inbox agent's registration as the interface shows it. */
export function toInboxAgentResponse(row: RegistrationRow, tip: number | null) {
  const { name, description, agentSlug, metadataVersion } = row.profile as InboxAgentProfile;
  return { ...common(row, tip), name, description, agentSlug, metadataVersion };
}
