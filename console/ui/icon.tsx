/** Pictures of the icon set, drawn in the color of the text. The word beside them says the same. */
import type { IconNode } from "lucide";
import { h } from "preact";

export type { IconNode };

export function Icon({ node, size = 16 }: { node: IconNode; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={size > 16 ? 1.75 : 2}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {node.map(([tag, attributes]) => h(tag, { key: JSON.stringify(attributes), ...attributes }))}
    </svg>
  );
}
