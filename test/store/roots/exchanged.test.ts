import { lstatSync, mkdirSync, renameSync, symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { Roots } from "../../../src/store/roots/roots.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

/*
 * A directory in which somebody else may write holds a project, and they exchange it for a link to a place that is none: just while the
 * project is looked at. What is permitted is the project, or nothing.
 */

let project: string;
let outside: string;
let before: { readonly dev: bigint; readonly ino: bigint };
let dir: string;
/** Called when the lists of the operator are read: after the path was followed. */
let atRoots: () => void;
let atOurs: () => void;
let roots: Roots;

beforeEach(async () => {
  dir = await temporaryDirectory();
  for (const name of ["store", "projects", "projects/shop", "outside"]) mkdirSync(join(dir, name));
  [project, outside] = [join(dir, "projects/shop"), join(dir, "outside")];
  before = lstatSync(project, { bigint: true });
  [atRoots, atOurs] = [() => undefined, () => undefined];
  roots = new Roots(join(dir, "store"), {
    get projectRoots() {
      atRoots();
      return [join(dir, "projects")];
    },
    get privatePaths() {
      atOurs();
      return [];
    },
  });
});

const takeAway = (): void => renameSync(project, `${project}.before`);
const exchange = (): void => {
  takeAway();
  symlinkSync(outside, project);
};
const putBack = (): void => renameSync(`${project}.before`, project);
const isProject = (identity: object | undefined): void =>
  expect(identity).toMatchObject({ dev: before.dev, ino: before.ino });

test.runIf(process.platform === "linux")(
  "a link that comes into its place is not permitted in its stead",
  () => {
    atRoots = () => {
      atRoots = () => undefined;
      exchange();
    };
    const permitted = roots.permit(project, "write", { isReal: true });
    expect(permitted).toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
    expect(roots.permit(project, "write", { isReal: true })).toMatchObject({
      error: { code: "E_SANDBOX_VIOLATION" },
    });
    expect(roots.inspect(project)).toMatchObject({ error: { code: "E_PROJECT_INVALID" } });
  },
);

test("what is permitted is known, though it was away for a moment: anything could be opened in its place", () => {
  atRoots = () => {
    atRoots = () => undefined;
    takeAway();
  };
  atOurs = () => {
    atOurs = () => undefined;
    putBack();
  };
  const permitted = roots.permit(project, "write", { isReal: true });
  expect(permitted.ok).toBe(true);
  if (permitted.ok) isProject(permitted.value.identity);
});

test("a link that was put back before the end gains nothing", () => {
  atRoots = () => {
    atRoots = () => undefined;
    exchange();
  };
  atOurs = () => {
    atOurs = () => undefined;
    unlinkSync(project);
    putBack();
  };
  const permitted = roots.permit(project, "write", { isReal: true });
  expect(permitted.ok).toBe(true);
  if (permitted.ok) isProject(permitted.value.identity);
});
