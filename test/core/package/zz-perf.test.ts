import { test } from "vitest";
import { parseJsonText } from "/work/main/src/core/json-text.js";
import { checkAgentsFile, checkManifest } from "/work/main/src/core/package/check-package.js";
import { agentsFileSchema } from "/work/main/src/core/package/schemas.js";
test("x", () => {
  const agents = `{"schemaVersion":"1.1","agents":[${"0,".repeat(2_000_000)}0]}`;
  let t=performance.now(); const p=parseJsonText(agents); console.log("parse", performance.now()-t);
  t=performance.now(); if(p.ok) agentsFileSchema.safeParse(p.value); console.log("zod", performance.now()-t);
  t=performance.now(); checkAgentsFile("a",agents); console.log("all", performance.now()-t);
  const big = `{${Array.from({length:300000},(_,i)=>`"k${i}":0`).join(",")}}`;
  t=performance.now(); checkManifest(big); console.log("keys", performance.now()-t, big.length);
});
