/**
 * The actors as control actions of the local chain, for tests that run in another process.
 *
 * `POST /_control/{chain}/act` with `{steps: Step[]}` plays the steps in order and answers with one
 * `StepResult` for each. Escrows and tokens are known by name for as long as their chain lives.
 * `POST /_control/{chain}/wallets` tells the wallets, with their words, the contracts, what others
 * are derived from, and the contract without rules.
 */
import { z } from "zod";
import type { Deployment } from "../../contracts/deployment.ts";
import { contractOf, contracts, templates } from "../../contracts/index.ts";
import type { Chain } from "../../ledger/chain.ts";
import type { Devnet } from "../../server/server.ts";
import { actAndLock, lockAll } from "./actions.ts";
import type { Escrow } from "./escrow.ts";
import { publishScripts } from "./publish.ts";
import { burnToken, mintToken, mintTokens, sendToken, type Token } from "./registry.ts";
import { Step } from "./steps.ts";
import { failToSpend, lockAgain, lockRaw } from "./strangers.ts";
import { WALLETS } from "./wallets.ts";

/** What a step came to. */
export interface StepResult {
  txHash: string;
  /** Height of the tip after the step: of its block, where each transaction gets one at once. */
  blockHeight: number;
  /** The escrows that the step made or moved. */
  escrows: { as?: string; identifier: string; index: number | null; state: string }[];
  /** Policy id and asset name of the token that it minted, hex. */
  unit?: string;
  /** Of several tokens minted at once. */
  units?: string[];
}

interface Cast {
  escrows: Map<string, Escrow>;
  tokens: Map<string, Token>;
}

const ActBody = z.object({ steps: z.array(Step) });

/** Registers the actions `act` and `wallets`. */
export function registerActors(devnet: Devnet): void {
  const casts = new WeakMap<Chain, Cast>();
  devnet.onControl("act", async (chain, body) => {
    const cast = casts.get(chain) ?? { escrows: new Map(), tokens: new Map() };
    casts.set(chain, cast);
    return ActBody.parse(body).steps.map((step) => play(chain, cast, step));
  });
  devnet.onControl("wallets", async () => ({
    wallets: WALLETS.map(({ name, mnemonic, address, vkey }) => ({
      name,
      mnemonic,
      address,
      vkey,
    })),
    contracts: contracts().map(shown),
    open: shown(contractOf("Web3ChainV1", "open")),
    templates: templates(),
  }));
}

function play(chain: Chain, cast: Cast, step: Step): StepResult {
  switch (step.do) {
    case "publish":
      return transactionResult(chain, publishScripts(chain));
    case "lock":
    case "lockAll": {
      const orders = step.do === "lock" ? [step] : step.orders;
      const names = orders.map(({ as }) => as);
      return escrowResult(chain, cast, names, lockAll(chain, orders));
    }
    case "lockRaw": {
      const locks = step.locks.map(({ version, ...rest }) => ({
        ...rest,
        contract: contractOf(version),
      }));
      return transactionResult(chain, lockRaw(chain, locks));
    }
    case "lockAgain": {
      const again = lockAgain(chain, named(cast.escrows, step.on), step.payer);
      return escrowResult(chain, cast, [step.as], [again]);
    }
    case "failToSpend":
      return transactionResult(chain, failToSpend(chain, named(cast.escrows, step.on)));
    case "mint": {
      const token = mintToken(
        chain,
        contractOf(step.version, step.rules),
        step.holder,
        step.metadata,
        step.assetName,
      );
      cast.tokens.set(step.as, token);
      return { ...transactionResult(chain, token.txHash), unit: token.unit };
    }
    case "burn":
      return transactionResult(chain, burnToken(chain, named(cast.tokens, step.on)));
    case "mintAll": {
      const tokensOf = (names: string[]) => names.map((name) => named(cast.tokens, name));
      const tokens = mintTokens(
        chain,
        contractOf(step.version, step.rules),
        step.holder,
        step.tokens,
        {
          references: tokensOf(step.references),
          carries: tokensOf(step.carries),
          burns: tokensOf(step.burns),
          ...(step.collateral !== undefined && { collateral: named(cast.tokens, step.collateral) }),
        },
      );
      for (const [i, token] of tokens.entries()) {
        const as = step.tokens[i]?.as;
        if (as !== undefined) cast.tokens.set(as, token);
      }
      const units = tokens.map(({ unit }) => unit);
      return { ...transactionResult(chain, tokens[0]?.txHash ?? ""), units };
    }
    case "send": {
      const token = sendToken(chain, named(cast.tokens, step.on), step.to);
      cast.tokens.set(step.on, token);
      return transactionResult(chain, token.txHash);
    }
    case "actAll":
      return playMoves(chain, cast, step.moves, step.orders);
    default: {
      const { do: action, ...move } = step;
      return playMoves(chain, cast, [{ ...move, action }]);
    }
  }
}

const shown = ({ type, address, policy }: Deployment) => ({
  type,
  address,
  policyId: policy.hash,
});

function playMoves(
  chain: Chain,
  cast: Cast,
  moves: Extract<Step, { do: "actAll" }>["moves"],
  orders: Extract<Step, { do: "actAll" }>["orders"] = [],
): StepResult {
  const names = [...moves.map(({ on, as }) => as ?? on), ...orders.map(({ as }) => as)];
  const escrows = actAndLock(
    chain,
    moves.map(({ on, as: _, ...move }) => ({ ...move, escrow: named(cast.escrows, on) })),
    orders,
  );
  return escrowResult(chain, cast, names, escrows);
}

function escrowResult(
  chain: Chain,
  cast: Cast,
  names: readonly (string | undefined)[],
  escrows: readonly Escrow[],
): StepResult {
  const shownEscrows = escrows.map((escrow, position) => {
    const as = names[position];
    if (as !== undefined) cast.escrows.set(as, escrow);
    const { identifier, index, datum } = escrow;
    return { ...(as !== undefined && { as }), identifier, index, state: datum.state };
  });
  return { ...transactionResult(chain, escrows[0]?.txHash ?? ""), escrows: shownEscrows };
}

function transactionResult(chain: Chain, txHash: string): StepResult {
  return { txHash, blockHeight: chain.tip().height, escrows: [] };
}

function named<T>(known: Map<string, T>, name: string): T {
  const found = known.get(name);
  if (!found) throw new RangeError(`no step has made "${name}"`);
  return found;
}
