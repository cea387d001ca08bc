import { sleep, type WorkflowInterceptors } from "@temporalio/workflow";

/** The change as it must not be made. */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        if (input.activityType === "model.turn") await sleep(1);
        return next(input);
      },
    },
  ],
});
