import { expect, test } from "vitest";
import { potOf, said } from "../step-files.js";

/* A line may lead on in one clause and end the workflow in another: both are ways. */

const ON = "`./step-02-leaf.md`";

test.each([
  [`If approved, load ${ON}; on rejection end the workflow.`, "on rejection end the workflow."],
  [`If approved, load ${ON}. If rejected, stop the workflow.`, "If rejected, stop the workflow."],
  [`If it is warm go to ${ON}, otherwise exit the workflow here.`, "otherwise exit the workflow here."],
  [`Load ${ON} if approved, or else end the workflow.`, "or else end the workflow."],
  [`Load ${ON} when it is warm – on refusal, exit the workflow`, "on refusal, exit the workflow"],
  [
    `- Approved: ${ON} (rejected: end the workflow)\n- Reject: exit the workflow`,
    "- Reject: exit the workflow",
  ],
  [`Ask. If they refuse, end the workflow. Else load ${ON}.`, "If they refuse, end the workflow."],
  [`Si approuvé, charger ${ON}. Si rejeté, terminer le workflow.`, "Si rejeté, terminer le workflow."],
  [`Load ${ON}\n\n- Oui → suivre\n- Non → fin du workflow`, "- Non → fin du workflow"],
  [`Charger ${ON}, sinon quitter le workflow.`, "sinon quitter le workflow."],
  [`Charger ${ON}. En cas de refus, quitter le workflow.`, "En cas de refus, quitter le workflow."],
  [`Charger ${ON}. En cas d'erreur, quitter le workflow.`, "En cas d'erreur, quitter le workflow."],
  [
    `Load ${ON}.\n\n- IF X: show how it went and exit the workflow`,
    "- IF X: show how it went and exit the workflow",
  ],
  [`Load ${ON}. If they ask to leave, end the workflow.`, "If they ask to leave, end the workflow."],
  [`Wenn genehmigt, lade ${ON}. Bei Ablehnung den Workflow beenden.`, "Bei Ablehnung den Workflow beenden."],
  [`Wenn warm, lade ${ON}, sonst beende den Workflow.`, "sonst beende den Workflow."],
  [
    `Cargar ${ON}. Si se rechaza, terminar el flujo de trabajo.`,
    "Si se rechaza, terminar el flujo de trabajo.",
  ],
  [
    `Carregar ${ON}. Se rejeitado, encerrar o fluxo de trabalho.`,
    "Se rejeitado, encerrar o fluxo de trabalho.",
  ],
  [
    `Load ${ON}. Se rifiutato, terminare il flusso di lavoro.`,
    "Se rifiutato, terminare il flusso di lavoro.",
  ],
  [`Load ${ON}. Bij afwijzing de workflow beëindigen.`, "Bij afwijzing de workflow beëindigen."],
  [`Load ${ON}. Если отклонено, завершить рабочий процесс.`, "Если отклонено, завершить рабочий процесс."],
  [`加载 ${ON}。如果拒绝，结束工作流。`, "如果拒绝，结束工作流"],
  [`Load ${ON}。拒否された場合はワークフローを終了する。`, "拒否された場合はワークフローを終了する"],
  [`Load ${ON}. 거부되면 워크플로를 종료합니다.`, "거부되면 워크플로를 종료합니다."],
  [`IF approved THEN load ${ON} ELSE IF rejected THEN END WORKFLOW`, "ELSE IF rejected THEN END WORKFLOW"],
  [`- IF C: load ${ON}\n- IF F: End the session`, "- IF F: End the session"],
  [`- FAIL: load ${ON}\n- COMPLETE: Workflow finished. Go and sip.`, "- COMPLETE: Workflow finished."],
  [
    `Load ${ON}. If the pot leaks: **stop the run** and say so.`,
    "If the pot leaks: stop the run and say so.",
  ],
  [`gate: approve → ${ON}; reject → end.`, "reject → end."],
  [`Load ${ON} if it is warm. End the workflow if it is rejected.`, "End the workflow if it is rejected."],
  [
    `- **HALT** the entire workflow if the leak cannot be mended.\n- Load ${ON}`,
    "- HALT the entire workflow if the leak cannot be mended.",
  ],
  [
    `1. Stop the workflow immediately when the guest leaves\n2. Load ${ON}`,
    "Stop the workflow immediately when the guest leaves",
  ],
  [`Load ${ON}. Abort workflow unless the guest agrees.`, "Abort workflow unless the guest agrees."],
  [`Load ${ON}. Exit the workflow if no leaf is needed.`, "Exit the workflow if no leaf is needed."],
  [`Load ${ON}. Stop the workflow if the pot is not done.`, "Stop the workflow if the pot is not done."],
  [
    `Load ${ON}. End the workflow when nothing is left to be done.`,
    "End the workflow when nothing is left to be done.",
  ],
  [
    `Load ${ON}. Stop the workflow if the guest does not want to continue.`,
    "Stop the workflow if the guest does not want to continue.",
  ],
  [`- Approved: ${ON}\n- Rejected: end`, "- Rejected: end"],
  [`- Yes → ${ON}\n- No → END`, "- No → END"],
  [`| Case | Next step |\n| --- | --- |\n| warm | ${ON} |\n| cold | End |`, "cold End"],
])("a clause that ends the workflow is a way to the end: %s", (lines, condition) => {
  const { made, to, conditions } = potOf(...lines.split("\n"));
  expect(to).toEqual(["step-02-leaf", "finished"]);
  expect(conditions[1]).toBe(`finished: ${condition}`);
  expect(said(made).filter((line) => !/not known to lead|no step leads here/.test(line))).toEqual([]);
});

test.each([
  `Load ${ON}. Never end the workflow before the user says so.`,
  `Load ${ON}. If in doubt, do not end the workflow.`,
  `If the user wants to end the workflow, ask why; else load ${ON}.`,
  `Load ${ON}. Until the user ends the workflow, go on.`,
  `If rejected, stop the workflow and wait for the user; then load ${ON}.`,
  `Load ${ON}. When the workflow ends, the pot is clean.`,
  `Load ${ON}. Si rejeté, ne pas terminer le workflow.`,
  `加载 ${ON}。如果拒绝，不要结束工作流。`,
  `Load ${ON}.\n\n- draft → review\n- review → done`,
  `Load ${ON}. If asked, end the session log with a line.`,
  `Load ${ON}. If the test fails, stop run 2.`,
  `Load ${ON}. On rejection end the workflow step and ask again.`,
  `- start: 0\n- Load ${ON}\n\n- range: end`,
  `Load ${ON}.\n\n| Phase | Start | End |\n| --- | --- | --- |\n| brew | step-01 | end |`,
  `Load ${ON}.\n\nLoad \`data/x.md\`\n- Case A → end`,
  `Load ${ON}.\n\nIf the user wants to stop, explain how to end the session without losing work.`,
  `Load ${ON}.\n\nIf the user says that they want to end the session, ask whether to save first.`,
  `Load ${ON}.\n\nIf the user asks how to exit the workflow, explain that progress is saved.`,
  `Load ${ON}.\n\nIf the tests fail, stop the run and fix them, then run them again.`,
  `Load ${ON}.\n\nIf the build fails: stop the run, fix the error, and start it again.`,
  `Load ${ON}.\n\nIf the server is up, stop the session first, then restart it.`,
  `Load ${ON}.\n\nIf an interview session is open, end the session and open a new one.`,
  `Load ${ON}.\n\nWhen you finish the session, update the table.`,
  `Load ${ON}.\n\nWhen no idea comes any more, end the session and move on to the synthesis.`,
  `Load ${ON}.\n\nIf time is up, conclude the session and load what the plan names.`,
  `Load ${ON}.\n\nIf the user leaves, close the session token.`,
  `Load ${ON}.\n\n- Cancel → stop the session timer\n- Quit: leave the session running`,
  `Load ${ON}.\n\n| Exit | leave the workflow open |`,
  `Load ${ON}. Do not halt the workflow if the check fails.`,
  `Load ${ON}. Never stop the workflow when it is cold.`,
  `Load ${ON}. Stops the workflow if the pot is not warm within a minute.`,
  `Load ${ON}. A finding stops the workflow only when every remedy contradicts it.`,
  `Load ${ON}. Halt the workflow if a shard is found, until the guest has removed it.`,
  `Load ${ON}. Stop the workflow if the guest has to choose and wait for the answer.`,
  `Load ${ON}. Stop the workflow when you need an answer.`,
  `Load ${ON}. Halt the workflow if there are open questions.`,
  `Load ${ON}. End the workflow step if it is warm.`,
  `Load ${ON}. Exit the workflow file when it is saved.`,
  `Load ${ON}. End the workflow when all steps are complete.`,
  `Load ${ON}. Exit the workflow once everything is done.`,
  `Load ${ON}. Terminate the session when the page has loaded.`,
  `Load ${ON}. The hook will end the workflow if it is cold.`,
  `Load ${ON}. You can stop the workflow if you like: what is there is saved.`,
  `Load ${ON}. Leave the workflow if it works.`,
  `Load ${ON}. Stop the workflow if necessary.`,
  `Load ${ON}. Stop the workflow if the lid is not there and continue later.`,
  `Load ${ON}. Stop the workflow if no lid is there, then look for one.`,
  `Load ${ON}. Stop the workflow if no answer came, wait for it.`,
  `Load ${ON}. Halt the workflow if the guest has not answered all questions.`,
  `Load ${ON}. Say how to end the workflow if it is cold.`,
  `Load ${ON}. Stop the workflow if the lid breaks, mend it and continue.`,
  `Load ${ON}. The guard can abort the workflow when the pot leaks.`,
  `Load ${ON}. Se falhar, parar o processo e tentar de novo.`,
  `Load ${ON}. Si procede, cerrar el flujo de datos.`,
  `Load ${ON}. Wenn der Workflow endet, wird das Dokument gespeichert.`,
  `Load ${ON}. Falls der Nutzer den Workflow beenden möchte, frage nach dem Grund.`,
  `Load ${ON}. Wenn der Benutzer fragt, wie man den Workflow beenden kann, erkläre es.`,
  `Load ${ON}. Si l'utilisateur veut quitter le workflow, demandez-lui pourquoi.`,
  `Load ${ON}. Si une erreur survient, arrêter le processus et le relancer.`,
  `Load ${ON}. Si el usuario quiere terminar el flujo, pregunta por qué.`,
  `Load ${ON}. Si hay un error, detener el proceso y reiniciarlo.`,
  `Load ${ON}. Se o usuário quiser sair do fluxo de trabalho, pergunte o motivo.`,
  `Load ${ON}. Se l'utente vuole uscire dal flusso di lavoro, chiedi il motivo.`,
  `Load ${ON}. Если пользователь хочет завершить процесс, спросите почему.`,
  `Load ${ON}. При ошибке остановить процесс и запустить его снова.`,
  `Load ${ON}。如果用户想退出工作流，请先确认。`,
  `Load ${ON}。如果用户询问如何结束流程，请解释。`,
  `Load ${ON}。ユーザーがワークフローを終了したい場合は、理由を聞く。`,
  `Load ${ON}. 사용자가 워크플로를 종료하려면 이유를 묻는다.`,
])("what tells of the end, or denies it, is no way there: %s", (lines) => {
  expect(potOf(...lines.split("\n")).to).toEqual(["step-02-leaf"]);
});

test.each([
  [`If warm, load ${ON}\n3. Else: **COMPLETE.** Say what was made.`, "3. Else: COMPLETE. Say what was made."],
  [`- If warm → load ${ON}\n- Else → done`, "- Else → done"],
  [`If warm:\n  Read ${ON} and follow it.\nElse:\n  **COMPLETE.** Say so.`, "Else: COMPLETE. Say so."],
  [`If warm:\n- load ${ON}\n\nOtherwise:\n- End the workflow.`, "Otherwise: End the workflow."],
])("what is done else may be the end: %s", (lines, condition) => {
  expect(potOf(...lines.split("\n")).conditions).toContain(`finished: ${condition}`);
});

test.each([
  `Load ${ON}.\n\n- If \`docs/notes.md\` is there: read it\n- Else: done.`,
  `Load ${ON}.\n\n- If the lid is off: put it on\n- Else: done.`,
  `If warm, load ${ON}\nElse: complete the list.`,
  `If warm, load ${ON}\nElse: done with the pot, wait.`,
  `If warm:\n- load ${ON}\n\nElse:\n- load \`./step-03-cup.md\``,
])("and is none where it is something else: %s", (lines) => {
  expect(potOf(...lines.split("\n")).to).not.toContain("finished");
});

test.each([
  "- IF X (Exit): Display the summary and exit",
  "- IF E (Exit): Show how it went and exit validation",
  "- IF S (Save): Confirm, show the summary, exit",
  "- IF P: Send the guest to `{other_workflow}`. **EXIT Tea.**",
  "- **[t]:** Send the guest to `{other_workflow}`. **EXIT Tea.**",
  '- **If 3:** Display: "It stays. Exiting." Exit.',
  "**[X] Exit** - Exit edit mode",
  "[S]ave - Save the report and exit",
  "3. **[X] Exit** - Cancel this operation",
  '- IF X: Display "cancelled" and HALT (exit code 6). Nothing was poured yet.',
  "- IF X: HARD HALT with exit code 6 (`cancelled`).",
  "- IF X: Exit with guidance",
  "> **[Q] Quit** — nothing to pour",
  "**[X] Quitter** - Quitter et examiner",
])("an item of a menu that leaves, whatever it calls the workflow, leads to the end: %s", (line) => {
  expect(potOf(`- IF C: load ${ON}`, line).to).toEqual(["step-02-leaf", "finished"]);
});

test.each([
  "- IF P: Talk it over; when they exit, show the menu anew",
  "- IF X: exit the loop",
  "- IF X: exit and return to the menu",
  "- IF X: Exit, then proceed to `./step-02-leaf.md`",
  "1. Run the tool: on exit code 1, retry",
  "2) Save and exit the editor",
  "- [E] Exit Party Mode - the guests leave",
  "- IF Q: do not exit before it is saved",
  "- [T] Type q to quit the pager",
  "- IF A: run it (exit code 0 expected)",
  "- IF E: explain what the exit codes are",
  "- [V] Taste: on a non-zero exit, show the log",
  "- IF C: save, then exit this step and load the next one",
  "[P] Party Mode — exit any time",
  "- IF P: start the party; exit returns here",
  "[A] Elicitation - type exit to leave",
  "- IF A: run it. Exit when done and show the menu",
  "- [X] Exit this submenu",
  "- [E] Exit persona",
  "- [x] Exit criteria are met",
  "- [x] Quit button works.",
  "(b) the process exits, and logs",
  "(2) graceful exit.",
  "a) users quit. Why?",
  "[E] Early exit, skip the rest",
  "Completion message: Workflow complete.",
])("an item of a menu that leaves something else, or goes on, does not: %s", (line) => {
  expect(potOf(`- IF C: load ${ON}`, line).to).toEqual(["step-02-leaf"]);
});

test("of what a menu offers and what is done then, the latter says when the workflow is left", () => {
  const { conditions } = potOf(
    `- IF C: load ${ON}`,
    "",
    "[X] Exit - Leave it",
    "",
    "- IF X (Exit): Say goodbye and exit",
  );
  expect(conditions).toContain("finished: - IF X (Exit): Say goodbye and exit");
});
