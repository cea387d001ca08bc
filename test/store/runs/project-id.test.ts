import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { isProjectId, resolveProject } from "../../../src/store/runs/project-id.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";

let dir: string;
beforeEach(async () => {
  dir = await realpath(await temporaryDirectory());
});

async function idOf(path: string): Promise<string> {
  const project = await resolveProject(path);
  if (!project.ok) throw new Error(project.error.message);
  return project.value.projectId;
}

describe("a project's id", () => {
  test("comes from its real path: links, dots and slashes at the end make no difference", async () => {
    await mkdir(join(dir, "My Project"));
    await symlink("My Project", join(dir, "link"));
    const id = await idOf(join(dir, "My Project"));
    expect(id).toMatch(/^my-project-[0-9a-f]{12}$/u);
    for (const path of ["link", "./link/", "My Project/.", "link/../My Project"]) {
      expect(await idOf(`${dir}/${path}`)).toBe(id);
    }
    expect(await resolveProject(join(dir, "link"))).toMatchObject({
      value: { root: join(dir, "My Project") },
    });
  });

  test("differs for two directories of one name", async () => {
    await mkdir(join(dir, "a", "p"), { recursive: true });
    await mkdir(join(dir, "b", "p"), { recursive: true });
    expect(await idOf(join(dir, "a", "p"))).not.toBe(await idOf(join(dir, "b", "p")));
  });

  test.each(["日本", "..x", "-", "a\nb", "x".repeat(200), "CON", "%2e%2e"])(
    "is one harmless name for %j",
    async (name) => {
      await mkdir(join(dir, name));
      const id = await idOf(join(dir, name));
      expect(isProjectId(id)).toBe(true);
      expect(id.length).toBeLessThan(60);
    },
  );

  test.each(["", "..", "a/b", "a\\b", "A", "a.b", "a\n", "\0", "x".repeat(81)])("%j is none", (text) => {
    expect(isProjectId(text)).toBe(false);
  });
});

describe("what is no existing directory is E_PROJECT_INVALID", () => {
  test("nothing, a file, a loop of links, a link to nothing, an empty path, a NUL byte", async () => {
    await writeFile(join(dir, "file"), "");
    await symlink("loop", join(dir, "loop"));
    await symlink("nowhere", join(dir, "dangling"));
    for (const path of [
      join(dir, "no"),
      join(dir, "file"),
      join(dir, "loop"),
      join(dir, "dangling"),
      join(dir, "file", "x"),
      "",
      "a\0b",
    ]) {
      const project = await resolveProject(path);
      expect(project).toMatchObject({
        ok: false,
        error: { code: "E_PROJECT_INVALID", message: expect.stringContaining("Name an existing directory.") },
      });
    }
  });
});
