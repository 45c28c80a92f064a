import { afterAll, beforeAll, expect, it } from "vitest";
import { contractOf } from "../../../devnet/contracts/index.ts";
import { registerActors } from "../../../devnet/demo/actors/control.ts";
import { ACTOR_FUNDS, SELLERS } from "../../../devnet/demo/actors/wallets.ts";
import { type Devnet, startDevnet } from "../../../devnet/server/server.ts";
import { control } from "../ask.ts";

const [seller] = SELLERS;

let devnet: Devnet;
beforeAll(async () => {
  devnet = await startDevnet({ funds: ACTOR_FUNDS });
  registerActors(devnet);
});
afterAll(() => devnet.close());

it("act plays steps and remembers escrows and tokens by name", async () => {
  await control(devnet.url, "create", { name: "steps", autoMine: true });
  const { body } = await control(devnet.url, "steps/act", {
    steps: [
      { do: "lock", as: "a", version: "Web3ChainV1", seller: 1, buyer: 2, collateral: "2000000" },
      { do: "submitResult", on: "a", as: "result" },
      { do: "requestRefund", on: "result", datum: { buyerCooldownTime: "9999999999999" } },
      { do: "lockAgain", on: "a" },
      { do: "lockRaw", locks: [{ version: "Web3ChainV2", datum: "80", payer: "stranger" }] },
      { do: "mint", as: "t", version: "Web3ChainV2", metadata: { name: "agent", count: 1 } },
      { do: "burn", on: "t" },
    ],
  });
  const states = body.map(({ escrows }: { escrows: { state: string }[] }) => escrows[0]?.state);
  expect(states.slice(0, 4)).toEqual(["FundsLocked", "ResultSubmitted", "Disputed", "FundsLocked"]);
  expect(body[6]).toMatchObject({ blockHeight: 7, txHash: expect.stringMatching(/^\w{64}$/) });
});

it("act answers 400 to a step that makes no sense and 422 to one that the ledger refuses", async () => {
  await control(devnet.url, "create", { name: "bad", autoMine: true });
  const lockStep = { do: "lock", as: "a", version: "Web3ChainV1" };
  const play = (...steps: object[]) => control(devnet.url, "bad/act", { steps });
  expect(await play({ ...lockStep, seller: 9 })).toMatchObject({ status: 400 });
  expect(await play({ do: "withdraw", on: "nobody" })).toMatchObject({ status: 400 });
  await play(lockStep, { do: "submitResult", on: "a", as: "b" });
  expect(await play({ do: "submitResult", on: "a" })).toMatchObject({ status: 422 });
});

it("wallets tells wallets and contracts", async () => {
  await control(devnet.url, "create", { name: "who" });
  const { body } = await control(devnet.url, "who/wallets", {});
  expect(body.wallets[0]).toMatchObject({ mnemonic: seller.mnemonic, address: seller.address });
  expect(body.contracts[0]).toMatchObject({ address: contractOf("Web3ChainV1").address });
});
