// A workflow of a run's type that is none of Interlock's: it says of itself, and answers, what it was started with.
const { condition, defineQuery, defineUpdate, setHandler } = require("@temporalio/workflow");

exports.graphRun = async ({ says, returns }) => {
  setHandler(defineQuery("runState"), () => says);
  for (const name of ["answer", "budget"]) setHandler(defineUpdate(name), () => says);
  if (returns !== undefined) return returns;
  await condition(() => false);
};
