import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { envelope } from "../../http/envelope.ts";
import {
  answerText,
  described,
  hexText,
  named,
  recordId,
  TX_HASH,
  timestamp,
} from "../../http/openapi/fields.ts";
import { network, reasonCode } from "../../http/openapi/ledger.ts";
import { page } from "../../http/openapi/parameters.ts";
import { readSession, textAnswer } from "../../http/session.ts";
import { escrowKind, IDENTIFIER, stepName } from "../queries/next-schemas.ts";
import { listTasks, TASK_STATUSES } from "./list-tasks.ts";

const maybeTime = (what: string) => described(timestamp("").nullable(), what);

const task = named(
  "Task",
  "A step of an escrow that was requested or is automatic, and is not done.",
  z.object({
    id: recordId("the payment or purchase: it has one task at a time"),
    kind: described(escrowKind, "Which of the two it is.", "Payment"),
    network,
    blockchainIdentifier: answerText("Names the escrow.", IDENTIFIER),
    step: described(
      stepName,
      "What is to be done; `requestedAction` begins with it.",
      "SubmitResult",
    ),
    status: described(
      named("TaskStatus", "How far a task is.", z.enum(TASK_STATUSES)),
      "`Waiting`: nothing is sent yet. `UnderWay`: a transaction is. `NeedsPerson`: it needs a person's decision.",
      "Waiting",
    ),
    reasonCode: described(reasonCode, "What it waits for.", "turn"),
    reason: answerText("The same for people.", "waits for its wallet's turn"),
    since: timestamp("When it was requested."),
    requestedById: recordId("the API key that requested it; `automatic`: the service did"),
    notBefore: maybeTime("From when the contract allows it; null: nothing binds it."),
    deadline: maybeTime("Until when the contract allows it; null: for ever."),
    nextTryAt: maybeTime("When it is tried again after a try that failed; null: none did."),
    failedTries: described(z.int().min(0), "How many tries failed.", 0),
    txHash: described(
      hexText(64, "", TX_HASH).nullable(),
      "The transaction under way; null: none is.",
      TX_HASH,
    ),
    walletId: described(
      z.string().nullable(),
      "Id of the wallet that does it; null: none was chosen yet.",
      "01m80ydypnk4jnwav628wda9nd",
    ),
    resultHash: described(
      hexText(64, "", TX_HASH).nullable(),
      "The result that is to be submitted; null of other steps.",
      TX_HASH,
    ),
  }),
);

/** `GET /task`: what is waiting, for what, until when. */
export function taskRoutes() {
  const router = createRouter();
  serve(
    router,
    {
      method: "get",
      path: "/task",
      operationId: "listTasks",
      access: "User",
      scope: "wallets",
      isConditional: true,
      takesBookmark: true,
      tag: "Tasks",
      summary: "Lists the steps of escrows that are waiting or under way, newest escrows first",
      query: z.object({ ...page, network }),
      data: z.object({ Tasks: described(z.array(task), "The tasks.") }),
    },
    async (c, { query }) => {
      const { caller } = c.var;
      const session = readSession(c, query.network);
      const Tasks = await listTasks(session, { ...query, scope: caller.scope }, Date.now());
      return textAnswer(c, JSON.stringify(envelope({ Tasks })), session);
    },
  );
  return router;
}
