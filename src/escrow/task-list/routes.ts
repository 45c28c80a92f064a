import * as z from "zod";
import { createRouter, serve } from "../../http/endpoint.ts";
import { toEnvelope } from "../../http/envelope.ts";
import { network, reasonCode } from "../../http/openapi/chain-fields.ts";
import {
  described,
  EXAMPLE_TX_HASH,
  hexField,
  idField,
  named,
  nullableTimestampField,
  textField,
  timestampField,
} from "../../http/openapi/fields.ts";
import { pageParameters } from "../../http/openapi/parameters.ts";
import { createJsonResponse, openReadSession } from "../../http/session.ts";
import {
  EXAMPLE_BLOCKCHAIN_IDENTIFIER,
  escrowKind,
  stepName,
} from "../queries/next-step-schemas.ts";
import { listTasks, TASK_STATUSES } from "./list-tasks.ts";

const task = named(
  "Task",
  "A requested or automatic step of an escrow that is not done.",
  z.object({
    id: idField("the payment or purchase, which has one task at a time"),
    kind: described(escrowKind, "Kind of the record.", "Payment"),
    network,
    blockchainIdentifier: textField(
      "Identifier of the escrow on the chain.",
      EXAMPLE_BLOCKCHAIN_IDENTIFIER,
    ),
    step: described(
      stepName,
      "Step to take. `requestedAction` begins with its name.",
      "SubmitResult",
    ),
    status: described(
      named("TaskStatus", "Status of a task.", z.enum(TASK_STATUSES)),
      "`Waiting`: no transaction was sent yet. `UnderWay`: a transaction is pending. `NeedsPerson`: a person must decide.",
      "Waiting",
    ),
    reasonCode: described(reasonCode, "What the task waits for.", "turn"),
    reason: textField("Explanation for people.", "waits for its wallet's turn"),
    since: timestampField("Time of the request."),
    requestedById: idField("the API key that requested the step, or `automatic`"),
    notBefore: nullableTimestampField(
      "When the contract begins to allow the step. Null: no limit.",
    ),
    deadline: nullableTimestampField("When the contract ceases to allow the step. Null: no limit."),
    nextTryAt: nullableTimestampField("Time of the next try after a failure. Null: no failure."),
    failedTries: described(z.int().min(0), "Number of failed tries.", 0),
    txHash: described(
      hexField(64, "", EXAMPLE_TX_HASH).nullable(),
      "Hash of the pending transaction. Null: none.",
      EXAMPLE_TX_HASH,
    ),
    walletId: described(
      z.string().nullable(),
      "Id of the assigned wallet. Null: none yet.",
      "01m80ydypnk4jnwav628wda9nd",
    ),
    resultHash: described(
      hexField(64, "", EXAMPLE_TX_HASH).nullable(),
      "Hash of the result to submit. Null: another step.",
      EXAMPLE_TX_HASH,
    ),
  }),
);

/** `GET /task`: what is waiting, for what, until when. */
export function createTaskRoutes() {
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
      summary: "Lists waiting and pending steps of escrows, newest escrow first",
      query: z.object({ ...pageParameters, network }),
      data: z.object({ Tasks: described(z.array(task), "The tasks.") }),
    },
    async (c, { query }) => {
      const { caller } = c.var;
      const session = openReadSession(c, query.network);
      const Tasks = await listTasks(session, { ...query, scope: caller.scope }, Date.now());
      return createJsonResponse(c, JSON.stringify(toEnvelope({ Tasks })), session);
    },
  );
  return router;
}
