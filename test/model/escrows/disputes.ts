/** What administrators do through the service, and what has to come of it. */
import { computeChainTime } from "../../../src/chain/chain-time.ts";
import { encodeOwnReference } from "../../../src/chain/contracts/redeemers.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { isSignedBy } from "../../../src/chain/ed25519.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { sumToValue, type Value } from "../../../src/chain/transaction/value.ts";
import { addWitnesses, readWitnesses } from "../../../src/chain/transaction/witnesses.ts";
import { signExtended, type WalletKeys } from "../../../src/chain/wallet-keys.ts";
import { newId } from "../../../src/db/id.ts";
import { computeSignatureChange } from "../../../src/escrow/disputes/add-signature.ts";
import { buildProposal } from "../../../src/escrow/disputes/build-proposal.ts";
import { buildSettlement } from "../../../src/escrow/disputes/prepare-settlement.ts";
import { loadDisputedEscrow } from "../../../src/escrow/disputes/propose-settlement.ts";
import { countGivenSignatures } from "../../../src/escrow/disputes/settlement-message.ts";
import { readProposals, updateProposal } from "../../../src/escrow/disputes/store.ts";
import {
  DISPUTE_FEATURE,
  OPEN_PROPOSAL_STATES,
  type ProposalRow,
} from "../../../src/escrow/disputes/tables.ts";
import { computeWithdrawalChange } from "../../../src/escrow/disputes/withdraw-proposal.ts";
import { fundsOf } from "../../../src/escrow/model/escrow-record.ts";
import { ApiError } from "../../../src/http/errors.ts";
import { deleteTasks, upsertTasks } from "../../../src/wallets/queue/store.ts";
import type { Sent } from "../ledger.ts";
import { allRecords } from "./checks.ts";
import { escrowOf, paidTo } from "./contract.ts";
import { outputOf } from "./provider.ts";
import type { Service } from "./service.ts";
import { splitOf } from "./strangers.ts";
import { ADMINISTRATORS, STRANGER } from "./terms.ts";

/** A chain whose newest block is older stands still: nothing is prepared then. */
const OLDEST_TIP_MS = 15 * 60_000;

/** An Admin proposes how one of the disputes is settled, and some administrators sign it at once. */
export async function propose(service: Service, n: number): Promise<void> {
  const { source, ledger, type } = service;
  const disputed = allRecords(service).filter(({ state }) => state.onChainState === "Disputed");
  const record = disputed[n % Math.max(disputed.length, 1)];
  const { now, tip } = ledger;
  const isStill = type === "Web3ChainV1" && now - tip.time * 1000 > OLDEST_TIP_MS;
  if (!record || isStill) return;
  const { network, blockchainIdentifier } = record;
  const id = newId(now);
  await service.process({}, ({ db, provider }) =>
    unlessRefused(async () => {
      const found = await loadDisputedEscrow(
        { env: {}, var: { deadline: Number.POSITIVE_INFINITY } },
        db,
        network,
        blockchainIdentifier,
      );
      const { buyer, seller } = splitOf(found.output.value, n >> 2);
      const { statements } = await buildProposal(
        {
          ...{ id, database: db, source, wallets: service.wallets, createdById: "key" },
          prepare: (asked) =>
            buildSettlement(asked, provider, computeChainTime("wall", tip.time, now), now),
        },
        found,
        { network, blockchainIdentifier, BuyerFunds: [...buyer], SellerFunds: [...seller] },
        now,
      );
      await db.batch(statements);
    }),
  );
  for (const by of ADMINISTRATORS.slice(0, (n >> 5) % 4)) await handIn(service, id, by);
}

/** Somebody signs a proposal that waits: mostly an administrator, and what was proposed. */
export async function sign(service: Service, n: number): Promise<void> {
  const waiting = proposalsIn(service).filter(({ state }) => OPEN_PROPOSAL_STATES.includes(state));
  const row = waiting[n % Math.max(waiting.length, 1)];
  const by = [...ADMINISTRATORS, STRANGER][(n >> 2) % 4];
  if (row && by) await handIn(service, row.id, by, n % 8 === 7);
}

/** An Admin takes a proposal back. */
export async function withdraw({ db, database, ledger }: Service, n: number): Promise<void> {
  const ids = database.all<{ id: string }>("SELECT id FROM dispute_proposal ORDER BY id");
  const [row] = await readProposals(db, [ids[n % Math.max(ids.length, 1)]?.id ?? ""]);
  if (!row) return;
  await unlessRefused(async () => {
    const change = computeWithdrawalChange(row);
    if (!change) return;
    const ended = deleteTasks(DISPUTE_FEATURE, [row.id]);
    await db.batch([updateProposal(db, row, change, ledger.now), ...ended]);
  });
}

async function handIn(
  service: Service,
  id: string,
  by: WalletKeys,
  isOfAnother = false,
): Promise<void> {
  const { db, ledger } = service;
  const [row] = await readProposals(db, [id]);
  if (!row) return;
  const message = isOfAnother ? new Uint8Array(row.message.length / 2) : hexToBytes(row.message);
  await unlessRefused(async () => {
    const given = computeSignatureChange(row, answerOf(row, message, by), ledger.now);
    if (!given) return;
    const opened = upsertTasks(given.task ? [given.task] : []);
    await db.batch([updateProposal(db, row, given.change, ledger.now), ...opened]);
  });
}

/** What a wallet answers that is asked to sign. */
function answerOf({ prepared }: ProposalRow, message: Uint8Array, by: WalletKeys) {
  if (prepared === null) return signCoseSign1(message, by);
  const { unsigned } = prepared;
  const own = {
    publicKey: by.paymentPublicKey,
    signature: signExtended(by, message),
  };
  return { signature: bytesToHex(addWitnesses(hexToBytes(unsigned), [own])) };
}

async function unlessRefused(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

type JsonColumns = Pick<
  ProposalRow,
  "output" | "split" | "administrators" | "signatures" | "prepared"
>;

export function proposalsIn({ database }: Service) {
  const rows = database.all<
    Omit<ProposalRow, keyof JsonColumns> & { dueAt: number | null; texts: string }
  >(
    `SELECT proposal.id, required, state, error,
       json_object('output', json(output), 'split', json(split), 'administrators', json(administrators),
         'signatures', json(signatures), 'prepared', json(prepared)) AS texts,
       tx_hash AS txHash, task.due_at AS dueAt, opens_at AS opensAt, expires_at AS expiresAt
     FROM dispute_proposal AS proposal
     LEFT JOIN wallet_task AS task ON task.subject_id = proposal.id ORDER BY proposal.id`,
  );
  return rows.map(({ texts, ...row }) => ({ ...row, ...(JSON.parse(texts) as JsonColumns) }));
}

/** Proposals that enough have signed and that neither came to an end nor say why not. */
export function unsettled(service: Service): string[] {
  return proposalsIn(service)
    .filter(({ state, error, dueAt, ...row }) => {
      if (state === "Failed" || state === "Expired") return error === null;
      const isSigned = countGivenSignatures(row.administrators, row.signatures) >= row.required;
      const isOver = state === "Settled" || state === "Replaced" || state === "Withdrawn";
      return dueAt !== null || (isSigned && !isOver);
    })
    .map(({ state, error, dueAt }) => JSON.stringify({ state, error, dueAt }));
}

/** Proposals with a settlement that is not theirs, or that is not on the chain, or whose end they do not tell. */
export function settledOtherwise(service: Service): string[] {
  const { ledger, source } = service;
  const blocks = ledger.blocks;
  const onChain = new Map(
    blocks.flatMap(({ transactions }) => transactions).map((tx) => [tx.hash, tx]),
  );
  return proposalsIn(service).flatMap(({ state, txHash, ...row }) => {
    const tx = onChain.get(txHash ?? "");
    const isThere = tx?.isValid === true;
    if (isThere !== (state === "Settled")) return [`${state}, and on the chain: ${isThere}`];
    if (!isThere) return [];
    const { utxo } = row.output;
    const [hash = "", index] = utxo.split("#");
    const output = outputOf(blocks, utxo);
    const datum = output && escrowOf(source, output);
    if (!datum) return [`${utxo} is no escrow`];
    const tag = bytesToHex(encodeOwnReference(hash, Number(index)));
    const { buyer, seller } = row.split;
    const shares = [
      { funds: buyer, address: datum.buyerReturnAddress ?? datum.buyer },
      { funds: seller, address: datum.sellerReturnAddress ?? datum.seller },
    ];
    const wrong = shares.filter(({ funds, address }) => {
      const owed = sumToValue(funds.map(fundsOf));
      const paid = paidTo(tx, tag, address);
      return (
        [...owed].some(([unit, amount]) => (paid.get(unit) ?? 0n) < amount) ||
        [...paid].some(([unit, amount]) => amount > most(unit, owed))
      );
    });
    const signers = row.prepared === null ? 2 : signersOf(tx).length;
    return wrong.length > 0 || signers < 2
      ? [JSON.stringify({ wrong, signers, split: row.split })]
      : [];
  });
}

/** What a share comes to at the most: the ledger wants so much in each output. */
function most(unit: string, owed: Value): bigint {
  const share = owed.get(unit) ?? 0n;
  return unit === "" && owed.size > 0 && share < MIN_COIN ? MIN_COIN : share;
}
const MIN_COIN = 1_500_000n;

/** Administrators who really signed a transaction. */
function signersOf({ cbor, hash }: Sent) {
  const witnesses = readWitnesses(bytesToHex(cbor))?.witnesses ?? [];
  return ADMINISTRATORS.filter(({ paymentPublicKey }) =>
    witnesses.some(
      ({ publicKey, signature }) =>
        bytesToHex(publicKey) === bytesToHex(paymentPublicKey) &&
        isSignedBy(publicKey, hexToBytes(hash), signature),
    ),
  );
}
