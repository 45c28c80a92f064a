/** Each check of POST /purchase, in its order, by status and message. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { formatAddress } from "../../../src/chain/address.ts";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  type IdentifierSegments,
} from "../../../src/chain/contracts/blockchain-identifier.ts";
import { emptyTables } from "../../support/app.ts";
import { sampled } from "../../support/effort.ts";
import { PurchaseFixture } from "../../support/escrow/purchase-fixture.ts";
import {
  agentMetadata,
  FIXED,
  HOUR,
  QuoteFixture,
  type Shown,
} from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const TYPES = [V1, V2] as const;
const TOKEN = `${"ab".repeat(28)}746f6b656e`;
const MINUTE = 60_000;

beforeEach(emptyTables);

const refused = (status: number, message: string | RegExp) => ({
  status,
  message: typeof message === "string" ? message : expect.stringMatching(message),
});

const inMinutes = (minutes: number) => String(Date.now() + minutes * MINUTE);

/** A quote's identifier with other parts. */
function spoilt(quote: Shown, parts: (known: IdentifierSegments) => Partial<IdentifierSegments>) {
  const known = decodeBlockchainIdentifier(quote.blockchainIdentifier);
  if (!known) throw new Error("not an identifier");
  return encodeBlockchainIdentifier({ ...known, ...parts(known) });
}

const lastDigit = (hex: string) => (hex.endsWith("0") ? "1" : "0");
const withOtherEnd = (hex: string) => hex.slice(0, -1) + lastDigit(hex);

describe.each(sampled(2, TYPES))("POST /purchase of a quote of %s refuses", (type) => {
  it("what the key, the identifier or the service does not have", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const token = await insertKey({ canPay: true, networkLimit: ["Mainnet"] });
    expect(await fixture.purchase(quote, {}, { token })).toMatchObject(
      refused(403, "network: the API key is not valid for Preprod"),
    );
    const { blockchainIdentifier } = quote;
    const other = type === V1 ? V2 : V1;
    const contractAddress = formatAddress({
      network: "Preprod",
      payment: { kind: "script", hash: "ab".repeat(28) },
      stake: null,
    });
    const cases: [Record<string, unknown>, number, string | RegExp][] = [
      [
        { blockchainIdentifier: "00" },
        400,
        "blockchainIdentifier: is not the identifier of an escrow",
      ],
      [
        { blockchainIdentifier: `${blockchainIdentifier}0000` },
        400,
        "blockchainIdentifier: is not in the encoding of the chain",
      ],
      [
        { paymentSourceType: other },
        400,
        `paymentSourceType: must be ${type}, the type in blockchainIdentifier`,
      ],
      [
        { agentIdentifier: "ab".repeat(60) },
        404,
        /^agentIdentifier: no payment source of Web3ChainV. has this agent's policy/,
      ],
      [{ paymentForceLayer: "L1" }, 400, /^paymentForceLayer: must be null/],
    ];
    if (type === V1)
      cases.push([
        { supportedPaymentSourceIndex: 0 },
        400,
        "supportedPaymentSourceIndex: must be omitted for an agent of Web3ChainV1",
      ]);
    else
      cases.push(
        [
          { smartContractAddress: contractAddress },
          400,
          "smartContractAddress: must be the contract in blockchainIdentifier",
        ],
        [
          { blockchainIdentifier: spoilt(quote, () => ({ contractAddress })) },
          404,
          /has this agent's policy and the contract of blockchainIdentifier$/,
        ],
      );
    for (const [wrong, status, message] of cases)
      expect(await fixture.purchase(quote, wrong)).toMatchObject(refused(status, message));
    expect((await fixture.purchase(quote, { paymentSourceType: type })).status).toBe(200);
  });

  it("times that leave somebody no time to act", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const times = {
      payByTime: inMinutes(3),
      submitResultTime: inMinutes(20),
      unlockTime: inMinutes(70),
      externalDisputeUnlockTime: inMinutes(90),
    };
    const cases: [Partial<typeof times>, RegExp][] = [
      [{ payByTime: inMinutes(16) }, /^payByTime: must be at most 5 minutes before submitResult/],
      [
        { payByTime: inMinutes(1) },
        /^payByTime: must be at least 2 minutes ahead, from .*Z on; the quote has expired: request another$/,
      ],
      [{ payByTime: inMinutes(-1) }, /^payByTime: must be at least 2 minutes ahead/],
      [
        { externalDisputeUnlockTime: inMinutes(84) },
        /^externalDisputeUnlockTime: must be at least 15 minutes after unlockTime/,
      ],
      [
        { submitResultTime: inMinutes(14) },
        /^submitResultTime: must be at least 15 minutes ahead, from .*Z on; the quote has expired: request another$/,
      ],
      [{ submitResultTime: inMinutes(56) }, /^submitResultTime: must be at most 15 minutes before/],
      [
        { externalDisputeUnlockTime: inMinutes(366 * 24 * 60) },
        /^externalDisputeUnlockTime: must be at most a year ahead/,
      ],
    ];
    for (const [wrong, message] of cases) {
      const answer = await fixture.purchase(quote, { ...times, ...wrong });
      expect(answer).toMatchObject(refused(400, message));
      const isExpired = answer.message.includes("the quote has expired");
      const code = isExpired ? "quote_expired" : "invalid_request";
      expect(answer).toMatchObject({ json: { error: { code } } });
    }
    // Each time was signed.
    for (const name of Object.keys(times))
      expect(
        await fixture.purchase(quote, { [name]: String(Number(quote[name]) + 1) }),
        name,
      ).toMatchObject(refused(400, "blockchainIdentifier: the seller signed other terms"));
  });

  it("agents that nobody holds, another wallet holds, or that say nothing", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const { quotes } = fixture;
    const burned = await quotes.agent();
    await quotes.fixture.chain.act([{ do: "burn", on: "agent-1" }]);
    expect(await fixture.purchase(quote, { agentIdentifier: burned })).toMatchObject(
      refused(404, "agentIdentifier: no wallet holds this agent's token"),
    );
    const strange = await quotes.agent(undefined, { holder: "stranger" });
    expect(await fixture.purchase(quote, { agentIdentifier: strange })).toMatchObject(
      refused(400, "sellerVkey: another wallet holds the agent's token"),
    );
    const mute = await quotes.agent(undefined, { metadata: { name: "nothing more" } });
    expect(await fixture.purchase(quote, { agentIdentifier: mute })).toMatchObject(
      refused(404, /^agentIdentifier: the token's metadata cannot be read: metadata_version/),
    );
  });

  it("a price that is not the agent's", async () => {
    const fixture = await PurchaseFixture.open(type);
    const fixed = await fixture.quote();
    const prices = [
      [{ unit: "", amount: "5000001" }],
      [{ unit: TOKEN, amount: "5000000" }],
      [
        { unit: "", amount: "5000000" },
        { unit: TOKEN, amount: "1" },
      ],
      [],
    ];
    for (const Amounts of prices)
      expect(await fixture.purchase(fixed, { Amounts })).toMatchObject(
        refused(400, "Amounts: must be the agent's fixed price: 5000000 of the native coin"),
      );

    const free = await fixture.quotes.agent({ pricingType: "Free" });
    expect(await fixture.purchase(fixed, { agentIdentifier: free })).toMatchObject(
      refused(400, "agentIdentifier: the agent accepts no payments"),
    );

    const inAda = [{ unit: "ada", amount: "5000000" }];
    const odd = await fixture.quotes.agent({ pricingType: "Fixed", prices: inAda });
    for (const path of ["/purchase", "/purchase/verify"]) {
      const body = fixture.body(fixed, { agentIdentifier: odd });
      expect(await fixture.ask(path, body)).toMatchObject(
        refused(400, /^agentIdentifier: the price is in "ada", which is no unit of the ledger/),
      );
      expect(await fixture.ask(path, { ...body, Amounts: inAda })).toMatchObject(
        refused(400, /^Amounts\[0\]\.unit: must be "" for the native coin, .* not "ada"$/),
      );
    }

    await fixture.quotes.agent({ pricingType: "Dynamic" });
    const asked = [
      { unit: "", amount: "3000000" },
      { unit: TOKEN, amount: "7" },
    ];
    const dynamic = await fixture.quote({ RequestedFunds: asked });
    for (const Amounts of [[], null, undefined])
      expect(await fixture.purchase(dynamic, { Amounts })).toMatchObject(
        refused(400, "Amounts: is required, since the agent's price is dynamic"),
      );
    const twice = [...asked, { unit: "lovelace", amount: "1" }];
    expect(await fixture.purchase(dynamic, { Amounts: twice })).toMatchObject(
      refused(400, "Amounts[2].unit: must not be repeated"),
    );
    for (const Amounts of [asked.slice(0, 1), asked.toReversed()])
      expect(await fixture.purchase(dynamic, { Amounts })).toMatchObject(
        refused(400, "blockchainIdentifier: the seller signed other terms"),
      );
    const named = asked.map(({ unit, amount }) => ({ unit: unit || "lovelace", amount }));
    expect((await fixture.purchase(dynamic, { Amounts: named })).status).toBe(200);
  });
});

// A short run takes the other generation here.
describe.each(sampled(2, TYPES, 1))("POST /purchase of a quote of %s refuses", (type) => {
  it("what the seller has not signed", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const another = await fixture.quotes.agent();
    const others = await fixture.quote();
    const cases: [Record<string, unknown>, string | RegExp][] = [
      [
        { identifierFromPurchaser: "0123456789abcdef0124" },
        "identifierFromPurchaser: must be the identifier in blockchainIdentifier",
      ],
      [{ agentIdentifier: another }, "agentIdentifier: must be the agent in blockchainIdentifier"],
      [{ inputHash: "00".repeat(32) }, "blockchainIdentifier: the seller signed other terms"],
      [
        {
          blockchainIdentifier: spoilt(quote, ({ signature }) => ({
            signature: withOtherEnd(signature),
          })),
        },
        "blockchainIdentifier: the seller's signature is invalid",
      ],
      [
        { blockchainIdentifier: spoilt(quote, () => ({ signature: "00" })) },
        "blockchainIdentifier: the seller's signature is not COSE",
      ],
      [
        {
          blockchainIdentifier: spoilt(quote, ({ key }) => ({ key: withOtherEnd(key) })),
        },
        "blockchainIdentifier: the signing key is not the seller's",
      ],
      [
        {
          blockchainIdentifier: spoilt(quote, ({ sellerId }) => ({
            sellerId: `${"00".repeat(32)}${sellerId.slice(64)}`,
          })),
        },
        "blockchainIdentifier: the seller signed other terms",
      ],
      [
        { blockchainIdentifier: others.blockchainIdentifier },
        "agentIdentifier: must be the agent in blockchainIdentifier",
      ],
    ];
    if (type === V2)
      cases.push(
        [
          { sellerReturnAddress: fixture.buyer.address },
          "blockchainIdentifier: the seller signed other terms",
        ],
        [
          { supportedPaymentSourceIndex: undefined, inputHash: "00".repeat(32) },
          "blockchainIdentifier: the seller signed other terms",
        ],
        [
          { sellerReturnAddress: fixture.quotes.fixture.contract.address },
          "sellerReturnAddress: must have a payment key",
        ],
      );
    for (const [wrong, message] of cases)
      expect(await fixture.purchase(quote, wrong), JSON.stringify(message)).toMatchObject(
        refused(400, message),
      );
    expect(await fixture.purchases()).toEqual([]);
  });

  it("refunds for an address that is not a purchasing wallet's, unless an Admin asks", async () => {
    const fixture = await PurchaseFixture.open(type);
    const token = await insertKey({ canPay: true });
    const own = fixture.buyer.address;
    const [, { address: other }] = fixture.quotes.fixture.sellers;
    const mainnet = "addr1vpu5vlrf4xkxv2qpwngf6cjhtw542ayty80v8dyr49rf5eg0yu80w";
    const quote = await fixture.quote();
    expect(await fixture.purchase(quote, { buyerReturnAddress: mainnet })).toMatchObject(
      refused(400, "buyerReturnAddress: must be an address on Preprod"),
    );
    expect(await fixture.purchase(quote, { buyerReturnAddress: other }, { token })).toMatchObject(
      refused(403, /^buyerReturnAddress: must be the wallet's own address, its collection/),
    );
    const { address } = fixture.quotes.fixture.contract;
    if (type === V2)
      expect(await fixture.purchase(quote, { buyerReturnAddress: address })).toMatchObject(
        refused(400, "buyerReturnAddress: must have a payment key"),
      );
    for (const [buyerReturnAddress, headers] of [
      [other, {}],
      [own, { token }],
    ] as const)
      expect(
        await fixture.purchase(await fixture.quote(), { buyerReturnAddress }, headers),
      ).toMatchObject({ status: 200, data: { buyerReturnAddress } });
  });

  it("an address at which both parties would be paid, where its contract counts one output for both", async () => {
    const fixture = await PurchaseFixture.open(type);
    const [{ address: seller }, { address: treasury }] = fixture.quotes.fixture.sellers;
    const buyer = fixture.buyer.address;
    const quote = await fixture.quote();
    const ofTreasury = await fixture.quote({ sellerReturnAddress: treasury });
    const ofBuyer = await fixture.quote({ sellerReturnAddress: buyer });
    for (const [one, buyerReturnAddress, payee] of [
      [quote, seller, seller],
      [ofTreasury, treasury, treasury],
      [ofBuyer, buyer, buyer],
      [ofBuyer, null, buyer],
    ] as const)
      for (const path of type === V2 ? ["/purchase/verify", "/purchase"] : ["/purchase/verify"])
        expect(await fixture.ask(path, fixture.body(one, { buyerReturnAddress }))).toMatchObject(
          type === V2
            ? refused(400, new RegExp(`^buyerReturnAddress: must differ from .* ${payee}`))
            : { status: 200 },
        );
    for (const [one, buyerReturnAddress] of [
      [quote, treasury],
      [ofTreasury, seller],
      [ofTreasury, null],
    ] as const)
      expect(
        await fixture.ask("/purchase/verify", fixture.body(one, { buyerReturnAddress })),
      ).toMatchObject({ status: 200 });
  });

  it("what no purchasing wallet may begin", async () => {
    const fixture = await PurchaseFixture.open(type);
    const { sourceId } = fixture.quotes.fixture;
    const quote = await fixture.quote();
    const drive = (table: string, drives: string, where: string) =>
      env.DB.prepare(`UPDATE ${table} SET drives = ? WHERE ${where}`).bind(drives).run();
    await drive("managed_wallet", "finish", "role = 'Purchasing'");
    expect(await fixture.purchase(quote)).toMatchObject(
      refused(
        503,
        `No purchasing wallet of the payment source ${sourceId} makes new purchases. Set the drives of one to all.`,
      ),
    );
    await drive("payment_source", "nothing", `id = '${sourceId}'`);
    expect(await fixture.purchase(quote)).toMatchObject(
      refused(503, `The payment source ${sourceId} makes no new purchases: its drives is nothing`),
    );
    await env.DB.prepare("DELETE FROM managed_wallet WHERE role = 'Purchasing'").run();
    expect(await fixture.purchase(quote)).toMatchObject(
      refused(
        404,
        "agentIdentifier: the payment source has no purchasing wallet that the API key may use",
      ),
    );
  });

  it("nothing for good when the provider fails", async () => {
    const fixture = await PurchaseFixture.open(type);
    const quote = await fixture.quote();
    const { chain } = fixture.quotes.fixture;
    // The holder was just asked for; the tip was not, and nor is the token known to a registry.
    for (const match of ["/blocks/latest", "/assets"]) {
      await chain.faults({ match, status: 500 });
      expect((await fixture.purchase(quote)).status, match).toBe(502);
    }
    await chain.faults({ match: "/assets", status: 429 });
    expect((await fixture.purchase(quote)).status).toBe(503);
    expect(await fixture.purchases()).toEqual([]);
  });
});

describe("POST /purchase", () => {
  it("compares the payment source at the signed position of an agent of Web3ChainV2", async () => {
    const elsewhere = await QuoteFixture.open(V1);
    await emptyTables();
    const fixture = await PurchaseFixture.open(V2);
    const quote = await fixture.quote();
    const pricing = { pricingType: "Fixed", fixed: [{ amount: "5000000", asset: [] }] };
    const at = (address: string) => ({
      chain: "Cardano",
      network: "Preprod",
      pricing,
      settlement: { paymentSourceType: V2, address: [address.slice(0, 50), address.slice(50)] },
    });
    const own = at(fixture.quotes.fixture.contract.address);
    const agentIdentifier = await fixture.quotes.agent(undefined, {
      sources: [
        { ...own, chain: "EVM" },
        { ...own, network: "Mainnet" },
        { ...own, settlement: { paymentSourceType: V2 } },
        { ...own, pricing: { pricingType: "Auction" } },
        at(elsewhere.fixture.contract.address),
      ],
    });
    const messages: [number, RegExp][] = [
      [9, /: the agent lists no payment source at this position$/],
      [1, /: the agent's payment source is on another chain$/],
      [2, /: the agent's payment source is not on the network Preprod$/],
      [3, /: the agent's payment source is not a contract of Web3ChainV2$/],
      [4, /: the agent's payment source has no price$/],
      [5, /: the agent's payment source has another contract than blockchainIdentifier$/],
    ];
    for (const [supportedPaymentSourceIndex, message] of messages)
      expect(
        await fixture.purchase(quote, { agentIdentifier, supportedPaymentSourceIndex }),
      ).toMatchObject(refused(400, message));
  });

  it("finds the payment source that the seller of Web3ChainV2 signed, with its price", async () => {
    const fixture = await PurchaseFixture.open(V2);
    const { quotes } = fixture;
    const { address } = quotes.fixture.contract;
    const priced = (pricing: Parameters<typeof agentMetadata>[2]) =>
      agentMetadata(V2, address, pricing).supported_payment_sources as object[];
    const dear = [{ unit: "", amount: "7000000" }];
    await quotes.agent(undefined, {
      sources: [
        ...priced({ pricingType: "Fixed", prices: dear }),
        ...priced({ pricingType: "Dynamic" }),
      ],
    });
    const found = { supportedPaymentSourceIndex: undefined };
    for (const [supportedPaymentSourceIndex, terms, PaidFunds] of [
      [0, {}, FIXED],
      [1, {}, dear],
      [2, { RequestedFunds: dear }, dear],
    ] as const) {
      const quote = await fixture.quote({ supportedPaymentSourceIndex, ...terms });
      for (const path of ["/purchase/verify", "/purchase"])
        expect(await fixture.ask(path, fixture.body(quote, found))).toMatchObject({
          status: 200,
          data: { PaidFunds },
        });
    }
  });

  it("answers 503 while the chain stands still", async () => {
    const begins = Date.now() - HOUR;
    const fixture = await PurchaseFixture.open(V1, { time: { begins, clock: "stands" } });
    const quote = await fixture.quote();
    expect(await fixture.purchase(quote)).toMatchObject(
      refused(503, "The chain provider shows no block of the last 15 minutes"),
    );
    // Where the chain lives in another time, it is the only clock.
    fixture.quotes.fixture.bindings = { CHAIN_CLOCK: "tip" };
    expect((await fixture.purchase(quote)).status).toBe(200);
  });

  it("answers 400 with the exact text that clients expect when credits are used up", async () => {
    const fixture = await PurchaseFixture.open();
    const token = await insertKey({ canPay: true, usageLimited: true, maxUsageCredits: 1 });
    const quote = await fixture.quote();
    expect((await fixture.purchase(quote, { inputHash: "00" }, { token })).status).toBe(400);
    expect((await fixture.purchase(quote, {}, { token })).status).toBe(200);
    expect(await fixture.purchase(await fixture.quote(), {}, { token })).toMatchObject({
      ...refused(400, "Insufficient funds"),
      json: { error: { code: "insufficient_funds" } },
    });
    expect(await fixture.purchases()).toHaveLength(1);
  });
});
