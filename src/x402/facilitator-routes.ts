import { z } from "@hono/zod-openapi";
import { permitNetwork } from "../http/authenticate.ts";
import type { AppContext } from "../http/context.ts";
import type { createRouter } from "../http/endpoint.ts";
import { serve } from "../http/endpoint.ts";
import { listNetworks } from "./network-settings.ts";
import {
  caip2,
  evmAddress,
  paymentPayload,
  paymentRequirements,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
} from "./schemas.ts";
import { orderOf, settleOrder, throwRefusal } from "./settle.ts";
import type { SettleOrder } from "./settlement.ts";
import { verifyOrder } from "./verify-order.ts";

const SETTLE_DEADLINE_MS = 30_000;

const facilitatorBody = z.object({
  x402Version: z
    .unknown()
    .optional()
    .openapi({ description: "Default: that of the payment payload." }),
  paymentPayload: z.unknown(),
  paymentRequirements: z.unknown(),
});
type FacilitatorBody = z.output<typeof facilitatorBody>;

const verifyAnswer = z.object({
  isValid: z.boolean(),
  invalidReason: z.string().optional(),
  invalidMessage: z.string().optional(),
  payer: z.string().optional(),
});

const settleAnswer = z.object({
  success: z.boolean(),
  errorReason: z.string().optional(),
  errorMessage: z.string().optional(),
  payer: z.string().optional(),
  transaction: z.string(),
  network: z.string(),
  amount: z.string().optional(),
});

const ERRORS = {
  404: "The network cannot settle.",
  409: "The authorization belongs to another attempt, which is named.",
  502: "The RPC node failed.",
  504: "The RPC node did not answer in time.",
};

/** The interface of an x402 facilitator, for any resource server (x402 v2, specification §7). */
export function facilitatorRoutes(router: ReturnType<typeof createRouter>): void {
  serve(
    router,
    {
      method: "get",
      path: "/x402/facilitator/supported",
      access: "+PAY",
      tag: "x402 facilitator",
      summary: "Lists the kinds of payment that are settled here",
      isPlain: true,
      data: z.object({
        kinds: z.array(
          z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() }),
        ),
        extensions: z.array(z.string()),
        signers: z.record(z.string(), z.array(z.string())),
      }),
    },
    async (c) => {
      const { networkLimit } = c.var.caller;
      const networks = (await listNetworks(c.env, c.var.deadline)).filter(
        ({ isEnabled, facilitatorWalletAddress, caip2Id }) =>
          isEnabled &&
          facilitatorWalletAddress !== null &&
          (networkLimit?.includes(caip2Id) ?? true),
      );
      const signers = networks.map(
        ({ facilitatorWalletAddress }) => facilitatorWalletAddress ?? "",
      );
      return {
        kinds: networks.map(({ caip2Id }) => ({
          x402Version: 2,
          scheme: "exact",
          network: caip2Id,
        })),
        extensions: [],
        signers: { "eip155:*": [...new Set(signers)] },
      };
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/facilitator/verify",
      access: "+PAY",
      tag: "x402 facilitator",
      summary: "Tells whether a payment would settle",
      isPlain: true,
      body: facilitatorBody,
      data: verifyAnswer,
      errors: ERRORS,
    },
    async (c, { body }) => {
      const now = Date.now();
      const order = await facilitatorOrder(c, body, now);
      if ("reason" in order)
        return { isValid: false, invalidReason: order.reason, invalidMessage: order.message };
      const { isValid, payer, invalidReason, invalidMessage } = await verifyOrder(c, order, now);
      return {
        isValid,
        ...(payer !== null && { payer }),
        ...(invalidReason !== null && { invalidReason }),
        ...(invalidMessage !== null && { invalidMessage }),
      };
    },
  );

  serve(
    router,
    {
      method: "post",
      path: "/x402/facilitator/settle",
      access: "+PAY",
      tag: "x402 facilitator",
      summary: "Settles a payment",
      description:
        "Success is told once per payment: a repeat answers `duplicate_settlement` with the hash, so that one payment never pays for two answers of a resource server.",
      isPlain: true,
      body: facilitatorBody,
      data: settleAnswer,
      errors: { ...ERRORS, 402: "The API key has no usage credits left." },
      deadlineMs: SETTLE_DEADLINE_MS,
    },
    async (c, { body }) => {
      const now = Date.now();
      const order = await facilitatorOrder(c, body, now);
      if ("reason" in order)
        return {
          success: false,
          errorReason: order.reason,
          errorMessage: order.message,
          transaction: "",
          network: order.network,
        };
      return settleAnswerOf(order, await settleOrder(c, order, now));
    },
  );
}

function settleAnswerOf(order: SettleOrder, answer: Awaited<ReturnType<typeof settleOrder>>) {
  throwRefusal(answer);
  const { transaction, payer, first, kind } = answer;
  const { network, amount } = order.requirements;
  const isDuplicate = kind === "settled" && !first;
  const errorReason = isDuplicate ? "duplicate_settlement" : answer.errorReason;
  const errorMessage = isDuplicate
    ? `The payment was settled by the attempt ${answer.attemptId}, and its success was told before`
    : answer.errorMessage;
  return {
    success: kind === "settled" && first,
    transaction,
    network,
    amount,
    ...(payer !== null && { payer }),
    ...(errorReason !== null && { errorReason }),
    ...(errorMessage !== null && { errorMessage }),
  };
}

const strictRequirements = paymentRequirements.extend({
  network: caip2,
  asset: tokenAddress,
  payTo: evmAddress,
  amount: tokenAmount(),
  maxTimeoutSeconds: timeoutSeconds,
});

/** Why a body is no order; the reasons are those of the x402 specification §9. */
interface Malformed {
  reason: string;
  message: string;
  network: string;
}

async function facilitatorOrder(
  c: AppContext,
  body: FacilitatorBody,
  now: number,
): Promise<SettleOrder | Malformed> {
  const network = networkIn(body.paymentRequirements);
  const malformed = (reason: string, message: string): Malformed => ({ reason, message, network });
  const payload = paymentPayload.safeParse(body.paymentPayload);
  if ((body.x402Version ?? 2) !== 2)
    return malformed("invalid_x402_version", "x402Version: must be 2");
  if (!payload.success) return malformed("invalid_payload", problems(payload.error));
  if (payload.data.x402Version !== 2)
    return malformed("invalid_x402_version", "paymentPayload.x402Version: must be 2");
  const loose = paymentRequirements.safeParse(body.paymentRequirements);
  if (!loose.success) return malformed("invalid_payment_requirements", problems(loose.error));
  if (loose.data.scheme !== "exact")
    return malformed("unsupported_scheme", "paymentRequirements.scheme: must be exact");
  if (!caip2.safeParse(loose.data.network).success)
    return malformed("invalid_network", "paymentRequirements.network: must be an EVM chain");
  const requirements = strictRequirements.safeParse(loose.data);
  if (!requirements.success)
    return malformed("invalid_payment_requirements", problems(requirements.error));
  permitNetwork(c.var.caller, requirements.data.network);
  return orderOf(c, payload.data, requirements.data, null, now);
}

function networkIn(requirements: unknown): string {
  const { network } = z.object({ network: z.string() }).safeParse(requirements).data ?? {};
  return network ?? "";
}

function problems(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.join(".")}: ${message}`)
    .join("; ");
}
