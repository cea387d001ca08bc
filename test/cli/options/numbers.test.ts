import { describe, expect, test } from "vitest";
import { amount, portForBrowsers, wholeNumber } from "../../../src/cli/options/numbers.js";
import { UsageError } from "../../../src/cli/terminal/output.js";

describe("numbers on the command line", () => {
  test("whole numbers above 0", () => {
    expect(wholeNumber("--n", "1")).toBe(1);
    expect(wholeNumber("--n", "999999999999")).toBe(999_999_999_999);
    for (const text of ["", "0", "01", "-1", "+1", "1.0", "1e3", " 1", "0x1", "１", "1000000000000"]) {
      expect(() => wholeNumber("--n", text)).toThrow(UsageError);
    }
    expect(() => wholeNumber("--n", "x")).toThrow("--n takes a whole number above 0.");
  });

  test("whole numbers from 0 on, where that is said to be allowed: the refusal says so too", () => {
    expect(wholeNumber("--n", "0", 0)).toBe(0);
    expect(wholeNumber("--n", "12", 0)).toBe(12);
    for (const text of ["", "00", "01", "-1", "x"]) {
      expect(() => wholeNumber("--n", text, 0)).toThrow("--n takes a whole number, 0 or above.");
    }
  });

  test("amounts above 0", () => {
    expect(amount("--cost", "2.50")).toBe(2.5);
    expect(amount("--cost", "0.000000001")).toBe(1e-9);
    for (const text of ["", "0", "0.0", "-1", ".5", "1.", "1e3", "Infinity", "NaN", "1,5", "1.0000000001"]) {
      expect(() => amount("--cost", text)).toThrow(UsageError);
    }
  });

  test("ports to serve browsers at: none that browsers refuse to ask at, and 0 for any", () => {
    for (const text of ["0", "80", "8234", "65535"]) expect(portForBrowsers(text)).toBe(Number(text));
    for (const text of ["", "-1", "65536", "8234x", "1e3", "127.0.0.1:80"]) {
      expect(() => portForBrowsers(text)).toThrow("--port takes a number from 0 (any free port) to 65535.");
    }
    for (const text of ["1", "6000", "06667", "10080"]) {
      expect(() => portForBrowsers(text)).toThrow(`browsers are barred from port ${Number(text)},`);
    }
  });
});
