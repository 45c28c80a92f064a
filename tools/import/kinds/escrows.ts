import * as z from "zod";
import {
  type decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  decodeBlockchainIdentifier as readIdentifier,
  verifyTerms,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import { SELLER_NONCE_LENGTH } from "../../../src/chain/contracts/escrow-datum.ts";
import { ON_CHAIN_STATES } from "../../../src/chain/network.ts";
import { parseUnit } from "../../../src/chain/unit.ts";
import { deriveId } from "../../../src/db/id.ts";
import {
  type EscrowRecord,
  type EscrowTerms,
  fundsOf,
  hashIdentifier,
  mapTimes,
  type Side,
  type StoredFunds,
  toWalletReference,
} from "../../../src/escrow/model/escrow-record.ts";
import {
  IDLE_PROGRESS,
  type Intent,
  isTerminal,
  type Progress,
  type Step,
} from "../../../src/escrow/model/intent.ts";
import { buildRecord } from "../../../src/escrow/store/build-record.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { insertRequest } from "../../../src/escrow/terms/create-record.ts";
import {
  amount,
  type Conversion,
  defineKind,
  type ImportContext,
  type ImportedSource,
  LeftOut,
  optionalText,
  text,
  time,
} from "../import-context.ts";

const commonFields = {
  id: text,
  createdAt: time,
  paymentSourceId: text,
  smartContractWalletId: optionalText,
  nextActionId: text,
  metadata: optionalText,
  pricingType: z.enum(["Fixed", "Free", "Dynamic"]),
  blockchainIdentifier: text,
  agentName: optionalText,
  submitResultTime: amount,
  unlockTime: amount,
  externalDisputeUnlockTime: amount,
  payByTime: amount.nullable(),
  inputHash: text,
  onChainState: z.enum(ON_CHAIN_STATES).nullable(),
  requestedById: text,
  currentTransactionId: optionalText,
  buyerReturnAddress: optionalText,
  sellerReturnAddress: optionalText,
};
type PeerEscrow = z.output<z.ZodObject<typeof commonFields>>;

/** Quotes, open and locked. The sync finds what became of the locked ones. */
export const payments = defineKind({
  name: "payments and quotes",
  table: "PaymentRequest",
  schema: z.object(commonFields),
  convert(row, context) {
    const wallet = context.requireWallet(row.smartContractWalletId ?? "");
    const seller = { seller: wallet.address, sellerVkey: wallet.vkey };
    return convertEscrow("payment", row, context, { ...seller, wallet });
  },
});

/** Purchases, open and locked. */
export const purchases = defineKind({
  name: "purchases",
  table: "PurchaseRequest",
  schema: z.object({ ...commonFields, sellerWalletId: text, isLimitedToHotWallets: z.boolean() }),
  convert(row, context) {
    const seller = context.findRow("WalletBase", row.sellerWalletId);
    if (!seller) throw new LeftOut("its seller is not known there");
    const { smartContractWalletId: walletId } = row;
    const wallet = walletId === null ? null : context.requireWallet(walletId);
    const limit = context
      .findRows("HotWalletLimit", "purchaseRequestId", row.id)
      .flatMap(({ hotWalletId }) => context.wallets.get(String(hotWalletId))?.id ?? []);
    return convertEscrow("purchase", row, context, {
      seller: String(seller.walletAddress),
      sellerVkey: String(seller.walletVkey),
      wallet,
      ...(row.isLimitedToHotWallets && { walletIds: limit }),
    });
  },
});

interface Parties extends Pick<EscrowTerms, "seller" | "sellerVkey" | "walletIds"> {
  wallet: EscrowRecord["wallet"];
}

function convertEscrow(
  side: Side,
  row: PeerEscrow,
  context: ImportContext,
  { wallet, ...parties }: Parties,
): Conversion {
  const source = context.requireSource(row.paymentSourceId);
  const { payByTime } = row;
  if (payByTime === null) throw new LeftOut("has no pay-by time");
  const hasTransaction = hasOwnTransaction(side, row, context);
  if (row.onChainState === null && !hasTransaction && Number(payByTime) < context.now)
    throw new LeftOut("nothing was locked in time");
  const identifier = requireIdentifier(row, source);
  const terms: EscrowTerms = {
    isRequested: true,
    ...parties,
    agentIdentifier: identifier.agentIdentifier ?? "",
    ...(row.agentName !== null && { agentName: row.agentName }),
    pricingType: row.pricingType,
    inputHash: row.inputHash,
    payByTime,
    submitResultTime: row.submitResultTime,
    unlockTime: row.unlockTime,
    externalDisputeUnlockTime: row.externalDisputeUnlockTime,
    collateralReturn: null,
    buyer: null,
    buyerVkey: null,
    buyerReturnAddress: row.buyerReturnAddress,
    sellerReturnAddress: row.sellerReturnAddress,
    funds: readFunds(side, row.id, context),
  };
  requireSellerSignature(terms, identifier, source);
  const id = deriveId(row.createdAt, `${side} ${row.id}`);
  const name = `${side} ${hashIdentifier(row.blockchainIdentifier)} ${source.id}`;
  const reason = "the sync has found it before: it belongs to the Admins";
  if (!context.claim("escrow", id, name, reason)) return "present";
  const requestedById = context.ownerOf(row.requestedById);
  const fields = {
    side,
    blockchainIdentifier: row.blockchainIdentifier,
    requestedById,
    terms,
    progress: toProgress(side, row, { hasTransaction, requestedById }, context),
    wallet: wallet && toWalletReference(wallet),
  };
  const built = buildRecord(source, fields, context.now);
  return writeRecord({ ...built, id, createdAt: row.createdAt }, row.metadata, context.now);
}

/** Writes a record of which the chain has nothing yet, and no event: nothing has changed. */
function writeRecord(record: EscrowRecord, metadata: string | null, now: number) {
  const { sourceId, network } = record;
  const changes = new ChangeSet([], now, 0);
  changes.setProgress(record, record.progress);
  changes.events.length = 0;
  return [...writeChanges(changes, { sourceId, network }), insertRequest(record, metadata)];
}

type Identifier = NonNullable<ReturnType<typeof decodeBlockchainIdentifier>>;

function requireIdentifier(
  { blockchainIdentifier }: PeerEscrow,
  { type, contractAddress }: ImportedSource,
): Identifier {
  const decoded = readIdentifier(blockchainIdentifier);
  if (decoded === null || encodeBlockchainIdentifier(decoded) !== blockchainIdentifier)
    throw new LeftOut("its blockchainIdentifier is not that of an escrow");
  if (decoded.contractAddress !== (type === "Web3ChainV1" ? null : contractAddress))
    throw new LeftOut("its blockchainIdentifier names another contract");
  return decoded;
}

/** Positions in the list of an agent's payment sources that a seller may have signed. */
const POSITIONS = [undefined, ...Array.from({ length: 25 }, (_, index) => index)];

/** @throws LeftOut when the seller has not signed the terms */
function requireSellerSignature(
  terms: EscrowTerms,
  { sellerId, buyerNonce, signature, key }: Identifier,
  { type, contractAddress }: ImportedSource,
): void {
  const signed = {
    version: type,
    inputHash: terms.inputHash,
    agentIdentifier: terms.agentIdentifier,
    buyerNonce,
    sellerNonce: sellerId.slice(0, SELLER_NONCE_LENGTH),
    ...mapTimes(terms, BigInt),
    seller: terms.seller,
    sellerReturnAddress: type === "Web3ChainV1" ? null : terms.sellerReturnAddress,
  };
  const contexts = [null, terms.funds.map(fundsOf)].flatMap((requestedFunds) =>
    (type === "Web3ChainV1" ? [undefined] : POSITIONS).map((index) => ({
      contractAddress,
      requestedFunds,
      ...(index !== undefined && { supportedPaymentSourceIndex: index }),
    })),
  );
  const { sellerVkey } = terms;
  const verified = verifyTerms(signed, { signature, key, sellerVkey }, contexts);
  if (!verified.ok) throw new LeftOut(verified.reason);
}

const fundsSchema = z.array(
  z.object({
    unit: text.transform((unit) => parseUnit(unit) ?? unit.toLowerCase()),
    amount,
  }),
);

function readFunds(side: Side, id: string, context: ImportContext): StoredFunds[] {
  const column = side === "payment" ? "paymentRequestId" : "purchaseRequestId";
  return fundsSchema.parse(context.findRows("UnitValue", column, id));
}

const transactionSchema = z.object({ txHash: optionalText, intendedTxHash: optionalText });

/** Whether the other service has built a transaction for the record: its bytes may still land. */
function hasOwnTransaction(side: Side, row: PeerEscrow, context: ImportContext): boolean {
  const action = findAction(side, row, context);
  if (action.submittedTxHash !== null || action.requestedAction.endsWith("Initiated")) return true;
  const ids = context.findRows("TransactionHistory", "recordId", row.id);
  return [row.currentTransactionId, ...ids.map(({ transactionId }) => transactionId)].some((id) => {
    const found = transactionSchema.safeParse(context.findRow("Transaction", id)).data;
    return found !== undefined && (found.txHash ?? found.intendedTxHash) !== null;
  });
}

const actionSchema = z.object({
  requestedAction: text,
  resultHash: optionalText.optional(),
  submittedTxHash: optionalText,
  errorNote: optionalText,
});

function findAction(side: Side, row: PeerEscrow, context: ImportContext) {
  const table = side === "payment" ? "PaymentActionData" : "PurchaseActionData";
  const action = actionSchema.safeParse(context.findRow(table, row.nextActionId));
  if (!action.success) throw new LeftOut("its next action is not known there");
  return action.data;
}

/** What the record waits for. A lock whose transaction may still land is never asked for again. */
function toProgress(
  side: Side,
  row: PeerEscrow,
  { hasTransaction, requestedById }: { hasTransaction: boolean; requestedById: string },
  context: ImportContext,
): Progress {
  const { requestedAction, resultHash = null, errorNote } = findAction(side, row, context);
  if (isTerminal(row.onChainState)) return IDLE_PROGRESS;
  const toIntent = (step: Step, hash: string | null): Intent => ({
    id: deriveId(context.now, `${step} ${row.id}`),
    ...{ step, resultHash: hash, by: requestedById, since: context.now },
  });
  switch (requestedAction) {
    case "FundsLockingRequested":
      if (row.onChainState !== null || hasTransaction) return IDLE_PROGRESS;
      return { ...IDLE_PROGRESS, intent: toIntent("FundsLocking", null) };
    case "SubmitResultRequested":
      if (resultHash === null) return IDLE_PROGRESS;
      return { ...IDLE_PROGRESS, intent: toIntent("SubmitResult", resultHash) };
    case "WaitingForManualAction": {
      const note = errorNote ?? "The service before this one waited for a person";
      return {
        ...IDLE_PROGRESS,
        error: { isManual: true, type: "Unknown", note, txHash: null },
      };
    }
    case "SetRefundRequestedRequested":
    case "UnSetRefundRequestedRequested":
    case "AuthorizeRefundRequested":
    case "AuthorizeWithdrawalRequested":
      context.note(`escrow with ${requestedAction}: ask for it again`);
      return IDLE_PROGRESS;
    default:
      return IDLE_PROGRESS;
  }
}
