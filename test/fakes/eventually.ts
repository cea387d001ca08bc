/** Looks again and again until something holds; whoever waits for what never comes is ended by the test's own timeout. */
export async function eventually(holds: () => boolean | Promise<boolean>, pauseMs = 20): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
