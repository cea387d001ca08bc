import { expect, test } from "vitest";
import { sayingOnce } from "../../src/core/saying-once.js";

test("a sentence is said once, and of very many the first ones are", () => {
  const said: string[] = [];
  const say = sayingOnce((sentence) => void said.push(sentence));
  for (let nth = 0; nth < 2_000; nth += 1) say(`The pot ${nth % 1_500} is cold.`);
  expect(said).toHaveLength(1_000);
  expect(new Set(said).size).toBe(1_000);
});
