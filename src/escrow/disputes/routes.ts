import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { toEnvelope } from "../../http/envelope.ts";
import { network } from "../../http/openapi/chain-fields.ts";
import { described } from "../../http/openapi/fields.ts";
import { pageParameters } from "../../http/openapi/parameters.ts";
import { createJsonResponse, openReadSession } from "../../http/session.ts";
import { addSignature } from "./add-signature.ts";
import { listDisputes, toProposalResponse } from "./list-disputes.ts";
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

const ADMIN = { access: "Admin", scope: "admin", tag: "Disputes" } as const;
const USER = { access: "User", scope: "wallets", tag: "Disputes" } as const;

/** Disputes, which the contract's administrators settle. */
export function createDisputeRoutes() {
  const router = createRouter();

  serve(
    router,
    {
      method: "get",
      path: "/dispute",
      operationId: "listDisputes",
      ...USER,
      isConditional: true,
      takesBookmark: true,
      summary: "Lists disputed payments and purchases, newest first",
      description: "A key sees its own disputes; an Admin sees all.",
      query: z.object({ ...pageParameters, network }),
      data: z.object({ Disputes: described(z.array(disputeResponse), "The disputes.") }),
    },
    async (c, { query }) => {
      const { caller } = c.var;
      const session = openReadSession(c, query.network);
      const Disputes = await listDisputes(session, caller, query);
      return createJsonResponse(c, JSON.stringify(toEnvelope({ Disputes })), session);
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/dispute/proposal",
      operationId: "proposeSettlement",
      ...ADMIN,
      summary: "Proposes the settlement of a dispute",
      description:
        "Returns what administrators sign. On Web3ChainV2: `message`. On Web3ChainV1: the transaction `unsignedTxCbor`, available from 12 hours before `settleFrom` and valid for a day. Another proposal for the escrow replaces this proposal and voids its signatures.",
      body: proposalBody,
      data: proposalResponse,
      errors: {
        404: "There is no such escrow.",
        409: "The escrow is not disputed, its settlement has begun, or the proposal is too early.",
      },
    },
    async (c, { body }) => toProposalResponse(await proposeSettlement(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "delete",
      path: "/dispute/proposal",
      operationId: "withdrawSettlement",
      ...ADMIN,
      summary: "Withdraws a proposal",
      description:
        "This voids the signatures and frees the wallet's reserved outputs. A repeated call returns the same response.",
      body: withdrawalBody,
      data: proposalResponse,
      errors: {
        404: "There is no such proposal.",
        409: "The settlement has begun, or the proposal has ended.",
      },
    },
    async (c, { body }) => toProposalResponse(await withdrawProposal(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "post",
      path: "/dispute/signature",
      operationId: "signSettlement",
      ...USER,
      summary: "Submits an administrator's signature of a proposal",
      description:
        "Any key may submit the signature. With enough signatures, a wallet of the service settles the dispute as soon as the contract allows.",
      body: signatureBody,
      data: proposalResponse,
      errors: {
        404: "There is no such proposal.",
        409: "The proposal has ended, or its settlement has begun.",
      },
    },
    async (c, { body }) => toProposalResponse(await addSignature(c, body, Date.now())),
  );

  serve(
    router,
    {
      method: "post",
      path: "/signature/verify/reveal-data",
      operationId: "verifyRevealData",
      ...USER,
      names: { walletAddress: "proved" },
      summary: "Verifies an administrator's request for the data of a disputed job",
      description:
        "The administrator signs the canonical JSON of `action`, `blockchainIdentifier` and `validUntil`: keys in this order, without white space. The service itself reveals nothing.",
      body: revealBody,
      data: revealResponse,
      errors: { 404: "There is no such payment." },
    },
    (c, { body }) => verifyReveal(c, body, Date.now()),
  );

  return router;
}
