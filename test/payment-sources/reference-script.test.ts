import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { RegistrationDesk } from "../support/registry/registration.ts";

beforeEach(emptyTables);

const PATH = "/payment-source-extended/reference-script";

interface Shown {
  state: string;
  output: string | null;
  deposit: string | null;
  scriptHash: string;
  walletVkey: string;
  [field: string]: unknown;
}

const publish = (desk: RegistrationDesk, more: object = {}) =>
  desk.ask<Shown>("POST", PATH, { id: desk.sourceId, ...more });
const withdraw = (desk: RegistrationDesk) => desk.ask<Shown>("DELETE", PATH, { id: desk.sourceId });
const show = (desk: RegistrationDesk) => desk.ask<Shown>("GET", `${PATH}?id=${desk.sourceId}`);

interface Utxo {
  tx_hash: string;
  output_index: number;
  amount: { quantity: string }[];
  reference_script_hash: string | null;
}

/** The outputs at the first wallet that carry a script. */
async function carried(desk: RegistrationDesk): Promise<Utxo[]> {
  const path = `/addresses/${desk.sellers[0].address}/utxos`;
  const utxos = await desk.chain.get<Utxo[]>(path);
  return utxos.filter((one) => one.reference_script_hash !== null);
}

describe("POST and DELETE /payment-source-extended/reference-script", () => {
  it("publish the contract's script in an output of a wallet, and take its deposit back", async () => {
    const desk = await RegistrationDesk.open();
    const asked = await publish(desk);
    expect(asked).toMatchObject({
      status: 200,
      data: { state: "PublishRequested", output: null, walletVkey: desk.sellers[0].vkey },
    });
    await desk.settle();
    const { data: published } = await show(desk);
    const [output] = await carried(desk);
    expect(published).toMatchObject({
      state: "Published",
      output: `${output?.tx_hash}#${output?.output_index}`,
      deposit: output?.amount[0]?.quantity,
    });
    expect(output?.reference_script_hash).toBe(published.scriptHash);
    expect((await withdraw(desk)).data.state).toBe("WithdrawRequested");
    await desk.settle();
    expect((await show(desk)).data.state).toBe("Withdrawn");
    expect(await carried(desk)).toEqual([]);
    expect((await publish(desk)).status).toBe(200);
  });

  it("refuse a second one, one that is not published, and what is not there", async () => {
    const desk = await RegistrationDesk.open();
    expect((await show(desk)).status).toBe(404);
    expect((await withdraw(desk)).status).toBe(404);
    expect((await publish(desk, { walletId: "nothing" })).status).toBe(404);
    expect((await publish(desk)).status).toBe(200);
    expect(await publish(desk)).toMatchObject({
      status: 409,
      message: "id: the payment source has a reference script already",
    });
    expect(await withdraw(desk)).toMatchObject({
      status: 409,
      message: "id: the reference script is PublishRequested, not Published",
    });
    expect((await desk.ask("POST", PATH, { id: "nothing" })).status).toBe(404);
  });
});
