import { expect, test } from "vitest";
import { loadPackage } from "../../fakes/load-package.js";
import { temporaryDirectory, validPackage, writePackage } from "../../fakes/package-fixture.js";

test("the examples have no finding", async () => {
  for (const example of ["create-story", "qa-gate"]) {
    expect((await loadPackage(`examples/${example}/package`)).findings).toEqual([]);
  }
});

test("findings name the line of the node, the edge or the key, all of a package at once", async () => {
  const files = validPackage();
  const [draft, done] = files["workflow.graph.json"].nodes;
  const [edge] = files["workflow.graph.json"].edges;
  const dir = await writePackage(await temporaryDirectory(), {
    ...files,
    "bmad.json": { ...files["bmad.json"], $schema: "x", integrity: {}, "strange\nkey": 1 },
  });
  expect((await loadPackage(dir)).findings).toMatchObject([{ file: "bmad.json", line: 12 }]);
  await writePackage(dir, {
    ...files,
    "workflow.graph.json": {
      ...files["workflow.graph.json"],
      nodes: [{ ...draft, outputs: ["../x.md"] }, done],
      edges: [{ ...edge, conditionExpr: { "!": { var: "variables.no" } } }],
    },
    "steps/draft.md":
      '---\r\nschemaVersion: "1.1"\r\nnodeId: draft\r\ntype: step\r\noutputs: ["../x.md"]\r\ntransitions:\r\n  - { to: done, label: finished }\r\n  - to: nowhere\r\n    label: x\r\n---\r\nDo it.\r\n',
    "steps/done.md": '---\nschemaVersion: "1.1"\nnodeId: done\ntype: step\nagentId: nobody\n---\n',
  });
  const { findings } = await loadPackage(dir);
  expect(findings.map(({ file, line, path }) => `${file}:${line} ${path}`)).toEqual([
    "steps/done.md:4 $.type",
    "steps/done.md:5 $.agentId",
    "workflow.graph.json:11 $.nodes[0].outputs[0]",
    "steps/draft.md:8 $.transitions[1]",
    "steps/draft.md:5 $.outputs[0]",
    'workflow.graph.json:27 $.edges[0].conditionExpr["!"].var',
  ]);
});

test("what a file lacks is told at the place that lacks it, and a broken text has its line in the sentence", async () => {
  const files = validPackage();
  const dir = await writePackage(await temporaryDirectory(), {
    ...files,
    "workflow.graph.json": { ...files["workflow.graph.json"], nodes: [{ id: "draft" }] },
    "agents.json": '{\n  "schemaVersion": "1.1",\n  "agents": [,]\n}',
  });
  expect((await loadPackage(dir)).findings).toMatchObject([
    { file: "agents.json", path: "$.agents[0]", line: 3 },
    { path: "$.nodes[0].type", line: 5 },
    { path: "$.nodes[0].file", line: 5 },
  ]);
});
