// The demo's CSV reader: quoted fields whole, and broken texts refused by line.
import { describe, expect, test } from "vitest";
import { parseTable } from "./csv.js";

describe("reads", () => {
  test.each([
    ["plain fields", "a,b\n1,2\n", [["1", "2"]]],
    [
      "CRLF, and no line end after the last record",
      "a,b\r\n1,2\r\n3,4",
      [
        ["1", "2"],
        ["3", "4"],
      ],
    ],
    [
      "commas, doubled quotes and line feeds in quotes",
      'a,b\n"x, y","say ""hi""\nthere"\n',
      [["x, y", 'say "hi"\nthere']],
    ],
    ["empty fields, quoted and bare, also at the end of a record", 'a,b,c\n"",,\n', [["", "", ""]]],
    ["a last record that ends in an empty field", "a,b\n1,", [["1", ""]]],
    ["a byte order mark", "\uFEFFa,b\n1,2", [["1", "2"]]],
    ["names of columns alone", "a,b\n", []],
  ])("%s", (_, text, rows) => {
    expect(parseTable(text)).toMatchObject({ rows });
    expect(parseTable(text).columns.slice(0, 2)).toEqual(["a", "b"]);
  });
});

test.each([
  ["", "line 1: there is no line with the names of the columns"],
  ["a,a\n", "line 1: two columns have the same name"],
  ["a,b\n1,2\n3\n", "line 3: 1 fields where 2 are named"],
  ['a,b\n"1\n\n2",3\n4,5,6\n', "line 5: 3 fields where 2 are named"],
  ['a,b\n1,"2\n', "line 2: a quote is not closed"],
  ['a,b\n1,2"3\n', "line 2: a quote inside of a field"],
  ['a,b\n"1"2,3\n', "line 2: a quote inside of a field"],
])("refuses %j", (text, message) => {
  expect(() => parseTable(text)).toThrow(message);
});
