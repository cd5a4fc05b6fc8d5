// The column of roles in lists of keys and grants; left out where nobody has any.
import type { Column } from "./table.ts";

export function rolesColumn<Row extends { readonly roles: readonly string[] }>(
  rows: readonly Row[],
): readonly Column<Row>[] {
  if (rows.every(({ roles }) => roles.length === 0)) return [];
  return [{ title: "ROLES", cell: (row) => row.roles.join(" "), shrinks: true }];
}
