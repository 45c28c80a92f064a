/**
 * A model of keys of the payment service: what each body makes of a key, and what the key may do. What a
 * change omits is kept, also where that service resets it. That service counts a unit once. The model counts
 * it on each network, so an amount on one network does not lessen what is left on the other.
 */
import { NETWORKS, type Network } from "../../src/chain/network.ts";

export interface PeerBody {
  permission?: "Read" | "ReadAndPay" | "Admin";
  canRead?: boolean;
  canPay?: boolean;
  canAdmin?: boolean;
  status?: "Active" | "Revoked";
  usageLimited?: "true" | "false";
  UsageCredits?: { unit: string; amount: string }[];
  UsageCreditsToAddOrRemove?: { unit: string; amount: string }[];
  NetworkLimit?: Network[];
  ChainIdLimit?: string[];
  walletScopeEnabled?: "true" | "false";
  WalletScopeHotWalletIds?: string[];
}

export class PeerKey {
  canRead = true;
  canPay = false;
  canAdmin = false;
  isActive = true;
  isLimited = true;
  networks: Network[] = [...NETWORKS];
  chains: string[] = [];
  /** Null: any wallet. */
  wallets: string[] | null = null;
  /** What is left, by network and unit. */
  credits = new Map<string, number>();

  with(changes: Partial<PeerKey>): PeerKey {
    return Object.assign(new PeerKey(), this, changes);
  }

  spend(network: Network, unit: string, amount: number): PeerKey {
    const name = `${network} ${unit}`;
    const left = (this.credits.get(name) ?? 0) - amount;
    return this.with({ credits: new Map(this.credits).set(name, left) });
  }
}

/** A new key; null: the service refuses the body. */
export function newKey(body: PeerBody): PeerKey | null {
  const { permission = "Read", canRead = true, canPay = false, canAdmin = false } = body;
  const hasFlags = ["canRead", "canPay", "canAdmin"].some(
    (name) => body[name as keyof PeerBody] !== undefined,
  );
  const flags = hasFlags ? { canRead, canPay, canAdmin } : flagsOf(permission);
  const key = new PeerKey().with({
    ...flags,
    isLimited: body.usageLimited !== "false",
    networks: body.NetworkLimit ?? [...NETWORKS],
    chains: (body.ChainIdLimit ?? []).filter(isNoLedger),
    wallets: body.walletScopeEnabled === "true" ? (body.WalletScopeHotWalletIds ?? []) : null,
  });
  const credited = withCredits(key, body.UsageCredits ?? []);
  return credited && check(credited);
}

/** A changed key; null: the service refuses the body. */
export function changedKey(key: PeerKey, body: PeerBody): PeerKey | null {
  const base = body.permission === undefined ? key : flagsOf(body.permission);
  const canAdmin = body.canAdmin ?? base.canAdmin;
  const ids = body.WalletScopeHotWalletIds;
  const isBound = body.walletScopeEnabled
    ? body.walletScopeEnabled === "true"
    : key.wallets !== null;
  const changed = key.with({
    // Our answers say that every key reads, so that the next change begins there.
    canRead: body.canRead ?? true,
    canPay: body.canPay ?? base.canPay,
    canAdmin,
    isActive: body.status === undefined ? key.isActive : body.status === "Active",
    isLimited: body.usageLimited === undefined ? key.isLimited : body.usageLimited === "true",
    // No network of an Admin is stored.
    networks: body.NetworkLimit ?? (key.canAdmin && !canAdmin ? [] : key.networks),
    chains: body.ChainIdLimit?.filter(isNoLedger) ?? (key.canAdmin && !canAdmin ? [] : key.chains),
    wallets: isBound ? (ids ?? key.wallets ?? []) : null,
  });
  const credited = withCredits(changed, body.UsageCreditsToAddOrRemove ?? []);
  return credited && check(credited);
}

/** What a key may do there. */
export function rightsOf(key: PeerKey, all: { wallets: string[]; chains: string[] }) {
  const canPay = key.isActive && (key.canPay || key.canAdmin);
  const isAdmin = key.isActive && key.canAdmin;
  const canRead = key.isActive && (key.canRead || canPay);
  const networks = isAdmin ? [...NETWORKS] : key.networks;
  return {
    isAdmin,
    canPay,
    reads: canRead ? networks : [],
    chains: canPay ? (isAdmin ? all.chains : key.chains) : [],
    wallets: canPay ? (isAdmin ? all.wallets : (key.wallets ?? all.wallets)) : [],
    covers: (network: Network, unit: string, amount: number) =>
      canPay &&
      networks.includes(network) &&
      (isAdmin || !key.isLimited || (key.credits.get(`${network} ${unit}`) ?? 0) >= amount),
  };
}

function flagsOf(permission: NonNullable<PeerBody["permission"]>) {
  const canAdmin = permission === "Admin";
  return { canRead: true, canPay: canAdmin || permission === "ReadAndPay", canAdmin };
}

const isNoLedger = (chain: string) => !chain.startsWith("cardano:");

/** An Admin has neither limit nor scope, and each key has a right. */
function check(key: PeerKey): PeerKey | null {
  if (key.canAdmin && (key.isLimited || key.wallets !== null)) return null;
  return key.canRead || key.canPay || key.canAdmin ? key : null;
}

function withCredits(key: PeerKey, added: { unit: string; amount: string }[]): PeerKey | null {
  const credits = new Map(key.credits);
  for (const { unit, amount } of added) {
    for (const network of NETWORKS) {
      const name = `${network} ${unit === "lovelace" ? "" : unit.toLowerCase()}`;
      credits.set(name, (credits.get(name) ?? 0) + Number(amount));
    }
  }
  const isCovered = key.networks.every((network) =>
    [...credits].every(([name, left]) => left >= 0 || !name.startsWith(network)),
  );
  for (const [name, left] of credits) credits.set(name, Math.max(left, 0));
  return isCovered ? key.with({ credits }) : null;
}
