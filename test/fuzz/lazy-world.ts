import { World } from "../corpus/world.js";

const MAX_USES = 300;

/** A world that is made when it is first needed, and made anew before its logs grow long or after a failure. */
export class LazyWorld {
  private world: World | undefined;
  private uses = 0;

  async get(): Promise<World> {
    if (this.uses >= MAX_USES) await this.close();
    this.uses += 1;
    this.world ??= await World.open();
    return this.world;
  }

  async close(): Promise<void> {
    const { world } = this;
    this.world = undefined;
    this.uses = 0;
    if (world === undefined) return;
    try {
      await world.checkChain();
    } finally {
      world.close();
    }
  }

  /** What a failed case left behind must not fail the next ones. */
  discard(): void {
    this.world?.close();
    this.world = undefined;
    this.uses = 0;
  }
}
