/** Each check of POST /payment, in its order, by status and message. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { agentMetadata, FIXED, HOUR, QuoteFixture } from "../../support/escrow/quote-fixture.ts";
import { insertKey } from "../../support/keys.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";
const BOTH = [V1, V2] as const;
const DYNAMIC = { pricingType: "Dynamic" };
const TOKEN = `${"ab".repeat(28)}746f6b656e`;
const MINUTE = 60_000;

beforeEach(emptyTables);

/** A fixture with an agent whose price is fixed. */
async function opened(type: (typeof BOTH)[number] = V1): Promise<QuoteFixture> {
  const fixture = await QuoteFixture.open(type);
  await fixture.agent();
  return fixture;
}

const refused = (status: number, message: string | RegExp) => ({
  status,
  message: typeof message === "string" ? message : expect.stringMatching(message),
});

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * MINUTE).toISOString();

describe.each(BOTH)("POST /payment for %s refuses", (type) => {
  it("networks and agents that the key or the service does not have, and ids in capitals", async () => {
    const fixture = await opened(type);
    const token = await insertKey({ canPay: true, networkLimit: ["Mainnet"] });
    expect(await fixture.quote({}, { token })).toMatchObject(
      refused(403, "network: the API key is not valid for Preprod"),
    );
    expect(await fixture.quote({ agentIdentifier: "ab".repeat(60) })).toMatchObject(
      refused(404, "agentIdentifier: no payment source has this agent's policy"),
    );
    expect(await fixture.quote({ network: "Mainnet" })).toMatchObject(refused(404, /policy$/));
    const paymentSourceType = type === V1 ? V2 : V1;
    expect(await fixture.quote({ paymentSourceType })).toMatchObject(
      refused(400, `paymentSourceType: the agent's payment source is of ${type}`),
    );
    expect(await fixture.quote({ identifierFromPurchaser: "0123456789ABCDEF0123" })).toMatchObject(
      refused(400, /^identifierFromPurchaser: must be lower-case hex of 7 to 13 bytes/),
    );
    expect((await fixture.quote({ paymentSourceType: type })).status).toBe(200);
  });

  it("times that leave somebody no time to act, and names the right ones", async () => {
    const fixture = await opened(type);
    const times = {
      payByTime: inMinutes(3),
      submitResultTime: inMinutes(20),
      unlockTime: inMinutes(70),
      externalDisputeUnlockTime: inMinutes(90),
    };
    expect(await fixture.quote(times)).toMatchObject({ status: 200, data: { Warnings: [] } });
    const cases: [Partial<typeof times>, RegExp][] = [
      [
        { payByTime: inMinutes(16) },
        /^payByTime: must be at most 5 minutes before submitResultTime, up to 20.*Z$/,
      ],
      [{ payByTime: inMinutes(1) }, /^payByTime: must be at least 2 minutes ahead, from 20.*Z on$/],
      [{ payByTime: inMinutes(-1) }, /^payByTime: must be at least 2 minutes ahead/],
      [
        { externalDisputeUnlockTime: inMinutes(84) },
        /^externalDisputeUnlockTime: must be at least 15 minutes after unlockTime, from/,
      ],
      [
        { submitResultTime: inMinutes(14) },
        /^submitResultTime: must be at least 15 minutes ahead, from/,
      ],
      [
        { submitResultTime: inMinutes(56) },
        /^submitResultTime: must be at most 15 minutes before unlockTime, up to/,
      ],
      [
        { externalDisputeUnlockTime: inMinutes(366 * 24 * 60) },
        /^externalDisputeUnlockTime: must be at most a year ahead, up to/,
      ],
    ];
    for (const [wrong, message] of cases)
      expect(await fixture.quote({ ...times, ...wrong })).toMatchObject(refused(400, message));
  });

  it("agents whose token nobody holds, a stranger holds, or says nothing", async () => {
    const fixture = await opened(type);
    await fixture.fixture.chain.act([{ do: "burn", on: "agent-0" }]);
    expect(await fixture.quote()).toMatchObject(
      refused(404, "agentIdentifier: no wallet holds this agent's token"),
    );
    await fixture.agent(undefined, { metadata: { name: "nothing more" } });
    expect(await fixture.quote()).toMatchObject(
      refused(404, /^agentIdentifier: the token's metadata cannot be read: metadata_version/),
    );
    await fixture.agent(undefined, { holder: "stranger" });
    expect(await fixture.quote()).toMatchObject(
      refused(404, /^agentIdentifier: the holder of the token is no selling wallet/),
    );
  });

  it("a price that is not the agent's", async () => {
    const fixture = await opened(type);
    const priced = { RequestedFunds: [{ unit: "", amount: "5000000" }] };
    for (const RequestedFunds of [[], priced.RequestedFunds])
      expect(await fixture.quote({ RequestedFunds })).toMatchObject(
        refused(400, "RequestedFunds: must be omitted, since the agent's price is fixed"),
      );
    await fixture.agent(DYNAMIC);
    for (const RequestedFunds of [[], null, undefined])
      expect(await fixture.quote({ RequestedFunds })).toMatchObject(
        refused(400, "RequestedFunds: is required, since the agent's price is dynamic"),
      );
    const twice = [
      { unit: "lovelace", amount: "1" },
      { unit: TOKEN, amount: "1" },
      { unit: "", amount: "1" },
    ];
    expect(await fixture.quote({ RequestedFunds: twice })).toMatchObject(
      refused(400, "RequestedFunds[2].unit: must not be repeated"),
    );
    const tooMuch = [{ unit: TOKEN, amount: String(2n ** 63n) }];
    expect(await fixture.quote({ RequestedFunds: tooMuch })).toMatchObject(
      refused(400, "RequestedFunds[0].amount: must be at most 9223372036854775807"),
    );
    const odd = [{ unit: "ADA", amount: "1" }];
    expect(await fixture.quote({ RequestedFunds: odd })).toMatchObject(
      refused(400, /^RequestedFunds\[0\]\.unit: must be "" for the native coin, .* not "ADA"$/),
    );
    await fixture.agent({ pricingType: "Fixed", prices: odd });
    expect(await fixture.quote()).toMatchObject(
      refused(400, /^agentIdentifier: the price is in "ADA", which is no unit of the ledger/),
    );
    await fixture.agent({ pricingType: "Free" });
    expect(await fixture.quote(priced)).toMatchObject(
      refused(400, "agentIdentifier: the agent accepts no payments"),
    );
  });

  it("revenue for an address that is not the wallet's, unless an Admin asks", async () => {
    const fixture = await opened(type);
    const { sellers, contract, sourceId } = fixture.fixture;
    const token = await insertKey({ canPay: true });
    const other = sellers[1].address;
    expect(await fixture.quote({ sellerReturnAddress: other }, { token })).toMatchObject(
      refused(403, /^sellerReturnAddress: must be the wallet's own address, its collection/),
    );
    for (const [sellerReturnAddress, headers] of [
      [other, {}],
      [sellers[0].address, { token }],
    ] as const)
      expect(await fixture.quote({ sellerReturnAddress }, headers)).toMatchObject({
        status: 200,
        data: { sellerReturnAddress },
      });
    const mainnet = "addr1vpu5vlrf4xkxv2qpwngf6cjhtw542ayty80v8dyr49rf5eg0yu80w";
    expect(await fixture.quote({ sellerReturnAddress: mainnet })).toMatchObject(
      refused(400, "sellerReturnAddress: must be an address on Preprod"),
    );

    const collect = (address: string) =>
      env.DB.prepare("UPDATE managed_wallet SET collection_address = ? WHERE source_id = ?")
        .bind(address, sourceId)
        .run();
    await collect(other);
    for (const given of [{}, { sellerReturnAddress: other }])
      expect(await fixture.quote(given, { token })).toMatchObject({
        status: 200,
        data: { sellerReturnAddress: other },
      });
    await collect(contract.address);
    const atContract = [
      await fixture.quote(),
      await fixture.quote({ sellerReturnAddress: contract.address }),
    ];
    if (type === V1)
      for (const { data } of atContract) expect(data.sellerReturnAddress).toBe(contract.address);
    else
      expect(atContract).toMatchObject([
        refused(400, /^sellerReturnAddress: is required, since the wallet's collectionAddress/),
        refused(400, "sellerReturnAddress: must have a payment key"),
      ]);
  });

  it("with 503 what the source or the wallet does not drive", async () => {
    const fixture = await opened(type);
    const wallet = (await fixture.quote()).data.SmartContractWallet.id;
    const drive = (table: string, drives: string, id: string) =>
      env.DB.prepare(`UPDATE ${table} SET drives = ? WHERE id = ?`).bind(drives, id).run();
    await drive("managed_wallet", "finish", wallet);
    expect(await fixture.quote()).toMatchObject(
      refused(503, `The selling wallet ${wallet} begins no new escrows: its drives is finish`),
    );
    await drive("payment_source", "nothing", fixture.fixture.sourceId);
    expect(await fixture.quote()).toMatchObject(
      refused(
        503,
        `The payment source ${fixture.fixture.sourceId} begins no new escrows: its drives is nothing`,
      ),
    );
  });

  it("nothing for good when the provider fails, whatever the provider's message is", async () => {
    const fixture = await opened(type);
    const body = JSON.stringify({
      ...{ status_code: 404, error: "Not Found" },
      message: "The requested component has not been found.",
    });
    for (const said of [{}, { body }]) {
      await fixture.fixture.chain.faults({ match: "/assets", status: 500, ...said });
      expect((await fixture.quote()).status).toBe(502);
    }
    await fixture.fixture.chain.faults({ match: "/assets", status: 429 });
    expect((await fixture.quote()).status).toBe(503);
    expect(await fixture.payments()).toEqual([]);
  });

  it("no short time to object, but warns of it", async () => {
    const fixture = await opened(type);
    const { data } = await fixture.quote({
      payByTime: inMinutes(10),
      submitResultTime: inMinutes(20),
      unlockTime: inMinutes(64),
    });
    expect(data.Warnings).toEqual([expect.stringMatching(/^unlockTime: is less than 45 minutes/)]);
  });
});

describe("POST /payment", () => {
  it("takes supportedPaymentSourceIndex for Web3ChainV2 only, and one that can be paid to", async () => {
    const first = await opened(V1);
    expect(await first.quote({ supportedPaymentSourceIndex: 0 })).toMatchObject(
      refused(400, "supportedPaymentSourceIndex: must be omitted for an agent of Web3ChainV1"),
    );

    await emptyTables();
    const fixture = await QuoteFixture.open(V2);
    const pricing = { pricingType: "Fixed", fixed: [{ amount: "5000000", asset: [] }] };
    const here = { chain: "Cardano", network: "Preprod", pricing };
    const at = (address: string, paymentSourceType = V2 as string) => ({
      settlement: { paymentSourceType, address: [address.slice(0, 50), address.slice(50)] },
    });
    const { address } = fixture.fixture.contract;
    await fixture.agent(undefined, {
      sources: [
        { ...here, ...at(address), chain: "EVM" },
        { ...here, ...at(address), network: "Mainnet" },
        { ...here, settlement: { paymentSourceType: V2 } },
        { ...here, ...at(address, V1) },
        { ...here, ...at(address), pricing: { pricingType: "Auction" } },
        { ...here, ...at(first.fixture.contract.address) },
        { ...here, ...at(address) },
      ],
    });
    const quoted = (supportedPaymentSourceIndex?: number) =>
      fixture.quote({ supportedPaymentSourceIndex });
    const messages: [number | undefined, number, RegExp][] = [
      [
        undefined,
        400,
        /: is required, since .+ \w+: 0 \(5000000 of the native coin\), 7 \(5000000 of the native coin\)$/,
      ],
      [8, 400, /: the agent lists no payment source at this position$/],
      [1, 400, /: the agent's payment source is on another chain$/],
      [2, 400, /: the agent's payment source is not on the network Preprod$/],
      [3, 400, /: the agent's payment source is not a contract of Web3ChainV2$/],
      [4, 400, /: the agent's payment source is not a contract of Web3ChainV2$/],
      [5, 400, /: the agent's payment source has no price$/],
      [6, 404, /: no payment source has the contract that the agent lists here$/],
    ];
    for (const [index, status, message] of messages)
      expect(await quoted(index)).toMatchObject(refused(status, message));
    for (const index of [0, 7])
      expect(await quoted(index)).toMatchObject({
        status: 200,
        data: { supportedPaymentSourceIndex: index },
      });
  });

  it("finds the payment source of an agent of Web3ChainV2 where one fits", async () => {
    const first = await opened(V1);
    expect((await first.quote()).data).not.toHaveProperty("supportedPaymentSourceIndex");
    await emptyTables();
    const fixture = await QuoteFixture.open(V2);
    const price = { pricingType: "Fixed", prices: FIXED };
    const listed = (address: string) =>
      agentMetadata(V2, address, price).supported_payment_sources as object[];
    const elsewhere = agentMetadata(V2, first.fixture.contract.address, price);
    const found = { supportedPaymentSourceIndex: undefined };

    await fixture.agent(price, { metadata: elsewhere });
    expect(await fixture.quote(found)).toMatchObject(
      refused(404, /^agentIdentifier: the agent's list has no payment source on Preprod with/),
    );
    const { address } = fixture.fixture.contract;
    const sources = [...listed(first.fixture.contract.address), ...listed(address)];
    const [onMainnet] = listed(address).map((one) => ({ ...one, network: "Mainnet" }));
    const [free] = listed(address).map((one) => ({ ...one, pricing: { pricingType: "Free" } }));
    await fixture.agent(price, {
      metadata: { ...elsewhere, supported_payment_sources: [onMainnet, free, ...sources] },
    });
    expect(await fixture.quote(found)).toMatchObject({
      status: 200,
      data: { supportedPaymentSourceIndex: 3, RequestedFunds: FIXED },
    });
  });

  it("judges times by the chain's tip where that is the only clock", async () => {
    const fixture = await opened();
    fixture.fixture.bindings = { CHAIN_CLOCK: "tip" };
    const at = await fixture.fixture.chain.setClock({ at: Date.now() + 48 * HOUR, kind: "stands" });
    await fixture.fixture.chain.mine();
    const later = (ms: number) => new Date(at + ms).toISOString();
    expect(await fixture.quote()).toMatchObject(refused(400, /^payByTime: must be at least 2 min/));
    const times = { payByTime: later(HOUR), submitResultTime: later(2 * HOUR) };
    expect((await fixture.quote(times)).status).toBe(200);
  });

  it("signs the address where the token is, and warns when it is another one of the key", async () => {
    const fixture = await opened();
    const row = "UPDATE managed_wallet SET address = ? WHERE vkey = ?";
    const [seller, other] = fixture.fixture.sellers;
    await env.DB.prepare(row).bind(other.address, seller.vkey).run();
    const { data } = await fixture.quote();
    expect(data.Warnings).toEqual([expect.stringMatching(/^agentIdentifier: the token is at an/)]);
  });
});
