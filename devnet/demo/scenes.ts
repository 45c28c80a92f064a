/** Lives as they are played: who lives them, how far they are, and what they wait for. */
import type { Funds, OnChainState, PaymentSourceType } from "../../src/chain/network.ts";
import type { Chain } from "../ledger/chain.ts";
import { actAll, lockAll } from "./actors/actions.ts";
import type { Escrow, LockOrder } from "./actors/escrow.ts";
import { ADMIN, CASTS, STRANGER, type Wallet } from "./actors/wallets.ts";
import { opensAt } from "./actors/window.ts";
import { DEMO_DOLLAR } from "./currency.ts";
import type { Life } from "./lives.ts";

/** A life that is played. */
export interface Scene {
  life: Life;
  parties: Parties;
  /** Empty before they are locked. */
  escrows: readonly Escrow[];
  /** Steps that were made. */
  made: number;
  /** When its next step is made, or its lock, Unix milliseconds. */
  due: number;
  /** When the last thing happened, Unix milliseconds. */
  movedAt: number;
}

interface Parties {
  seller: Wallet;
  buyer: Wallet;
  /** Where each wants its money if it has a return address: the other wallet of its kind. */
  sellerReturn: Wallet;
  buyerReturn: Wallet;
}

/** How a life is paced. */
export interface Pace {
  /** Between two of its steps, milliseconds, at the least. */
  pauseMs: number;
  /** What its datum says, by the time at which it is locked. */
  terms(
    now: number,
  ): Pick<LockOrder, "payByTime" | "submitResultTime" | "unlockTime" | "externalDisputeUnlockTime">;
}

/** An escrow of the demo and where its life has ended. */
export interface PlayedLife {
  version: PaymentSourceType;
  /** The `blockchainIdentifier` of its payment and purchase. */
  identifier: string;
  ends: OnChainState;
  seller: Wallet;
  buyer: Wallet;
  /** When it ended, Unix milliseconds. */
  endedAt: number;
}

/**
 * Pays the fees of every step, so that no output of a selling wallet is spent: those are the service's
 * to spend. A lock is paid by its buyer, else the service takes it for a stranger's.
 */
export const FEE_PAYER = ADMIN;

/** The least that is paid in native coins. */
const PRICE = 10_000_000n;
/** Beside tokens there is as much as an output needs. */
const WITH_TOKENS = 6_000_000n;

/** A life that begins at a time, Unix milliseconds. Sellers and buyers take turns. */
export function sceneOf(life: Life, turn: number, due: number): Scene {
  const { sellers, buyers } = CASTS[life.version];
  const parties = {
    seller: life.stranger === "seller" ? STRANGER : atTurn(sellers, turn),
    buyer: life.stranger === "buyer" ? STRANGER : atTurn(buyers, turn),
    sellerReturn: atTurn(sellers, turn + 1),
    buyerReturn: atTurn(buyers, turn + 1),
  };
  return { life, parties, escrows: [], made: 0, due, movedAt: due };
}

/** Whether nothing more happens in it. */
export const isOver = ({ life, escrows, made }: Scene): boolean =>
  escrows.length > 0 && made === life.steps.length;

/** The one in which something happens next. */
export function nextOf(scenes: Iterable<Scene>): Scene | undefined {
  return [...scenes].filter((scene) => !isOver(scene)).sort((a, b) => a.due - b.due)[0];
}

/**
 * Locks the escrows of a scene, or makes their next step.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function playOn(chain: Chain, scene: Scene, pace: Pace): void {
  const { life, escrows } = scene;
  const action = life.steps[scene.made];
  if (escrows.length === 0) scene.escrows = lockAll(chain, ordersOf(scene, chain, pace));
  else if (action) {
    scene.escrows = actAll(
      chain,
      escrows.map((escrow) => ({ escrow, action })),
      FEE_PAYER,
    );
    scene.made++;
  }
  scene.movedAt = chain.now();
  const next = life.steps[scene.made];
  if (!next) return;
  const opens = opensAt(scene.escrows.map((escrow) => ({ escrow, action: next })));
  scene.due = Math.max(chain.now() + pace.pauseMs, opens);
}

export function playedIn({ life, parties, escrows, movedAt }: Scene): PlayedLife[] {
  const { version, ends } = life;
  const { seller, buyer } = parties;
  return escrows.map(({ identifier }) => ({
    version,
    identifier,
    ends,
    seller,
    buyer,
    endedAt: movedAt,
  }));
}

function ordersOf({ life, parties }: Scene, chain: Chain, pace: Pace): LockOrder[] {
  const { version, together = 1, inTokens, returns, collateral, datum } = life;
  const { seller, buyer, sellerReturn, buyerReturn } = parties;
  return Array.from({ length: together }, (_, i) => ({
    version,
    seller,
    buyer,
    funds: inTokens ? IN_TOKENS : [{ unit: "", amount: PRICE + BigInt(i) * 1_000_000n }],
    ...pace.terms(chain.now()),
    ...(collateral !== undefined && { collateral }),
    ...(datum && { datum }),
    ...(returns && {
      sellerReturnAddress: sellerReturn.address,
      buyerReturnAddress: buyerReturn.address,
    }),
  }));
}

const IN_TOKENS: Funds[] = [
  { unit: "", amount: WITH_TOKENS },
  { unit: DEMO_DOLLAR, amount: 25_000_000n },
];

function atTurn(wallets: readonly Wallet[], turn: number): Wallet {
  const wallet = wallets[turn % wallets.length];
  if (!wallet) throw new Error("a payment source of the demo has no wallet");
  return wallet;
}
