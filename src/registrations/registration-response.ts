import { toIsoTime } from "../http/envelope.ts";
import type { AgentProfile } from "../registry/entries/profile.ts";
import { toProfileResponse } from "../registry/entries/profile-response.ts";
import type { InboxAgentProfile, RegistrationWallet } from "./registration-profile.ts";
import type { RegistrationRow } from "./tables.ts";

/** What the records of agents and of inbox agents have in common. */
function toCommonFields(row: RegistrationRow, tip: number | null) {
  const { wallet, recipient, tx, task } = row;
  return {
    id: row.id,
    error: row.error ?? task?.reason ?? null,
    state: row.state,
    registrationStateLastChangedAt: toIsoTime(row.stateChangedAt),
    createdAt: toIsoTime(row.createdAt),
    updatedAt: toIsoTime(Math.max(row.updatedAt, task?.updatedAt ?? 0)),
    lastCheckedAt: row.lastCheckedAt === null ? null : toIsoTime(row.lastCheckedAt),
    agentIdentifier: row.agentIdentifier ?? "",
    sendFundingMinorUnit: row.sendFunding,
    SmartContractWallet: toWalletResponse(wallet),
    RecipientWallet: recipient && toWalletResponse(recipient),
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

const toWalletResponse = ({ vkey, address }: RegistrationWallet) => ({
  walletVkey: vkey,
  walletAddress: address,
});

/**
 * An agent's registration as the interface shows it.
 *
 * @param tip - height of the newest block seen, from which confirmations are counted
 */
export function toAgentResponse(row: RegistrationRow, tip: number | null) {
  return { ...toCommonFields(row, tip), ...toProfileResponse(row.profile as AgentProfile) };
}

/** An inbox agent's registration as the interface shows it. */
export function toInboxAgentResponse(row: RegistrationRow, tip: number | null) {
  const { name, description, agentSlug, metadataVersion } = row.profile as InboxAgentProfile;
  return { ...toCommonFields(row, tip), name, description, agentSlug, metadataVersion };
}
