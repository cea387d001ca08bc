import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Conversation, type ConversationEntry } from "../../../src/store/runs/conversation.js";
import { RunFiles } from "../../../src/store/runs/run-files.js";
import { temporaryDirectory } from "../../fakes/package-fixture.js";
import { NO_LOCK } from "../../../src/store/disk/fenced-lock.js";

const begin = (visit: number): ConversationEntry => ({
  type: "begin",
  visit,
  messages: [{ role: "system", content: "é" }],
});
const user = (id: string): ConversationEntry => ({ type: "user", id, nodeId: "n", text: "words\n" });
const correction = (visit: number, turn: number): ConversationEntry => ({
  type: "correction",
  visit,
  turn,
  text: "no",
});
const answer = (visit: number, turn: number, content = ""): ConversationEntry => ({
  type: "assistant",
  visit,
  turn,
  content,
  calls: [{ id: "c", name: "fs_list", argumentsJson: "{}" }],
  finishReason: "stop",
  usage: { promptTokens: 1, completionTokens: 2, cost: 0 },
  model: "m",
});

let dir: string;
beforeEach(async () => {
  dir = await temporaryDirectory();
});
const open = () => new Conversation(join(dir, "visit-1.jsonl"), join(dir, "conversation.lock"), NO_LOCK);

describe("a conversation", () => {
  test("gives back what was said, in order, also to others", async () => {
    const said = [user("u"), begin(1), answer(1, 1), correction(1, 2), answer(1, 2)];
    const conversation = open();
    for (const entry of said) expect(await conversation.append([entry])).toBe(true);
    expect(await conversation.entries()).toEqual(said);
    expect(await open().entries()).toEqual(said);
  });

  test("takes each thing once; of two answers to a turn the first one stands", async () => {
    const [one, other] = [open(), open()];
    expect(await one.append([begin(1), answer(1, 1, "first")])).toBe(true);
    expect(await other.append([begin(1), answer(1, 1, "second")])).toBe(false);
    expect(await other.append([begin(1), answer(1, 2)])).toBe(true);
    expect(await one.append([user("u")])).toBe(true);
    expect(await other.append([user("u")])).toBe(false);
    expect(await one.entries()).toEqual([begin(1), answer(1, 1, "first"), answer(1, 2), user("u")]);
  });

  test("of eight answers to one turn at once, one stands, whole with its beginning", async () => {
    const conversations = [open(), open()];
    const wins = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        (conversations[n % 2] as Conversation).append([begin(1), answer(1, 1, `${n}`)]),
      ),
    );
    expect(wins.filter(Boolean)).toHaveLength(1);
    expect(await open().entries()).toEqual([begin(1), answer(1, 1, `${wins.indexOf(true)}`)]);
  });

  test("appends nothing of nothing", async () => {
    expect(await open().append([])).toBe(false);
    expect(await open().entries()).toEqual([]);
  });

  test("an answer that a crash tore was not given", async () => {
    await open().append([begin(1)]);
    await appendFile(join(dir, "visit-1.jsonl"), JSON.stringify(answer(1, 1)).slice(0, 40));
    expect(await open().entries()).toEqual([begin(1)]);
    expect(await open().append([answer(1, 1)])).toBe(true);
    expect(await open().entries()).toEqual([begin(1), answer(1, 1)]);
  });

  test("many entries take one descriptor to read, not one each", async () => {
    const conversation = open();
    await conversation.append(Array.from({ length: 3_000 }, (_, n) => user(`u${n}`)));
    expect(await conversation.entries()).toHaveLength(3_000);
  });
});

describe("a conversation's name", () => {
  test.each([
    "../x",
    "visit-1/../../x",
    "",
    ".",
    "visit-1.jsonl",
    "visit 1",
    "visit-",
    "VISIT-1",
    "visit-1\n",
    "/x",
  ])("%j is refused: it would be a path", async (name) => {
    expect(() => new RunFiles(dir).conversation(name)).toThrow(
      "A conversation's name is a word and a number.",
    );
  });

  test.each(["visit-1", "visit-204", "run"])(
    "%s is a file in the run's folder, always the same object",
    async (name) => {
      await mkdir(join(dir, "conversation"));
      const files = new RunFiles(dir);
      await files.conversation(name).append([begin(1)]);
      expect(files.conversation(name)).toBe(files.conversation(name));
      expect(
        await new Conversation(join(dir, "conversation", `${name}.jsonl`), join(dir, "l"), NO_LOCK).entries(),
      ).toEqual([begin(1)]);
    },
  );

  test("of very many only the last are kept in memory; another one is read again", async () => {
    await mkdir(join(dir, "conversation"));
    const files = new RunFiles(dir);
    const conversations = [];
    for (let visit = 1; visit <= 100; visit += 1) {
      const conversation = files.conversation(`visit-${visit}`);
      await conversation.append([begin(visit)]);
      conversations.push(conversation);
    }
    expect(files.conversation("visit-100")).toBe(conversations.at(-1));
    expect(files.conversation("visit-1")).not.toBe(conversations[0]);
    expect(await files.conversation("visit-1").append([begin(1)])).toBe(false);
    expect(await files.conversation("visit-1").entries()).toEqual([begin(1)]);
  });
});
