import type { ComponentChildren } from "preact";

/** Fact is a row of what is known of one thing. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{children}</td>
    </tr>
  );
}
