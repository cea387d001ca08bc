import { DamagedRoots, type RootPolicy, Roots } from "../../store/roots/roots.js";

/** Whether runs of a store may read in a directory. Of a store whose list of directories is damaged they may nowhere. */
export function isOpenToRuns(dir: string, storeDir: string, policy: RootPolicy): boolean {
  try {
    return new Roots(storeDir, policy).permit(dir, "read").ok;
  } catch (error) {
    if (error instanceof DamagedRoots) return false;
    throw error;
  }
}
