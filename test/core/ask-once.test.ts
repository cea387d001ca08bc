import { expect, test } from "vitest";
import { askOnce } from "../../src/core/ask-once.js";

test("who asks while an answer is awaited hears that one, and who asks later a new one", async () => {
  let questions = 0;
  const ask = askOnce(() => Promise.resolve((questions += 1)));
  expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
  expect(await ask()).toBe(2);
});

test("a question that failed is asked again", async () => {
  let questions = 0;
  const ask = askOnce(() => {
    questions += 1;
    return questions === 1 ? Promise.reject(new Error("not now")) : Promise.resolve("ok");
  });
  const both = await Promise.allSettled([ask(), ask()]);
  expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await ask()).toBe("ok");
  expect(questions).toBe(2);
});
