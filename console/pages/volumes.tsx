/** How many escrows there are by state. */
import { SELDOM_MS, useLive } from "../api/live.ts";
import { call } from "../api/request.ts";
import { network, pageHref } from "../ui/route.ts";
import { SIDES, type Side } from "./escrow-sides.ts";

async function readCounts(signal: AbortSignal) {
  const counts = (["payment", "purchase"] as const).map(async (side) => {
    const query = { network: network.value };
    const { total } = await call<{ total: number }>(
      { method: "GET", path: `/${side}/count`, query },
      signal,
    );
    return { side, total };
  });
  return Promise.all(counts);
}

export function Volumes() {
  const live = useLive(`volumes ${network.value}`, readCounts, SELDOM_MS);
  return (
    <>
      {live.data && (
        <div class="cards">
          {live.data.map(({ side, total }) => (
            <Card key={side} side={side} total={total} />
          ))}
        </div>
      )}
    </>
  );
}

function Card({ side, total }: { side: Side; total: number }) {
  return (
    <section class="card">
      <h2>
        <a href={pageHref(side)}>{SIDES[side].title}</a>: {total}
      </h2>
    </section>
  );
}
