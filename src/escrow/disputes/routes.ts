import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { envelope } from "../../http/envelope.ts";
import { described } from "../../http/openapi/fields.ts";
import { network } from "../../http/openapi/ledger.ts";
import { page } from "../../http/openapi/parameters.ts";
import { readSession, textAnswer } from "../../http/session.ts";
import { addSignature } from "./add-signature.ts";
import { listDisputes, toProposalResponse as shown } from "./list-disputes.ts";
import { proposeSettlement } from "./propose-settlement.ts";
import {
  disputeResponse,
  proposalBody,
  proposalResponse,
  revealBody,
  revealResponse,
  signatureBody,
  withdrawalBody,
} from "./schemas.ts";
import { verifyReveal } from "./verify-reveal.ts";
import { withdrawProposal } from "./withdraw-proposal.ts";

const TAG = "Disputes";

/** Disputes, which the contract's administrators settle. */
export function disputeRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/dispute",
      operationId: "listDisputes",
      access: "User",
      scope: "wallets",
      isConditional: true,
      takesBookmark: true,
      tag: TAG,
      summary: "Lists disputed payments and purchases, newest first",
      description: "A key sees its own; Admins see all.",
      query: z.object({ ...page, network }),
      data: z.object({ Disputes: described(z.array(disputeResponse), "The disputes.") }),
    },
    async (c, { query }) => {
      const { caller } = c.var;
      const session = readSession(c, query.network);
      const Disputes = await listDisputes(session, caller, query);
      return textAnswer(c, JSON.stringify(envelope({ Disputes })), session);
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/dispute/proposal",
      operationId: "proposeSettlement",
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Proposes how a dispute is settled",
      description:
        "Answers what administrators sign: on Web3ChainV2 a `message`, on Web3ChainV1 a transaction, `unsignedTxCbor`, which is valid for a day; it can be made from 12 hours before `settleFrom` on. Another proposal for the same escrow takes the place of the first, whose signatures are of no use then.",
      body: proposalBody,
      data: proposalResponse,
      errors: {
        404: "There is no such escrow.",
        409: "It is not disputed, or being settled already, or it is too early.",
      },
    },
    async (c, { body }) => shown(await proposeSettlement(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "delete",
      path: "/dispute/proposal",
      operationId: "withdrawSettlement",
      access: "Admin",
      scope: "admin",
      tag: TAG,
      summary: "Takes a proposal back",
      description:
        "Its signatures are of no use then, and what a wallet set aside for it is free. Asked again, it answers the same.",
      body: withdrawalBody,
      data: proposalResponse,
      errors: {
        404: "There is no such proposal.",
        409: "It is being settled already, or over.",
      },
    },
    async (c, { body }) => shown(await withdrawProposal(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "post",
      path: "/dispute/signature",
      operationId: "signSettlement",
      access: "User",
      scope: "wallets",
      tag: TAG,
      summary: "Hands in an administrator's signature of a proposal",
      description:
        "Whoever hands it in: the signature is the proof. With enough of them a wallet of the service settles the dispute as soon as the contract allows it.",
      body: signatureBody,
      data: proposalResponse,
      errors: {
        404: "There is no such proposal.",
        409: "It was replaced, or is being settled already.",
      },
    },
    async (c, { body }) => shown(await addSignature(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "post",
      path: "/signature/verify/reveal-data",
      operationId: "verifyRevealData",
      access: "User",
      scope: "wallets",
      names: { walletAddress: "proved" },
      tag: TAG,
      summary: "Tells an agent whether an administrator asks for the data of a disputed job",
      description:
        "The administrator signs the canonical JSON of `action`, `blockchainIdentifier` and `validUntil`: keys in this order, without white space. It reveals nothing itself.",
      body: revealBody,
      data: revealResponse,
      errors: { 404: "There is no such payment." },
    },
    (c, { body }) => verifyReveal(c, body, Date.now()),
  );

  return router;
}
