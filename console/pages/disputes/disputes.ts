/** Disputes, which administrators of the contract settle: how far each is, and what can be done. */
import { amountText, unitText } from "../../ui/format.ts";
import { at, textAt } from "../../ui/path.ts";
import type { Action, Field, Page } from "../../ui/resource.ts";
import { browserWallets } from "./browser-wallets.ts";

interface Funds {
  unit: string;
  amount: string;
}

const isOpen = (row: unknown) => textAt(row, "Proposal.state") === "Collecting";

/** What the buyer is to get is typed in; the seller gets what is left. */
function propose(row: unknown): Action {
  const locked = (at(row, "Funds") ?? []) as Funds[];
  const fields = locked.map(({ unit, amount }, i): Field => {
    const whole = amountText(amount, unit);
    return {
      name: `buyer.${i}`,
      label: `The buyer gets, of ${whole} ${unitText(unit)}`,
      as: "amount",
      unit,
      isRequired: true,
      initial: "0",
      hint: "The seller gets the rest.",
    };
  });
  return {
    name: "propose",
    label: at(row, "Proposal") ? "Propose another split" : "Propose a split",
    about:
      "Makes what administrators sign. All that is locked is divided, the buyer's collateral included. A proposal before this one, and its signatures, are of no use then.",
    method: "POST",
    path: "/dispute/proposal",
    hasNetwork: true,
    fields,
    fromRow: { blockchainIdentifier: "blockchainIdentifier" },
    toBody: ({ buyer, ...rest }) => ({ ...rest, ...splitOf(locked, Object.values(buyer ?? {})) }),
  };
}

/** Both parts; a unit of which a part gets nothing is left out. */
export function splitOf(locked: readonly Funds[], buyer: readonly string[]) {
  const BuyerFunds = locked.map(({ unit }, i) => ({ unit, amount: buyer[i] ?? "0" }));
  const SellerFunds = locked.map(({ unit, amount }, i) => ({
    unit,
    amount: String(BigInt(amount) - BigInt(buyer[i] ?? "0")),
  }));
  const given = ({ amount }: Funds) => amount !== "0";
  return { BuyerFunds: BuyerFunds.filter(given), SellerFunds: SellerFunds.filter(given) };
}

export const disputes: Page = {
  name: "disputes",
  title: "Disputes",
  needs: "User",
  tabs: [
    {
      name: "disputes",
      title: "Disputes",
      about:
        "Escrows that both sides claim. Either side can give in, on the escrow's own page; or administrators of the contract agree on a split: propose one here, have each sign it, and it is settled by itself as soon as the contract allows it.",
      path: "/dispute",
      rows: "Disputes",
      hasNetwork: true,
      empty: "Nothing is disputed.",
      columns: [
        { head: "Escrow", at: "id" },
        { head: "Of a", at: "kind" },
        { head: "Locked", at: "Funds", as: "funds" },
        { head: "Seller", at: "sellerAddress", as: "code" },
        { head: "Buyer", at: "buyerAddress", as: "code" },
        { head: "May be settled", at: "settleFrom", as: "time" },
        { head: "Proposal", at: "Proposal.state", as: "tag" },
        { head: "Signed by", at: "Proposal.SignedBy", as: "count" },
        { head: "Signatures missing", at: "Proposal.missingSignatures" },
        { head: "Sign until", at: "Proposal.expiresAt", as: "time" },
      ],
      actionsOf: (row) => (/^Settle/.test(textAt(row, "Proposal.state")) ? [] : [propose(row)]),
      actions: [
        {
          name: "sign",
          label: "Hand in a signature",
          about:
            "An administrator's wallet signs the proposal's message (Web3ChainV2) or transaction (Web3ChainV1). Sign with a wallet of this browser, or paste what one answered elsewhere.",
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
          when: isOpen,
          helpers: browserWallets,
          shows: [
            { head: "State", at: "state", as: "tag" },
            { head: "Signatures missing", at: "missingSignatures" },
          ],
        },
        {
          name: "withdraw",
          label: "Take the proposal back",
          about: "Its signatures are of no use then.",
          method: "DELETE",
          path: "/dispute/proposal",
          hasNetwork: true,
          fromRow: { proposalId: "Proposal.id" },
          when: isOpen,
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
