import { textOf } from "../core/json.js";
import { type Fields, answerOrNone, fieldsOf } from "../http/answer-json.js";
import { mergePiece } from "./provider-part.js";
import { argumentsOf } from "./read-call.js";

/** The calls of a stream, piece by piece. */
export class StreamedCalls {
  readonly all: Record<string, unknown>[] = [];
  private readonly byIndex = new Map<number, Record<string, unknown>>();
  private readonly byId = new Map<string, Record<string, unknown>>();
  private readonly complete = new Map<Record<string, unknown>, JsonProgress>();
  /** The last arguments of calls whose pieces have each said again all that the one before has said. */
  private readonly retold = new Map<Record<string, unknown>, string | undefined>();
  private readonly by: "index" | "id";

  constructor(by: "index" | "id") {
    this.by = by;
  }

  /** All calls as they are meant: some servers say the arguments from their beginning in each piece. */
  whole(): readonly Fields[] {
    const begun = this.all.filter((call, nth) => !isNameAgain(call, this.all[nth - 1]));
    return begun.map((call) => {
      const last = this.retold.get(call);
      if (
        last === undefined ||
        last === argumentsIn(call) ||
        isJsonText(argumentsIn(call)) ||
        !isJsonText(last)
      )
        return call;
      const key = keyOfBody(textOf(call["type"]), call);
      const body = fieldsOf(call[key]);
      return body === undefined
        ? { ...call, arguments: last }
        : { ...call, [key]: { ...body, arguments: last } };
    });
  }

  /** The call that a piece belongs to, grown by it. */
  add(value: unknown): Fields {
    const piece = fieldsOf(value) ?? {};
    const call = this.callOf(piece);
    if (this.isSentAgain(call, piece)) return call;
    const key = keyOfBody(textOf(call["type"] || piece["type"]), piece);
    const body = fieldsOf(piece[key]) ?? {};
    // Some servers make a new id for each piece: a call keeps its first.
    const except = textOf(call["id"]) === "" ? [key, "index"] : [key, "index", "id"];
    mergePiece(call, piece, except);
    this.byId.set(textOf(call["id"]), call);
    this.complete.get(call)?.read(argumentsIn(piece));
    this.keepRetold(call, argumentsIn(piece));
    if (Object.keys(body).length > 0) {
      const before = fieldsOf(call[key]) ?? {};
      const name = grownName(textOf(before["name"]), textOf(body["name"]));
      const grown = mergePiece(before, body, ["name"]);
      grown["name"] = name;
      call[key] = grown;
    }
    return call;
  }

  private keepRetold(call: Record<string, unknown>, text: string): void {
    if (text === "") return;
    const before = this.retold.has(call) ? this.retold.get(call) : "";
    this.retold.set(call, before !== undefined && text.startsWith(before) ? text : undefined);
  }

  /** Some servers leave the index out, or give it to all calls alike: what a piece says tells whether it begins a call. */
  private callOf(piece: Fields): Record<string, unknown> {
    const index = indexOf(piece);
    // Some gateways give what goes on another index than the call that it belongs to.
    const isMore = textOf(piece["id"]) === "" && nameIn(piece) === "";
    const place = index === undefined ? undefined : this.byIndex.get(index);
    const known = place ?? (index === undefined || isMore ? this.all.at(-1) : undefined);
    const isElsewhere = known !== undefined && ![undefined, known].includes(this.withId(piece));
    const goesByIndex = this.by === "index" && index !== undefined && !isElsewhere;
    if (known !== undefined && goesByIndex && !this.begins(known, piece)) return known;
    if (known !== undefined && !this.isOther(known, piece)) return known;
    const mayBeEarlier = known !== undefined || index === undefined || goesOn(piece);
    const earlier = mayBeEarlier ? this.withId(piece) : undefined;
    if (earlier !== undefined && !this.isOther(earlier, piece)) return earlier;
    const call: Record<string, unknown> = {};
    this.all.push(call);
    this.complete.set(call, new JsonProgress());
    if (index !== undefined) this.byIndex.set(index, call);
    return call;
  }

  private withId({ id }: Fields): Record<string, unknown> | undefined {
    return textOf(id) === "" ? undefined : this.byId.get(textOf(id));
  }

  /** Whether a piece is of another call than one that it may be of by its place. */
  private isOther(known: Fields, piece: Fields): boolean {
    const [id, knownId] = [textOf(piece["id"]), textOf(known["id"])];
    const name = nameIn(piece);
    const progress = this.complete.get(known);
    const isWhole = progress?.isWhole === true;
    if (id !== "" && knownId !== "" && id !== knownId) {
      // With a new id and the name in each piece, what goes on is told by its arguments.
      const mayGoOn = name === "" || (name === nameIn(known) && progress?.hasBegun === true && goesOn(piece));
      return !mayGoOn || isWhole || this.withId(piece) !== undefined;
    }
    if (name === "" || this.isSentAgain(known, piece)) return false;
    if (!isWhole) return progress?.hasBegun !== true && isOtherTool(known, piece);
    const args = argumentsIn(piece).trimStart();
    return name !== nameIn(known) || args.startsWith("{") || (args === "" && id === "");
  }

  /** Whether a piece names a call behind the end of another one at its index, which has no arguments where it needs none. */
  private begins(known: Fields, piece: Fields): boolean {
    const progress = this.complete.get(known);
    const hasEnded =
      progress?.isWhole === true || (progress?.hasBegun === false && isOtherTool(known, piece));
    return nameIn(piece) !== "" && hasEnded && this.isOther(known, piece);
  }

  /** Some servers end with calls that they have sent already, or with their arguments alone. */
  private isSentAgain(known: Fields, piece: Fields): boolean {
    const [id, name] = [textOf(piece["id"]), nameIn(piece)];
    const isOfCall = id === "" ? name === "" : id === known["id"] && name === nameIn(known);
    return (
      isOfCall && this.complete.get(known)?.isWhole === true && argumentsIn(piece) === argumentsIn(known)
    );
  }
}

/** Whether a call is no more than the name of the one before it, which some servers say again behind its end. */
function isNameAgain(call: Fields, before: Fields = {}): boolean {
  const isEmpty = textOf(call["id"]) === "" && argumentsIn(call).trim() === "";
  return isEmpty && argumentsIn(before) !== "" && nameIn(call) === nameIn(before);
}

/** Whether a piece names another tool than a call that has no arguments yet, and not more of its name. */
function isOtherTool(known: Fields, piece: Fields): boolean {
  const [before, name] = [nameIn(known), nameIn(piece)];
  const isCall = textOf(piece["type"]) !== "" && textOf(known["type"]) !== "";
  return isCall && before !== "" && !name.startsWith(before);
}

/** Under which name a call has its body: its kind's, of one that is no function call. */
function keyOfBody(kind: string, piece: Fields): string {
  return fieldsOf(piece["function"]) === undefined && kind !== "" ? kind : "function";
}

function indexOf({ index }: Fields): number | undefined {
  if (typeof index === "number") return index;
  return /^\d{1,6}$/.test(textOf(index)) ? Number(index) : undefined;
}

function bodyOf(call: Fields): Fields {
  return fieldsOf(call[keyOfBody(textOf(call["type"]), call)]) ?? call; // some servers have none
}

function nameIn(call: Fields): string {
  return textOf(bodyOf(call)["name"]);
}

/** The arguments in a call or in a piece of one, as text. */
function argumentsIn(call: Fields): string {
  const body = bodyOf(call);
  const given = argumentsOf(body) ?? "";
  return typeof given === "string" ? given : JSON.stringify(given);
}

function isJsonText(text: string): boolean {
  return answerOrNone(text) !== undefined;
}

/** Whether a piece has arguments that begin no object. */
function goesOn(piece: Fields): boolean {
  return /^[^{\s]/.test(argumentsIn(piece).trimStart());
}

/** A name comes whole, whole each time, or in pieces. */
function grownName(before: string, piece: string): string {
  if (piece === "" || piece === before) return before;
  return piece.startsWith(before) ? piece : before + piece;
}

/** Whether a text that arrives in pieces holds a whole JSON object. */
class JsonProgress {
  private depth = 0;
  private inText = false;
  private isEscaped = false;
  hasBegun = false;

  get isWhole(): boolean {
    return this.hasBegun && this.depth === 0 && !this.inText;
  }

  read(piece: string): void {
    for (const char of piece) {
      if (this.inText) {
        if (this.isEscaped) this.isEscaped = false;
        else if (char === "\\") this.isEscaped = true;
        else if (char === '"') this.inText = false;
      } else if (char === '"') this.inText = true;
      else if (char === "{" || char === "[") {
        this.depth += 1;
        this.hasBegun = true;
      } else if (char === "}" || char === "]") this.depth -= 1;
    }
  }
}
