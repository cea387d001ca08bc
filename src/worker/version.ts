import { readFileSync } from "node:fs";
import { packageFile } from "../package-place.js";

/** The version of this package; empty where its manifest does not say it. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(packageFile("package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "";
}
