import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type PageStand, openPageStand } from "./page-stand.js";

/* The page beside sealed histories: with the key it is as ever, without it says what is missing. */

const KEY = `k1:${randomBytes(32).toString("base64")}`;
const OTHER = `k1:${randomBytes(32).toString("base64")}`;

let stand: PageStand;
let run: string;
beforeAll(async () => {
  stand = await openPageStand({ INTERLOCK_SEAL_KEYS: KEY });
  run = await stand.start({ input: "The heron." });
});
afterAll(() => stand?.close());

test("with the key a run is looked at, and its question is answered", async () => {
  const page = await stand.open("");
  // Runs of other tests on this server ask the same.
  const waiting = page.getByRole("region", { name: /wait/ });
  await waiting.locator(`a[href*="${run}"]`, { hasText: "Which of these shall the notes be for" }).click();
  await page.getByText("Newcomers").waitFor();
  await page.getByRole("group", { name: /^Graph/ }).waitFor();
  await page.getByLabel("Your answer").fill("For newcomers.");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".head .phase", { hasText: "completed" }).waitFor();
  expect(await page.getByLabel("Your answer").count()).toBe(0);
});

test.each([
  ["without a key", undefined],
  ["with another key of that name", OTHER],
])("%s the page says that the run is sealed, and which key opens it", async (_, keys) => {
  const page = await stand.openElsewhere(
    { INTERLOCK_SEAL_KEYS: keys, INTERLOCK_STORE: undefined },
    `#/runs/${run}`,
  );
  const said = page.locator("main");
  await expect.poll(() => said.innerText(), { timeout: 60_000 }).toMatch(/sealed.*k1|k1.*sealed/is);
});
