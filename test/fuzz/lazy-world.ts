interface Closable {
  close(): void | Promise<void>;
}

/**
 * A world that is made when it is first needed, and made anew before it grows large or after a failure. It serves one
 * case at a time: the fuzzer goes on when time is up, though a case may still be under way.
 */
export class LazyWorld<World extends Closable> {
  private readonly make: () => Promise<World>;
  private readonly maxUses: number;
  private world: World | undefined;
  private uses = 0;
  private last: Promise<void> = Promise.resolve();

  constructor(make: () => Promise<World>, maxUses: number) {
    this.make = make;
    this.maxUses = maxUses;
  }

  use(action: (world: World) => Promise<void>): Promise<void> {
    const one = this.last.then(() => this.run(action));
    this.last = one.catch(() => undefined);
    return one;
  }

  async close(): Promise<void> {
    await this.last;
    await this.leave();
  }

  private async run(action: (world: World) => Promise<void>): Promise<void> {
    if (this.uses >= this.maxUses) await this.leave();
    this.uses += 1;
    this.world ??= await this.make();
    try {
      await action(this.world);
    } catch (error) {
      await this.leave(); // what a failed case left behind must not fail the next ones
      throw error;
    }
  }

  private async leave(): Promise<void> {
    const { world } = this;
    this.world = undefined;
    this.uses = 0;
    await world?.close();
  }
}
