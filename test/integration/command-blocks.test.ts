import { execFile } from "node:child_process";
import { cp, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { valueOf } from "../fakes/run-world.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { ROOT, shellOf } from "./shell.js";

const LINES = join(ROOT, "test/fakes/command-lines.mjs");

/** The blocks that are not run here, by page and first words, and why. One that is neither here nor can be run fails. */
const NOT_HERE: Readonly<Record<string, string>> = {
  "README.md: npm ci && npm run demo": "cli.test.ts runs the demo; CI begins with npm ci",
  "README.md: npm ci && npm pack": "package-types.test.ts packs, and uses the tarball from a project",
  "README.md: npx interlock worker": "it serves until Ctrl-C: two-workers.test.ts runs it",
  "docs/attestation.md: $ openssl": "shows what is printed: attest.test.ts makes keys, attests and verifies",
  "docs/attestation.md: jq": "needs a statement: attest.test.ts runs it on one",
  "docs/bundles.md: npx interlock bundle run <workflow.yaml>":
    "the form of the command that the block before it is",
  "docs/chaos.md: npm run chaos": "it takes minutes; chaos has a job of its own",
  "docs/embedding.md: npx esbuild":
    "esbuild is not among our packages: package-types.test.ts bundles such a program",
  "docs/mcp.md: npx -y mcp-remote": "needs the network, a browser and somebody who logs in",
  "docs/metrics.md: interlock worker": "it serves until Ctrl-C: instruments.test.ts runs a worker with them",
  "docs/metrics.md: npm install": "installs packages: instruments.test.ts uses those of these versions",
  "docs/notifications.md: export OPS":
    "needs webhooks in the settings: notifications.test.ts runs it with some",
  "docs/operating.md: start=$(interlock run create-story":
    "signed-starts.test.ts starts what --print-input prints",
  "docs/page.md: $ interlock ui": "it serves until Ctrl-C: page.test.ts serves the page and opens its link",
  "docs/running-as-a-service.md: printf ":
    "needs docker: docker-compose.test.ts reads the file, deploy.test.ts runs its image's parts",
  "docs/running-as-a-service.md: docker ": "needs docker",
  "docs/running-as-a-service.md: OTEL_EXPORTER": "needs docker",
  "docs/running-as-a-service.md: OPENAI_API_KEY_SECRET": "needs docker",
  "docs/running-as-a-service.md: export TEMPORAL_ADDRESS": "needs a server with TLS: tls.test.ts has one",
  "docs/running-as-a-service.md: cp -r examples/create-story/project projects/shelfmark": "needs docker",
  "docs/running-as-a-service.md: git pull": "needs docker, and changes the clone",
  "docs/sealed-histories.md: $ umask":
    "shows what is printed: sealed-histories.test.ts runs with keys in the environment",
  "docs/sealed-histories.md: $ interlock codec-server":
    "it serves until Ctrl-C: codec-server.test.ts asks one",
  "docs/sealed-histories.md: docker ": "needs docker",
  "docs/starting-runs.md: temporal ": "starting-runs.test.ts runs the page's blocks, one after the other",
  "docs/starting-runs.md: interlock status shop-story-7": "starting-runs.test.ts runs it",
};

interface Block {
  readonly page: string;
  readonly text: string;
}

async function blocks(): Promise<readonly Block[]> {
  const docs = await readdir(join(ROOT, "docs"));
  const pages = ["README.md", ...docs.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`)];
  const found = await Promise.all(
    pages
      .toSorted((a, b) => a.localeCompare(b))
      .map(async (page) => {
        const text = await readFile(join(ROOT, page), "utf8");
        return [...text.matchAll(/^```(?:sh|bash|shell|console)\n([^]*?)^```$/gm)].map(([, block = ""]) => ({
          page,
          text: block.replaceAll("\\\n", " "),
        }));
      }),
  );
  return found.flat();
}

function whyNotHere({ page, text }: Block): string | undefined {
  const [key] = Object.keys(NOT_HERE).filter((each) => `${page}: ${text}`.startsWith(each));
  return key;
}

/** The words of each command in a block; what only says which model there is, or makes a directory, is done by the bench. */
function commandsOf({ text }: Block): readonly (readonly string[])[] {
  return text.split("\n").flatMap((line) => {
    const words = [...line.matchAll(/"([^"]*)"|(#.*)|(\S+)/g)];
    const end = words.findIndex(([, , comment]) => comment !== undefined);
    const said = (end === -1 ? words : words.slice(0, end)).map(
      ([, quoted, , plain]) => quoted ?? plain ?? "",
    );
    return said.length === 0 || ["export", "mkdir"].includes(said[0] ?? "") ? [] : [said];
  });
}

/** A skill that is a workflow of two step files. */
function skill(name: string): Record<string, string> {
  const dir = `.claude/skills/${name}`;
  const next = "- IF C: read fully and follow: ./step-02-end.md";
  return {
    [`${dir}/SKILL.md`]: `---\nname: ${name}\ndescription: a plan\n---\nFollow ./workflow.md.\n`,
    [`${dir}/workflow.md`]:
      "---\noutputFile: 'artifacts/prd.md'\n---\n# Plan\n\nRead fully and follow: `./steps/step-01-plan.md`\n",
    [`${dir}/steps/step-01-plan.md`]: `# Plan\n\nAppend the plan to {outputFile}.\n\n${next}\n`,
    [`${dir}/steps/step-02-end.md`]: "# End\n\nAppend the end to {outputFile}.\n",
  };
}

/** What a reader of all pages has in one directory. */
async function furnish(bench: Bench): Promise<string> {
  const dir = join(bench.dir, "desk"); // the store lies beside it: no project holds a store
  const at = (path: string) => join(dir, path);
  for (const path of ["create-story", "reading-room"]) {
    await cp(join(ROOT, "examples", path), at(`examples/${path}`), { recursive: true });
  }
  await cp(join(ROOT, "examples/create-story/package"), at("my-package"), { recursive: true });
  await mkdir(at("my-project"), { recursive: true });
  await writeTree(dir, {
    "answer.md": "From a file.\n",
    "editor.sh": '#!/bin/sh\necho Written. >>"$1"\n',
    "_bmad/core/tasks/workflow.xml": '<task><llm critical="true">Do it.</llm></task>\n',
    "_bmad/bmm/config.yaml": "output_folder: '{project-root}/artifacts'\n",
    "_bmad/bmm/workflows/2-plan-workflows/prd/workflow.yaml":
      "name: prd\ndescription: a plan\ninstalled_path: '{project-root}/_bmad/bmm/workflows/2-plan-workflows/prd'\ninstructions: '{installed_path}/instructions.md'\ntemplate: false\ndefault_output_file: '{project-root}/artifacts/prd.md'\n",
    "_bmad/bmm/workflows/2-plan-workflows/prd/instructions.md":
      '# Plan\n\n<step n="1" goal="Plan">Write it.</step>\n',
    ...skill("bmad-create-prd"),
    ...skill("bmad-edit-prd"),
  });
  return dir;
}

/** Values for the names in angle brackets; runs are each command's own, since it may end or change them. */
async function valuesOf(bench: Bench, dir: string) {
  const spare = twoNodePackage();
  await writeTree(join(bench.dir, "spare"), { ...spare, "assets/spare.md": "Nobody needs it.\n" });
  const { packageId } = valueOf(await bench.store.packages.install(join(bench.dir, "spare")));
  const { packageId: story } = valueOf(await bench.store.packages.install(join(dir, "my-package")));
  const long = await bench.client.start({
    packageId: story,
    projectRoot: bench.projectRoot,
    storyId: "wrkf-1010",
    rehearsal: { branches: false, forbiddenJump: false },
  });
  await long.result();
  return async (value: string, command: string): Promise<string> => {
    if (value === "<packageId>") return packageId;
    if (value === "<dir>") return ".claude/skills/bmad-edit-prd";
    if (value !== "<runId>") return value;
    if (command === "state") return long.runId;
    const run = command === "finish" ? await bench.startBundle() : await bench.start(spare);
    await until(run, "waiting-user");
    return run.runId;
  };
}

test("every command block of README and docs does what it says", { tags: "slow" }, async () => {
  const bench = await openBench(() => ({ content: "Which way?" }));
  const dir = await furnish(bench);
  const valueFor = await valuesOf(bench, dir);
  const all = await blocks();
  const used = new Set(all.map(whyNotHere));
  expect(Object.keys(NOT_HERE).filter((key) => !used.has(key))).toEqual([]);
  const lines: (readonly string[])[] = [];
  for (const block of all.filter((each) => whyNotHere(each) === undefined)) {
    for (const [first = "", second = "", ...rest] of commandsOf(block)) {
      const words = first === "npx" ? [second, ...rest] : [first, second, ...rest];
      expect([block.page, words[0]]).toEqual([block.page, "interlock"]);
      const named: string[] = [];
      for (const word of words.slice(1)) named.push(await valueFor(word, words[1] ?? ""));
      lines.push([...named, ...(words.includes("run") ? ["--no-wait-for-answers"] : [])]);
    }
  }
  const shell = shellOf(bench, { VISUAL: `sh ${join(dir, "editor.sh")}` });
  const list = join(bench.dir, "lines.json");
  const codes = join(bench.dir, "codes.json");
  await writeFile(list, JSON.stringify(lines));
  const running = promisify(execFile)(process.execPath, [LINES, list, codes], {
    env: shell.environment,
    cwd: dir,
  });
  running.child.stdin?.end();
  const { stderr } = await running;
  const ended = JSON.parse(await readFile(codes, "utf8")) as [string, number][];
  // A run that a model does asks, and nobody is there to answer: 3.
  expect(ended).toHaveLength(lines.length);
  expect([ended.filter(([, code]) => code !== 0 && code !== 3), stderr]).toEqual([[], expect.any(String)]);
});
