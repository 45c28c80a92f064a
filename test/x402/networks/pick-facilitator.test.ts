import fc from "fast-check";
import { expect, it } from "vitest";
import { pickFacilitator } from "../../../src/x402/networks/pick-facilitator.ts";
import { runs } from "../../support/effort.ts";

type Wallets = [{ id: string }, ...{ id: string }[]];

const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 12 });

it("an authorization keeps its wallet whatever other wallets come and go, in any order", () => {
  fc.assert(
    fc.property(ids, fc.string(), fc.nat(), (all, claim, which) => {
      const wallets = all.map((id) => ({ id })) as Wallets;
      const picked = pickFacilitator(wallets, claim);
      const others = wallets.filter((one) => one !== picked);
      const rest = others.filter((_, i) => i !== which % others.length);
      expect(pickFacilitator([picked, ...rest], claim)).toBe(picked);
      expect(pickFacilitator([...rest.reverse(), picked] as never, claim)).toBe(picked);
    }),
    runs(200, 5000),
  );
});

it("wallets get about equal shares of authorizations", () => {
  const wallets: Wallets = [{ id: "01m80ydys1" }, { id: "01m80ydys2" }, { id: "01m80ydys3" }];
  const shares = new Map(wallets.map(({ id }) => [id, 0]));
  for (let n = 0; n < 3000; n++) {
    const { id } = pickFacilitator(wallets, `eip3009:eip155:1:0xaa:0xbb:0x${n.toString(16)}`);
    shares.set(id, (shares.get(id) ?? 0) + 1);
  }
  for (const share of shares.values()) expect(share).toBeGreaterThan(900);
});
