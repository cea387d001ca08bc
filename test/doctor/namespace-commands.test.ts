import { expect, test } from "vitest";
import { addAttributes, keepLonger, makeNamespace } from "../../src/doctor/namespace-commands.js";

test("a namespace of a server is set up by the Temporal CLI, at the server's address", () => {
  const place = { address: "temporal.internal:7233", namespace: "shop" };
  const where = "--address temporal.internal:7233 --namespace shop";
  expect(makeNamespace(place)).toBe(`temporal operator namespace create ${where} --retention 30d`);
  expect(keepLonger(place)).toBe(`temporal operator namespace update ${where} --retention 30d`);
  expect(addAttributes(place, ["RunPhase", "RunNode"])).toBe(
    `temporal operator search-attribute create ${where} --name RunPhase --type Keyword --name RunNode --type Keyword`,
  );
});

test.each(["shop.a1b2c.tmprl.cloud:7233", "us-east-1.aws.api.temporal.io:7233", "shop.a1b2c.tmprl.cloud"])(
  "one of Temporal Cloud by its own tool: %s",
  (address) => {
    const place = { address, namespace: "shop.a1b2c" };
    expect(keepLonger(place)).toBe("tcld namespace retention set --namespace shop.a1b2c --retention-days 30");
    expect(addAttributes(place, ["RunPhase", "RunNode"])).toBe(
      "tcld namespace search-attributes add --namespace shop.a1b2c --sa RunPhase=Keyword --sa RunNode=Keyword",
    );
  },
);
