import { describe, expect, expectTypeOf, test } from "vitest";
import { type Defined, defined } from "../../src/core/defined.js";

const maybe = (text: string): string | undefined => (text === "" ? undefined : text);

describe("an object without its undefined fields", () => {
  test("keeps every other value, in order", () => {
    const fields = defined({ b: 0, gone: undefined, a: "", no: false, none: null, list: [undefined] });
    expect(JSON.stringify(fields)).toBe('{"b":0,"a":"","no":false,"none":null,"list":[null]}');
    expect(Object.hasOwn(fields, "gone")).toBe(false);
  });

  test("has a field that may be undefined as one that may be absent", () => {
    const fields: { readonly a?: string; readonly b: number } = defined({ a: maybe(""), b: 1 });
    expect(fields).toStrictEqual({ b: 1 });
    expectTypeOf<Defined<{ a: string | undefined }>>().toExtend<{ a?: string }>();
  });

  test("makes no prototype of a field", () => {
    const fields = defined(JSON.parse('{"__proto__":{"polluted":true}}') as object);
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
    expect(Object.keys(fields)).toEqual(["__proto__"]);
  });
});
