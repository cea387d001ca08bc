import { listPackage } from "../../src/store/packages/package-files.js";
import { type PackageReport, loadPackage as loadListed } from "../../src/store/packages/package-loader.js";

/** Reads and checks what lies in a package directory. */
export async function loadPackage(dir: string): Promise<PackageReport> {
  return loadListed(await listPackage(dir));
}
