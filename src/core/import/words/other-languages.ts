import { isDenied } from "./denials.js";

/** Words of languages that are not read as English and German are: what leads on or back, and what says when. */

const FRENCH =
  "charge[rz]?|lire|lis(?:ez)?|suivre|suis|suivez|exécute[rz]?|passe[rz]?(?=(?: \\p{L}+)? à)|continue[rz]?|poursuiv(?:re|ez|s)|retourne[rz]?|revenir|revenez|reviens|aller|allez|repren(?:dre|ez|ds)";
const SPANISH =
  "carg(?:ar|a|ue)|le(?:er|e|a)|seguir|sig(?:ue|a)|ejecut(?:ar|a|e)|continu(?:ar|e)|contin(?:úa|úe)|volver|vuelv(?:e|a)|regres(?:ar|a|e)|(?:ve|ir|vaya|pasa|pasar|pase)(?= al? )|avan(?:zar|za|ce)";
const PORTUGUESE =
  "carreg(?:ar|ue)|ler|leia|siga|execut(?:ar|e)|prossiga|prosseguir|continu(?:ar|e)|volt(?:ar|e)|retorn(?:ar|e)|vá|avan(?:çar|ce)";
const ITALIAN =
  "caric(?:a|are)|legg(?:i|ere)|segu(?:i|ire)|esegu(?:i|ire)|prosegu(?:i|ire)|(?:ri)?torna(?:re)?|vai|passa(?:re)?(?= a )|continua(?:re)?";
const DUTCH = "ga (?:terug|door|verder|naar)|keer terug|lees|volg|laad";
const LETTERS = [FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH].join("|");
/** Alphabets without blanks between words, or with endings of many kinds: what words begin with. */
const BEGINNINGS =
  "加载|加載|载入|載入|读取|讀取|阅读|閱讀|执行|執行|遵循|进入|進入|返回|回到|跳转|跳轉|跳到|转到|轉到|前往|继续|繼續|読み込|読んで|読む|実行|従[いうっ]|進[むみんめ]|戻[るりっ]|移動|읽|로드|실행|따르|진행|돌아[가갑간]|이동|загруз|прочит|выполн|перей|переход|верн|продолж";
const LEADS_ON = new RegExp(`(?<!\\p{L})(?:${LETTERS})(?!\\p{L})|${BEGINNINGS}`, "iu");

/** "si", "se", "quand", "如果": what stands behind it, to the end of its clause. */
const WHEN =
  /(?:(?<!\p{L})s['’](?=ils?(?!\p{L}))|(?<!\p{L})(?:s[ie](?=[\s'’])|quand|lorsque?|cuando|quando|caso|als|если|когда)(?!\p{L})|如果|若|当|當)\s*((?:(?![-=]>|[.!?;]\s)[^:→,，：。；;]){1,60})/giu;
const WHEN_BEHIND = /([^、。，,:：]{1,40}?)\s?(?:の?場合|たら|면(?=\s))/u;
const OTHERWISE =
  /(?<!\p{L})(?:sinon|senão|si no|de lo contrario|caso contrário|altrimenti|anders|иначе)(?!\p{L})|否则|否則|さもなければ|それ以外|아니면/iu;

/** `step-04-execute.md`: what a file is called says nothing. */
const PAGE = /[\w./{}@-]{1,200}\.md\b/g;

/** Whether a line has a word that leads on or back in one of these languages. */
export function leadsOnElsewhere(text: string): boolean {
  return LEADS_ON.test(text.replaceAll(PAGE, " "));
}

/** What a line says of when, in one of these languages, before a place in it; undefined where it says nothing. */
export function whenElsewhere(lead: string): string | undefined {
  const clause = lead.split(/[.!?;；。]\s?/).findLast((part) => part.trim() !== "") ?? "";
  if (OTHERWISE.test(clause)) return "otherwise";
  const words = [...clause.matchAll(WHEN)].at(-1)?.[1] ?? WHEN_BEHIND.exec(clause)?.[1];
  const when = words
    ?.replaceAll(/\s+/g, " ")
    .replace(/^[-*\s]+/, "")
    .trim();
  return when === "" ? undefined : when;
}

/** "Never" and "before" in these languages. */
const NEVER =
  /\b(?:jamais|ne (?:pas|charge\w*|lis\w*)|avant|nunca|jamás|antes|mai|nooit|niet|nigdy)\b|não |не |никогда|不要|切勿|请勿|禁止|之前|하지 마/iu;

/** Behind "p. ex." and "no." none begins. */
const SENTENCE_END = /[.!?;]\s(?=[^\p{L}\d]{0,6}[\p{Lu}\p{Lo}])|[。；！？]/u;

/** Whether words against what follows stand in a line, in one of these languages, in the same sentence. */
export function deniedElsewhere(lead: string): boolean {
  return isDenied(lead.split(SENTENCE_END).at(-1) ?? "", NEVER);
}
