/**
 * How long a call into the workflow VM may take: among the SDK's options, but not among their types, and 5 seconds by default. The clock
 * goes on while a process stands still (Ctrl-Z, a paused container), and what is cut short in the VM can leave the thread's hooks
 * corrupted, which ends the process. The workflow code is ours, and has no loop without a bound.
 */
export const PATIENT_VM = { isolateExecutionTimeout: "1 day" } as const;
