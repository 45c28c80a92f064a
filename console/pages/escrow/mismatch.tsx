/** What was agreed beside what was found, where a lock differs from its quote. */
import type { Difference } from "./differences.ts";

export function MismatchTable({ differences }: { differences: readonly Difference[] }) {
  return (
    <table class="compare">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Expected</th>
          <th scope="col">Found</th>
        </tr>
      </thead>
      <tbody>
        {differences.map(({ what, expected, found }) => (
          <tr key={what}>
            <td data-label="What">{what}</td>
            <td data-label="Expected">{expected}</td>
            <td data-label="Found" class="problem">
              {found}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
