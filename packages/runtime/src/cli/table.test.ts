// Tables and facts as people see them.
import { expect, test } from "vitest";
import { facts, table } from "./table.ts";
import type { Column } from "./table.ts";

interface Row {
  readonly name: string;
  readonly count: number;
  readonly note: string;
}

const columns: readonly Column<Row>[] = [
  { title: "NAME", cell: (row) => row.name },
  { title: "COUNT", cell: (row) => String(row.count), align: "right" },
  { title: "NOTE", cell: (row) => row.note, shrinks: true },
];

test("columns are aligned and no line ends in blanks", () => {
  const rows = [
    { name: "a", count: 5, note: "short" },
    { name: "longer", count: 12_345, note: "" },
  ];
  expect(table(rows, columns, { columns: undefined })).toBe(
    "NAME    COUNT  NOTE\n" + //
      "a           5  short\n" +
      "longer  12345\n",
  );
});

test("only the titles are left when there is nothing", () => {
  expect(table([], columns, { columns: undefined })).toBe("NAME  COUNT  NOTE\n");
});

test("a narrow terminal cuts the columns that may shrink; a pipe cuts nothing", () => {
  const rows = [{ name: "a", count: 1, note: "a note of some length" }];
  expect(table(rows, columns, { columns: 24 })).toBe("NAME  COUNT  NOTE\na         1  a note of …\n");
  expect(table(rows, columns, { columns: undefined })).toContain("a note of some length\n");
  // Never narrower than eight columns, even if the line gets too long.
  expect(table(rows, columns, { columns: 5 })).toBe("NAME  COUNT  NOTE\na         1  a note …\n");
});

test("wide characters take two columns, combining ones none", () => {
  const rows = [
    { name: "日本", count: 1, note: "x" },
    { name: "e\u0301t\u00e9", count: 2, note: "y" },
  ];
  expect(table(rows, columns, { columns: undefined })).toBe(
    "NAME  COUNT  NOTE\n" + //
      "日本      1  x\n" +
      "e\u0301t\u00e9       2  y\n",
  );
});

test("cells from outside cannot steer the terminal", () => {
  const rows = [{ name: "\u001b[31mred\nnext\u009b0m\u202e", count: 0, note: "" }];
  expect(table(rows, columns, { columns: undefined })).toContain("\\u001b[31mred next\\u009b0m\\u202e  ");
});

test("colours do not count as width", () => {
  const painted: readonly Column<Row>[] = [
    { title: "NAME", cell: (row) => row.name, paint: (text) => `<${text}>` },
    { title: "COUNT", cell: (row) => String(row.count) },
  ];
  expect(table([{ name: "ab", count: 1, note: "" }], painted, { columns: undefined })).toBe("NAME  COUNT\n<ab>    1\n");
});

test("facts without a value are left out", () => {
  const text = facts([
    ["a", "1"],
    ["longer", undefined],
    ["bcd", "2", (value) => `<${value}>`],
  ]);
  expect(text).toBe("a    1\nbcd  <2>\n");
});
