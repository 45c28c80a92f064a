/** What making one invoice costs: CPU of workerd for the whole request, D1 included. */
import {
  type BenchContext,
  type BenchService,
  call,
  startBenchService,
} from "./support/service.ts";
import type { Row } from "./support/table.ts";

const MONTH = "2025-09";
const IN_MONTH_S = Date.UTC(2025, 8, 12) / 1000;
const LINES = [1, 100, 200];
/** CPU milliseconds that an invoice of 100 lines may cost, set and rendered from scratch. */
const LIMIT = { lines: 100, ms: 400 };
const SELLER_VKEY = "22".repeat(28);
const PARTY = {
  country: "DE",
  city: "Łódź",
  zipCode: "10115",
  street: "Straße",
  streetNumber: "2",
  companyName: "Zażółć GmbH",
  vatNumber: "DE123456789",
};

/**
 * Requests the invoices of buyers who each bought once from so many agents. The first invoice also
 * loads the code and the fonts, and has its own row.
 */
export async function benchInvoices(context: BenchContext): Promise<Row[]> {
  const rounds = context.quick ? 2 : 20;
  const service = await startBenchService(context);
  try {
    const rows: Row[] = [await measure(service, { name: "first of all", lines: 1, rounds: 1 })];
    for (const lines of LINES)
      rows.push(await measure(service, { name: "later ones", lines, rounds }));
    const atLimit = rows.find(({ lines }) => lines === LIMIT.lines);
    context.limits.timed(
      Number(atLimit?.["CPU ms"]) > LIMIT.ms
        ? `an invoice of ${LIMIT.lines} lines is above its limit of ${LIMIT.ms} ms`
        : null,
    );
    return rows;
  } finally {
    await service.host.close();
  }
}

interface Case {
  name: string;
  lines: number;
  rounds: number;
}

let buyers = 0;

async function measure(service: BenchService, { name, lines, rounds }: Case): Promise<Row> {
  const vkeys = Array.from({ length: rounds }, () => (++buyers).toString(16).padStart(56, "0"));
  for (const vkey of vkeys) await insertPayments(service, vkey, lines);
  const cpuBefore = service.cpuMs();
  const begun = performance.now();
  let bytes = 0;
  for (const buyerWalletVkey of vkeys) {
    const { invoice } = await call<{ invoice: string }>(
      service,
      "/api/v1/invoice/monthly/internal",
      {
        method: "POST",
        body: {
          network: "Preprod",
          buyerWalletVkey,
          month: MONTH,
          invoiceCurrency: "eur",
          CurrencyConversion: { "": 0.00000045 },
          vatRate: 0.19,
          Seller: PARTY,
          Buyer: PARTY,
        },
      },
    );
    bytes = Buffer.from(invoice, "base64").length;
  }
  return {
    invoice: name,
    lines,
    "CPU ms": (service.cpuMs() - cpuBefore) / rounds,
    "elapsed ms": (performance.now() - begun) / rounds,
    "PDF bytes": bytes,
  };
}

/**
 * Withdrawn payments, each to a different agent. Only the columns that billing reads equal those of
 * the sync.
 */
async function insertPayments({ host }: BenchService, buyerVkey: string, count: number) {
  const payments = Array.from({ length: count }, (_, index) => ({
    agentIdentifier: index.toString(16).padStart(60, "a"),
    funds: [{ unit: "", amount: String(1_000_000 + index) }],
  }));
  await host.d1
    .prepare(
      `INSERT INTO escrow (id, side, network, source_id, source_type, contract_address, policy_id,
         blockchain_identifier, identifier_hash, requested_by_id, agent_identifier, pricing_type,
         input_hash, pay_by_time, submit_result_time, unlock_time, external_dispute_unlock_time,
         buyer_vkey, seller, seller_vkey, funds, on_chain_state, result_hash, buyer_cooldown,
         seller_cooldown, buyer_fees, seller_fees, withdrawn_for_seller, withdrawn_for_buyer, lock,
         block_time, created_at, updated_at, chain_changed_at, action_changed_at, changed_at, sequence, revision,
         requested_action)
       SELECT ?1 || key, 'payment', 'Preprod', 'bench', 'Web3ChainV1', '', '', '', ?1 || key, '',
         value->>'agentIdentifier', 'Fixed', '', '0', '0', '0', '0', ?1, '', ?2, value->'funds',
         'Withdrawn', '', '0', '0', '0', '0', '[]', '[]', '{}', ?4, 0, 0, 0, 0, 0, 0, 0, 'None'
       FROM json_each(?3)`,
    )
    .bind(buyerVkey, SELLER_VKEY, JSON.stringify(payments), IN_MONTH_S)
    .run();
}
