import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { PackageWorld } from "../corpus/package-world.js";
import { bytesOf, validPackage, zipPackage } from "../fakes/package-fixture.js";
import { UTF8_FLAG, type ZipEntry, writeZip } from "../fakes/zip-writer.js";
import { LazyWorld } from "./lazy-world.js";
import type { Property } from "./property.js";
import { json, text } from "./texts.js";

/** Packages that were changed here and there: what is taken can be run, what is refused leaves nothing. */

interface Change {
  readonly file: string;
  /** In JSON files: which of all places, and what is put there; nothing takes it away. */
  readonly place?: number;
  readonly value?: unknown;
  /** In any file: characters put in the place of others. */
  readonly at?: number;
  readonly remove?: number;
  readonly insert?: string;
}

interface PackageCase {
  readonly changes: readonly Change[];
  readonly asArchive: boolean;
}

const FILES = Object.keys(validPackage());
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record(
    {
      file: fc.constantFrom("bmad.json", "agents.json", "workflow.graph.json"),
      place: fc.nat({ max: 60 }),
      value: fc.oneof(
        json,
        fc.constantFrom("draft", "done", "author", "../x", "steps/draft.md", "end", "1.1.3"),
      ),
    },
    { requiredKeys: ["file", "place"] },
  ),
  fc.record({
    file: fc.constantFrom(...FILES),
    at: fc.nat({ max: 2000 }),
    remove: fc.constantFrom(0, 1, 1, 3, 20),
    insert: fc.oneof(
      fc.constantFrom("", "\n", "---\n", "\0", '"', "}", ",", "\ufeff", "__proto__: 1\n", "\t"),
      text,
    ),
  }),
);

/** Every place of a JSON value, by the object or list that holds it. */
function placesOf(value: unknown): [Record<string, unknown>, string][] {
  if (value === null || typeof value !== "object") return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [[holder, key], ...placesOf(holder[key])]);
}

function changedFiles(changes: readonly Change[]): Record<string, unknown> {
  const files: Record<string, unknown> = structuredClone(validPackage());
  for (const { file, place, value, at, remove, insert } of changes) {
    const content = files[file];
    if (place !== undefined && typeof content === "object" && !(content instanceof Uint8Array)) {
      const places = placesOf(content);
      const [holder, key] = places[place % Math.max(places.length, 1)] ?? [{}, ""];
      if (value === undefined) Reflect.deleteProperty(holder, key);
      else holder[key] = value;
    } else if (at !== undefined) {
      const whole = bytesOf(content).toString();
      const start = at % (whole.length + 1);
      files[file] = whole.slice(0, start) + (insert ?? "") + whole.slice(start + (remove ?? 0));
    }
  }
  return files;
}

const CODES = ["ok", "E_PACKAGE_INVALID"];

export function packageProperty(): Property<PackageCase> {
  const world = new LazyWorld(() => PackageWorld.open(), 150);
  return {
    name: "packages",
    cases: fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 3 }), asArchive: fc.boolean() }),
    check: ({ changes, asArchive }) =>
      world.use(async (place) => {
        const files = changedFiles(changes);
        if (asArchive) writeFileSync(place.archive, zipPackage(files));
        else place.writeDirectory(files);
        const { code } = await place.install(asArchive ? place.archive : place.source);
        assert.ok(CODES.includes(code), code);
      }),
    close: () => world.close(),
  };
}

interface ArchiveCase {
  readonly entries: readonly (Partial<Omit<ZipEntry, "name" | "data">> & {
    readonly name: string;
    readonly data: string;
  })[];
  readonly damage: readonly { readonly fromEnd: boolean; readonly at: number; readonly byte: number }[];
}

const entryName = fc
  .tuple(
    fc.constantFrom("", "", "", "/", "//", "./", "../", "C:", "\\"),
    fc.array(
      fc.constantFrom(
        "a",
        "b",
        "A",
        "..",
        ".",
        "",
        "x\0",
        "e\u0301",
        "é",
        "bmad.json",
        "steps",
        "draft.md",
        "\n",
        ".git",
      ),
      {
        minLength: 1,
        maxLength: 4,
      },
    ),
    fc.constantFrom("", "", "/"),
  )
  .map(([start, names, end]) => start + names.join("/") + end);

const archives: fc.Arbitrary<ArchiveCase> = fc.record({
  entries: fc.array(
    fc.record(
      {
        name: entryName,
        data: fc.string({ maxLength: 20 }),
        method: fc.constantFrom(0, 8, 8, 12, 99),
        flags: fc.constantFrom(UTF8_FLAG, UTF8_FLAG, 0, UTF8_FLAG | 1, UTF8_FLAG | 0x40),
        externalAttributes: fc.constantFrom(0, 0o100644 * 65536, 0o120777 * 65536, 0o040755 * 65536, 0x400),
        declaredSize: fc.constantFrom(0, 1, 20, 0xffffffff),
        localOffset: fc.constantFrom(0, 1, 0xffffffff),
      },
      { requiredKeys: ["name", "data"] },
    ),
    { maxLength: 4 },
  ),
  damage: fc.array(
    fc.record({ fromEnd: fc.boolean(), at: fc.nat({ max: 3000 }), byte: fc.nat({ max: 255 }) }),
    { maxLength: 3 },
  ),
});

function isHostileName(name: string): boolean {
  return /^\/|\\|\0|\n|^[A-Za-z]:|^$/.test(name) || name.split("/").includes("..");
}

/** A package's own names may not come again, nor in another case. */
const OWN = new Set(FILES.map((file) => file.toLowerCase()));

export function archiveProperty(): Property<ArchiveCase> {
  const world = new LazyWorld(() => PackageWorld.open(), 150);
  return {
    name: "archives",
    cases: archives,
    check: ({ entries, damage }) =>
      world.use(async (place) => {
        const own = Object.entries(validPackage()).map(([name, content]) => ({
          name,
          data: bytesOf(content),
        }));
        const archive = writeZip([...own, ...entries]);
        for (const { fromEnd, at, byte } of damage) {
          archive[fromEnd ? archive.length - 1 - (at % archive.length) : at % archive.length] = byte;
        }
        writeFileSync(place.archive, archive);
        const { code } = await place.install(place.archive);
        assert.ok(CODES.includes(code), code);
        const isHostile = entries.some(
          ({ name, flags, method }) =>
            isHostileName(name) ||
            OWN.has(name.toLowerCase()) ||
            ((flags ?? 0) & 0x41) !== 0 ||
            (method ?? 8) > 8,
        );
        if (isHostile && damage.length === 0) assert.equal(code, "E_PACKAGE_INVALID");
      }),
    close: () => world.close(),
  };
}
