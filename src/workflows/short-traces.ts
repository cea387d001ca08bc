/*
 * Loaded by the bundler's `preloadModules`, before the first run of a worker. Temporal's SDK takes a stack trace for each promise of
 * workflow code, and looks up where each of its lines comes from: a third of that code's CPU time, with ten lines. They are shown
 * where a workflow waits (its call stack), and in failures of workflow code.
 */
Error.stackTraceLimit = 4;
