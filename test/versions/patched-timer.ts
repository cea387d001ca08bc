import { patched, sleep, type WorkflowInterceptors } from "@temporalio/workflow";

/** The change as it is to be made: an execution that was past this point when it came goes on without it. */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        if (input.activityType === "model.turn" && patched("timer-before-turn")) await sleep(1);
        return next(input);
      },
    },
  ],
});
