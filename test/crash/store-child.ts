import { type StoreTask, doTask } from "./store-task.js";

const task = JSON.parse(process.argv[3] ?? "null") as StoreTask; // written by the test
void doTask(task).then((result) => process.stdout.write(JSON.stringify(result)));
