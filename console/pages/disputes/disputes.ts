/** Disputes, which administrators of the contract settle: how far each is, and what can be done. */
import { formatFunds, formatRelativeTime } from "../../ui/format.ts";
import { textAt, valueAt } from "../../ui/path.ts";
import type { Action, Field, PageDefinition } from "../../ui/resource.ts";
import { listSigningHelpers } from "./browser-wallets.ts";

interface Funds {
  unit: string;
  amount: string;
}

const isProposalOpen = (row: unknown) => textAt(row, "Proposal.state") === "Collecting";

/** What the buyer is to get is typed in; the seller gets what is left. */
function createProposeAction(row: unknown): Action {
  const locked = (valueAt(row, "Funds") ?? []) as Funds[];
  const fields = locked.map(({ unit, amount }, i): Field => {
    const whole = formatFunds(amount, unit);
    return {
      name: `buyer.${i}`,
      label: `The buyer gets, of ${whole}`,
      as: "amount",
      unit,
      isRequired: true,
      hint: `Half is ${formatFunds(String(BigInt(amount) / 2n), unit)}. The seller gets the rest.`,
    };
  });
  return {
    name: "propose",
    label: valueAt(row, "Proposal") ? "Propose another split" : "Propose a split",
    description:
      "Makes what administrators sign. All that is locked is divided, the buyer's collateral included. A proposal before this one, and its signatures, are of no use then.",
    method: "POST",
    path: "/dispute/proposal",
    hasNetwork: true,
    fields,
    fromRow: { blockchainIdentifier: "blockchainIdentifier" },
    toBody: ({ buyer, ...rest }) => ({
      ...rest,
      ...computeSplit(locked, Object.values(buyer ?? {})),
    }),
  };
}

/** Both parts; a unit of which a part gets nothing is left out. */
export function computeSplit(locked: readonly Funds[], buyer: readonly string[]) {
  const BuyerFunds = locked.map(({ unit }, i) => ({ unit, amount: buyer[i] ?? "0" }));
  const SellerFunds = locked.map(({ unit, amount }, i) => ({
    unit,
    amount: String(BigInt(amount) - BigInt(buyer[i] ?? "0")),
  }));
  const isNonZero = ({ amount }: Funds) => amount !== "0";
  return { BuyerFunds: BuyerFunds.filter(isNonZero), SellerFunds: SellerFunds.filter(isNonZero) };
}

/** What people know a disputed escrow by: its agent, else its side, which stands beside its id or its amount. */
export const describeDispute = (row: unknown): string =>
  textAt(row, "agentName") || textAt(row, "kind");

/** Once it is possible, it stays so. */
function describeSettleTime(row: unknown): string {
  const time = Number(textAt(row, "settleFrom"));
  return time > Date.now() ? formatRelativeTime(time, Date.now()) : "now";
}

/** The disputes with each escrow once: one between two managed wallets is on both sides, so its purchase stays. */
export function listEscrowsOnce<Row>(rows: readonly Row[]): Row[] {
  const escrowOf = (row: Row) => textAt(row, "blockchainIdentifier");
  const isPurchase = (row: Row) => textAt(row, "kind") === "Purchase";
  const bought = new Set(rows.filter(isPurchase).map(escrowOf));
  return rows.filter((row) => isPurchase(row) || !bought.has(escrowOf(row)));
}

/** How many administrators have signed, and how many more must. */
function describeSignatures(row: unknown): string {
  const signed = valueAt(row, "Proposal.SignedBy") as unknown[] | undefined;
  if (!signed) return "";
  return `${signed.length} signed, ${textAt(row, "Proposal.missingSignatures")} missing`;
}

export const disputesPage: PageDefinition = {
  name: "disputes",
  title: "Disputes",
  access: "User",
  tabs: [
    {
      name: "disputes",
      title: "Disputes",
      description:
        "Escrows that both sides claim. Propose a split, and let administrators of the contract sign it. Then it is settled by itself. Or one side gives in, on the page of the escrow.",
      path: "/dispute",
      rowsMember: "Disputes",
      hasNetwork: true,
      selectRows: listEscrowsOnce,
      emptyText: "No dispute that your key can see.",
      details: [
        { heading: "Seller gets", path: "Proposal.SellerFunds", as: "funds" },
        { heading: "Buyer gets", path: "Proposal.BuyerFunds", as: "funds" },
        { heading: "Seller's address", path: "sellerAddress", as: "address" },
        { heading: "Buyer's address", path: "buyerAddress", as: "address" },
        { heading: "Administrators who may sign", path: "Proposal.Administrators", as: "code" },
        { heading: "Who signed", path: "Proposal.SignedBy", as: "code" },
      ],
      columns: [
        { heading: "Escrow", path: "kind", describe: describeDispute, second: "id" },
        { heading: "Locked", path: "Funds", as: "funds" },
        { heading: "May be settled", path: "settleFrom", describe: describeSettleTime },
        { heading: "Proposal", path: "Proposal.state", as: "tag", fallback: "None yet" },
        { heading: "Signatures", path: "Proposal.SignedBy", describe: describeSignatures },
        { heading: "Sign until", path: "Proposal.expiresAt", as: "time" },
      ],
      listRowActions: (row) =>
        /^Settle/.test(textAt(row, "Proposal.state")) ? [] : [createProposeAction(row)],
      actions: [
        {
          name: "sign",
          label: "Hand in a signature",
          description:
            "An administrator's wallet signs the proposal. A wallet of this browser has a button below. For a wallet elsewhere, copy the proposal, sign the copy, and paste the signature.",
          reads: [
            { heading: "Transaction to sign", path: "Proposal.unsignedTxCbor", as: "code" },
            { heading: "Message to sign", path: "Proposal.message", as: "code" },
            { heading: "Who may sign", path: "Proposal.Administrators", as: "code" },
          ],
          method: "POST",
          path: "/dispute/signature",
          hasNetwork: true,
          fields: [
            { name: "signature", label: "Signature (hex)", as: "long", isRequired: true },
            {
              name: "key",
              label: "Key (hex)",
              hint: "The COSE_Key that comes with a signed message; empty for a transaction.",
            },
          ],
          fromRow: { proposalId: "Proposal.id" },
          needs: "User",
          isApplicable: isProposalOpen,
          helpers: listSigningHelpers,
          shows: [
            { heading: "State", path: "state", as: "tag" },
            { heading: "Signatures missing", path: "missingSignatures" },
          ],
        },
        {
          name: "withdraw",
          label: "Take the proposal back",
          description: "Its signatures are of no use then.",
          method: "DELETE",
          path: "/dispute/proposal",
          hasNetwork: true,
          fromRow: { proposalId: "Proposal.id" },
          isApplicable: isProposalOpen,
          isFinal: true,
        },
      ],
      related: [
        {
          label: "The escrow",
          page: "payment",
          pageWhen: { at: "kind", is: "Purchase", page: "purchase" },
          id: "id",
          query: {},
        },
      ],
    },
  ],
};
