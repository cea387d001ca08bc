import { expect, test } from "vitest";
import { NO_FILTER, packageHref, parseRoute, runHref, runsHref } from "../../../src/page/web/routes.js";

test.each([
  [runsHref(), { view: "runs", filter: NO_FILTER }],
  [
    runsHref({ ...NO_FILTER, phase: "failed", project: "a&b=c#d" }),
    { view: "runs", filter: { ...NO_FILTER, phase: "failed", project: "a&b=c#d" } },
  ],
  [runHref("run-1"), { view: "run", run: "run-1", tab: "graph", at: "" }],
  [runHref("a/b", "graph", "step/1?", 3), { view: "run", run: "a/b", tab: "graph", at: "step/1?", visit: 3 }],
  [runHref("r", "results", "@project/ä.md"), { view: "run", run: "r", tab: "results", at: "@project/ä.md" }],
  [packageHref("q", "p:1"), { view: "package", taskQueue: "q", packageId: "p:1" }],
])("the address %s means what it was made of", (href, route) => {
  expect(parseRoute(href)).toEqual(route);
});

test.each(["", "#", "#/nowhere", "#/runs", "#/runs?", "#//"])("%j is the list of runs", (hash) => {
  expect(parseRoute(hash)).toEqual({ view: "runs", filter: NO_FILTER });
});

test("an address that nobody has made is no reason to fail", () => {
  expect(parseRoute("#/runs/%E0%A4%A/graph/x/-1")).toEqual({
    view: "run",
    run: "%E0%A4%A",
    tab: "graph",
    at: "x",
  });
});
