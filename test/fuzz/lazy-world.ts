import { World } from "../corpus/world.js";

const MAX_USES = 300;

/** A world that is made when it is first needed, and made anew before its logs grow long or after a failure. */
export class LazyWorld {
  private world: World | undefined;
  private uses = 0;

  async use(action: (world: World) => Promise<void>): Promise<void> {
    if (this.uses >= MAX_USES) await this.close();
    this.uses += 1;
    this.world ??= await World.open();
    try {
      await action(this.world);
    } catch (error) {
      // What a failed case left behind must not fail the next ones.
      this.world.close();
      this.world = undefined;
      this.uses = 0;
      throw error;
    }
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
}
