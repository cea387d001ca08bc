import { ASIDE } from "./line-words.js";
import { isDenied } from "./denials.js";
import { deniedElsewhere } from "./other-languages.js";

/* Where one clause of a line ends the whole workflow, whatever the others do: "If approved, load `./x.md`; on rejection end the workflow." */

const MAX_LINE = 2_000;

/** What is answered, or what came of something, right before a colon: of "Goal: end the workflow" it is no case. */
const ANSWERED = String.raw`(?:(?:if|the user|wenn|si|se)\s){0,2}(?:approv|accept|complete(?=d?\s{0,2}[:：])|reject|declin|den(?:y|ied)|cancel|refus|abort|abandon|exit|quit|stop|done|fail|invalid|error|n(?:o|on|ein|ee|ão)(?![\p{L}])|y(?:es)?(?![\p{L}])|oui|s[íi](?![\p{L}])|sim(?![\p{L}])|ja(?![\p{L}])|rejet|recha[cz]|rejeit|rifiut|abgelehnt|ablehn|abbruch|abbrech|annul|approuv|aprob|aprov|genehmigt|échec|erreur|fallo|falha|fehler|afgewezen|да(?![\p{L}])|нет(?![\p{L}])|отклон|отказ|отмен|ошибк|是|否|拒绝|拒絕|拒否|不通过|失败|失敗|取消|いいえ|はい|아니|거부|취소|실패)\p{L}{0,8}(?:\s[\p{L}-]{1,20}){0,3}\s?(?:\([^()]{0,60}\))?\s{0,2}[:：]`;

/** What a clause begins with that says when, in the languages that are read. */
const WHEN = String.raw`(?:if|when|unless|once|on|upon|in case of|otherwise|else|wenn|falls|bei|im falle?|sonst|andernfalls|ansonsten|si|s['’]ils?|sinon|en cas de|en caso de|de lo contrario|se|senão|caso|em caso de|caso contrário|altrimenti|in caso di|als|bij|indien|anders|если|при|иначе|в случае)(?![\p{L}-])|en cas d['’]|(?:如果|若|否则|否則)`;
/** A new clause begins behind a sentence, or where the next one says when. */
const CLAUSES = new RegExp(
  String.raw`(?<=[.!?;…])["')\]]{0,2}\s+|[；。！？]\s?|\s[–—]\s|[,，、]?\s?(?<![\p{L}\p{N}-])(?=(?:and|or|but|und|oder|aber|et|ou|mais|y|o|pero|e|mas|ma|of|en|и|или|а)\s(?:${WHEN}))|[,，]\s?(?=${WHEN})|(?<!\b(?:or|(?:any|some|every|no)\s?(?:thing|one|body)|what|who)|[-•])\s(?=(?:otherwise|else|sonst|andernfalls|sinon)(?![\p{L}-]))|[,，]?\s(?=or (?:else )?(?:exit|end|finish|terminate|stop|quit|leave|abort)s?\s)`,
  "iu",
);
const JOINS = /^(?:and|or|but|und|oder|aber|et|ou|mais|y|o|pero|e|mas|ma|of|en|и|или|а)\s(?!else\b|cas\b)/iu;

/** "Otherwise exit …", "or end …", "on rejection end …": what leads on stands right behind. */
const RIGHT_BEFORE = new RegExp(
  String.raw`(?:^|[.!?;]\s)[-\s\d.)]{0,8}(?:(?:otherwise|else|or|or else|if not|if so)[,:]?\s|(?:on|upon|in case of)\s(?:[\w-]{1,40}\s){0,3}[\w-]{1,40}[,:]?\s|(?:else\s)?(?:if|when|once|unless)\s[^:→;]{1,120}?(?:,|:|→|->|\sthen)\s{0,2}|[^:→|]{1,60}(?:→|->|=>)\s{0,2}|${ANSWERED}\s{0,2})(?:(?:then|please|simply|just|immediately|gracefully|politely|you (?:may|can|must|should))\s){0,3}$`,
  "iu",
);
const VERBS = "exit|end|finish|terminate|stop|quit|leave|abort|halt|close|conclude";
/** A session or a run is meant alone: "close the session token" is something else. */
const ALONE = String.raw`(?=\s{0,3}(?:$|[^\w\s-])|\s(?:here|now|there|then|early|altogether|instead|[a-z]{2,20}ly|and|or|but|with|without|by|as|for|if|when|once|unless|because|so|after|before|at|until|to)\b)`;
const WORKFLOW = `(?:(?:(?:the |this )?(?:whole |entire |current )?workflow|(?:(?:the |this )?(?:whole |entire |current )?session|(?:the|this) (?:whole |entire |current )?run)${ALONE}))`;
/** Behind it stands what else is meant, or what is done next: "end the session log", "stop the run, fix it and try again". */
const NOT_BEHIND = String.raw`(?!\s(?:step|file|document|plan|section|summary|overview|status|editing|session|state|log|notes|time|of|in|on|first|later|open|running|as|alone|unchanged)\b|[-_]|[^.;:!?]{0,60}?(?:,|\sand|\sthen)\s(?:then\s)?(?:ask|wait|fix|retry|try|repeat|restart|re-?run|continue|proceed|resume|(?:move|go) on|load|(?:open|start|begin)\s(?:it|them|over|again|an(?:other|ew)|a new (?:one|session|run)))\b)`;
/** What ends the whole workflow, in English. */
export const ENDS_WORKFLOW = String.raw`\b(?:${VERBS})s? ${WORKFLOW}\b${NOT_BEHIND}(?![\w-])`;
const ENDS = new RegExp(
  String.raw`${ENDS_WORKFLOW}|\b(?:the workflow (?:ends|stops|terminates|is (?:over|done|completed?|finished))|workflow (?:is )?(?:over|done|completed?|finished|ends))\b(?![\w-])`,
  "i",
);
/** "End the workflow if it is rejected": when stands behind. What the workflow waits for, and that all is done, is no such case; that nothing is to be done is one. */
const ENDS_IF =
  /^[-\s\d.)]{0,8}(?:(?:then|please|immediately)\s){0,2}(?:exit|end|terminate|stop|quit|abort|halt) (?:the |this )?(?:whole |entire |current )?workflow(?:\s(?:here|early|now|[a-z]{2,20}ly)){0,2}\s(?:only\s)?(?:if|when|unless|once)\s(?![^.;!?]{0,300}\b(?:(?:until|wait|ask|fix|questions?|retr(?:y|ies)|then)|(?<!\b(?:not?|cannot|nothing)\s(?:(?!and\b|or\b|but\b)[\w-]{1,20}\s){0,4})(?:resum|continue|needs?|needed|necessary|possible|applicable|done|complete[ds]?|finished))\b)/i;
/** Right before it: what somebody wants, asks or is told. */
const TOLD =
  /\b(?:how|want\w{0,3}|wish\w{0,2}|like\w{0,2}|ask\w{0,3}|tr(?:y|ies|ying))\s(?:[\w'’]{1,20}\s){0,2}to\s$|\b(?:that|whether|how|why)\s(?:(?!\band\b)[^,:→]){0,60}$/i;

/** Whether what ends the workflow is only told of there. */
export function isTold(lead: string): boolean {
  return TOLD.test(lead);
}

/** The same in other languages: what ends, and what it ends. */
const FLOW = String.raw`(?:workflows?|ablaufs?|flux(?: de travail|(?!\sde\s))|processus|flujo(?: de trabajo|(?!\sde\s))|proceso|fluxo(?: de trabalho|(?!\sde\s))|processo|flusso(?: di lavoro|(?!\sdi\s))|werkstroom|рабоч\p{L}{1,4} процесс\p{L}{0,2}|процесс\p{L}{0,2}|воркфлоу)`;
const THE = String.raw`(?:(?:den|der|dem|diesen|des|le|du|au|ce|el|del|al|este|o|do|ao|il|lo|dal|questo|de|het|van de|van het|этот|весь|этого)\s){0,2}`;
const ENDS_ELSEWHERE = [
  String.raw`(?:beenden?|beendet|verlassen?|stoppen?|abbrechen)\s${THE}${FLOW}`,
  String.raw`${THE}${FLOW}\s(?:beenden|abbrechen|verlassen|stoppen|endet|beëindigen|stopt)`,
  String.raw`(?:termine[rz]?|arrête[rz]?|quitte[rz]?|finir|finissez|abandonne[rz]?|mett(?:re|ez) fin|fin|termin(?:ar|a|e|o)|finaliz(?:ar|a|e)|finalice|detener|detén|detenga|sal(?:ir|ga)?|acab(?:ar|a|e)|cerrar|abort(?:ar|a|e)|encerr(?:ar|e|a)|saia|sair|par(?:ar|e)|fim|conclu(?:dere|di|ir|a)|chiudere|chiudi|esci|uscire|interromp(?:ere|i)|terminare|fine|beëindig|stop|verlaat|einde|ende|заверш(?:ить|и|ите)|останов(?:ить|и|ите)|прерв(?:ать|и|ите)|конец)\s${THE}${FLOW}`,
].map((form) => String.raw`(?<![\p{L}\p{N}-])(?:${form})(?![\p{L}\p{N}-])`);
const LOGOGRAPHIC =
  "(?:结束|結束|终止|終止|退出|中止)(?:整个|整個|本|该|該|当前|當前|此)?(?:工作流程?|流程)|工作流程?(?:到此)?(?:结束|結束|终止|終止)|ワークフロー(?:全体)?(?:を|は)?(?:終了|中止|終え)|워크플로우?(?:를|을)?\\s?(?:종료|끝내|중단)";
const ELSEWHERE = new RegExp(`${ENDS_ELSEWHERE.join("|")}|${LOGOGRAPHIC}`, "iu");
const CONJUNCTION = String.raw`(?:wenn|falls|si|s['’]ils?|se|caso|als|indien|если|if|when|unless|once)(?![\p{L}-])|如果|若`;
/** What says when: behind a conjunction its clause or one word ("Si rejeté, …"), else a few words ("Bei Ablehnung …", "sinon …"). */
const SAID_WHEN = [
  String.raw`(?:${CONJUNCTION})[^:→]{1,120}?(?:[,，、:→]|则|就|\s(?:dann|alors|entonces|então|allora|dan|то))`,
  String.raw`(?:${CONJUNCTION})\s\p{L}{1,20}(?=\s{0,2}$)`,
  String.raw`(?!${CONJUNCTION})(?:${WHEN})[^,，:→]{0,60}[,，:]?`,
].join("|");
/** Before it, that it is said of a case: when, an answer, a letter, or what such languages say behind a case. */
const OF_A_CASE = new RegExp(
  String.raw`^[-\s\d.)]{0,8}(?:${SAID_WHEN})|^[-\s\d.)]{0,8}(?:[[(]\p{L}\d?[\])]|${ANSWERED}|[^:：→|.]{1,60}(?:→|->|=>))|(?:場合|たら|なら|れば|면)`,
  "iu",
);
/** What somebody may, wants to or asks how to do, and what is begun anew. */
const TOLD_ELSEWHERE =
  /(?:(?<!\p{L})(?:wie|ob|dass|comment|cómo|como|come|hoe|dat|que|как|что)\s|如何|怎么|怎样)[^,，、:→]{0,40}$/iu;
const NOT_BEHIND_ELSEWHERE =
  /^\s(?:kann|können|möchte|will|wollen|soll|sollen|darf|muss|wil|kan|moet)(?!\p{L})|^[^.;:!?]{0,40}?[,\s](?:et|y|e|en|и|und|puis|luego|dann|poi|затем)\s(?:[\p{L}-]{1,12}\s){0,2}(?:relanc|recommenc|red[ée]marr|repren|reinici|reintent|riavvi|riprend|riprov|recome[cç]|tent|neu|erneut|weiter|fortfahr|fortsetz|continu|opnieuw|снова|заново|перезапуст|повтор|продолж)/iu;
const ELSEWHERE_ON = /\.md\b|\bstep[-_]\d|\{\w{0,60}(?:step|next)\w{0,60}\}/i;
/** "If the workflow ends, …", "until the user ends the workflow" */
const ASKS =
  /\b(?:if|when|unless|until|before|after|once|wenn|falls|bevor|nachdem)\b(?![^,:→]{0,120}\b(?:then|dann)\b)[^,:→]{0,120}$/i;
const NEVER = /\b(?:never|not|don['’]t|without|before|until|nie|niemals|nicht)\b[^.;:!?]{0,80}$/i;

/** "- Rejected: end", "No → END", "| Rejected | end |": the end in the place where lines beside it name a step. */
const END = "(?:end|exit|finish|fin|ende|fim|fine|конец|结束|結束|終了|종료)";
const BARE_END = new RegExp(
  String.raw`^(?!\|)[-\s\d.)]{0,8}(?:${ANSWERED}|[^:：→|]{1,60}(?:→|->|=>))\s{0,4}${END}(?:\s(?:here|of (?:the )?workflow))?[.!。]?$|^\|[^|]{1,80}\|(?:[^|]{0,200}\|){0,4}\s{0,4}(?:→|->|=>)?\s{0,2}${END}\s{0,4}\|$`,
  "iu",
);
/** "Else: COMPLETE. Show the summary.": where the lines above it say where the other cases lead. */
const ELSE_END =
  /^[-\s\d.)]{0,8}(?:else|otherwise|sonst|andernfalls)\s{0,2}(?:[:,]|→|->|=>)?\s{1,4}(?:complete|completed|done|finished|fertig|end|exit)(?:[.!](?=\s|$)|$)/i;
const NAMES_STEP = /\.md\b|\bstep[-_]\d/i;
/** A line beside it that leads to a step in the same form. */
const WAY_BESIDE = /(?:[:：→|]|->|=>).{0,200}(?:\.md\b|\bstep[-_]\d)/i;
/** The line below the head of a table. */
const BELOW_HEAD = /^\|[\s:|-]{1,200}\|$/;

/** The clause of a line, without marks, that ends the whole workflow in a case; undefined where none does. */
export function endingClause(line: string): string | undefined {
  if (line.startsWith("|")) return undefined; // a row's cells are no clauses
  const clauses = line.slice(0, MAX_LINE).split(CLAUSES);
  const isOfWays = NAMES_STEP.test(line);
  return clauses
    .map((clause) => clause.trim().replace(JOINS, ""))
    .find((clause) => endsInACase(clause) || (isOfWays && BARE_END.test(clause)));
}

function endsInACase(clause: string): boolean {
  if (ELSEWHERE_ON.test(clause)) return false;
  const said = clause.replaceAll(ASIDE, " ");
  if (ENDS_IF.test(said)) return true;
  const at = ENDS.exec(said)?.index;
  if (at !== undefined && RIGHT_BEFORE.test(said.slice(0, at)) && !ASKS.test(said.slice(0, at)))
    return !isDenied(said.slice(0, at), NEVER);
  const elsewhere = ELSEWHERE.exec(said);
  if (elsewhere === null) return false;
  const lead = said.slice(0, elsewhere.index);
  const behind = said.slice(elsewhere.index + elsewhere[0].length);
  if (!OF_A_CASE.test(lead) || TOLD_ELSEWHERE.test(lead) || NOT_BEHIND_ELSEWHERE.test(behind)) return false;
  return !isDenied(lead, NEVER) && !deniedElsewhere(lead);
}

/** The item or row of a list of ways that leads to the end; `isWay` tells whether a line leads to a step. */
export function bareEnd(lines: readonly string[], isWay: (line: string) => boolean): string | undefined {
  const said = lines.filter((line) => line !== "");
  const found = said.find((line, index) => {
    if (NAMES_STEP.test(line)) return false;
    if (ELSE_END.test(line)) return isWay(said[index - 1] ?? "");
    if (!BARE_END.test(line.slice(0, MAX_LINE)) || BELOW_HEAD.test(said[index + 1] ?? "")) return false;
    return [said[index - 1], said[index + 1]].some((beside) => WAY_BESIDE.test(beside ?? ""));
  });
  return found?.replaceAll(/\s*\|\s*/g, " ").trim();
}
