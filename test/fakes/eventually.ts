const LONGEST_PAUSE_MS = 250;

/**
 * Looks again and again until something holds, ever more seldom: most looks ask Temporal something, and what is waited for needs the machine as
 * well. Whoever waits for what never comes is ended by the test's own timeout.
 */
export async function eventually(holds: () => boolean | Promise<boolean>, pauseMs = 20): Promise<void> {
  for (let pause = pauseMs; !(await holds()); pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
