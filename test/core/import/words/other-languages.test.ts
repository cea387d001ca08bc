import { expect, test } from "vitest";
import { importOf, page, said, ways } from "../step-files.js";

/* Workflows that were translated: their words are not known, the names of their files are. */

const LAST = "# 4\n\nWorkflow complete.\n";

/** A workflow whose document and steps lead on with this line, `%` standing for the file. */
function translated(line: string) {
  const to = (file: string) => line.replace("%", file);
  return importOf({
    "SKILL.md": page({ name: "the" }, "# T", "", to("./steps/step-01-pot.md")),
    "steps/step-01-pot.md": `# 1\n\n${to("./step-02-leaf.md")}\n`,
    "steps/step-02-leaf.md": `# 2\n\n\`./step-01-pot.md\`\n\n${to("./step-03-cup.md")}\n`,
    "steps/step-03-cup.md": `# 3\n\n${to("step-04-sip.md")}\n`,
    "steps/step-04-sip.md": LAST,
  });
}

const KNOWN = 'note steps/step-01-pot.md:3 leads on to "step-02-leaf.md" in another language';
const UNKNOWN =
  'warning steps/step-01-pot.md:3 names "step-02-leaf.md" in words that are not known to lead there: it was taken for a way on';

test.each<[string, string, string?]>([
  ["French", "Lire intégralement et suivre : `%`"],
  ["French, a menu", "- SI C : sauvegardez, puis lisez intégralement et suivez : `%`"],
  ["Spanish", "Leer completamente y seguir: `%`"],
  ["Portuguese", "Depois que o usuário selecionar 'C', carregue `%` para iniciar a conversa."],
  ["Italian", "Leggi per intero e segui `%`."],
  ["Chinese", "完整读取并遵循：`%`"],
  ["Japanese", "`%` を読み込み、すべて実行する。"],
  ["Russian", "Прочитай полностью и выполни `%`."],
  ["Vietnamese", "Đọc toàn bộ và thực hiện `%`", UNKNOWN],
])(
  "a workflow in %s is walked by the files that it names, and that is said",
  (_language, line, how = KNOWN) => {
    const made = translated(line);
    expect(made.entry.form).toBe("steps");
    expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
      "step-01-pot step-02-leaf",
      "step-02-leaf step-03-cup",
      "step-03-cup step-04-sip",
    ]);
    expect(made.edges.every(({ isDefault }) => isDefault)).toBe(true);
    expect(said(made, true)).toContain(how);
  },
);

test("a menu in another language is one by its letters", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Lire et suivre : `./steps/step-01-pot.md`"),
    "steps/step-01-pot.md": [
      "# 1",
      "- SI C : suivez `./step-02-leaf.md`",
      "- SI S : suivez `./step-03-cup.md`",
      "Puis suivez `./step-02-leaf.md`.",
    ].join("\n"),
    "steps/step-02-leaf.md": "# 2\n\nSuivre `./step-03-cup.md`\n",
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual([
    "step-01-pot -C*-> step-02-leaf",
    "step-01-pot -S-> step-03-cup",
    "step-02-leaf -next*-> step-03-cup",
  ]);
});

test.each([
  "Ne chargez jamais `./step-03-cup.md`.",
  "切勿提前加载 `./step-03-cup.md`",
  "Use the same form as `./step-03-cup.md`.",
  "| 3 | `./step-03-cup.md` |",
  "step_file: ./step-03-cup.md",
])("a line that does not lead on is none in any language: %s", (line) => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": `# 1\n\n${line}\n`,
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual([]);
});

test("a way back in words that are not known is told of where others lead on: it is lost, but not without a word", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# 1\n\nLoad `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md": page(
      { nextStepFile: "./step-03-cup.md" },
      "# 2",
      "",
      "- Nếu không, thực hiện `./step-01-pot.md`.",
    ),
    "steps/step-03-cup.md": LAST,
  });
  expect(said(made, true)).toEqual([
    'note steps/step-02-leaf.md:6 names "step-01-pot.md" in words that are not known: no way was made, as others lead on',
  ]);
});

test("a step that is named in words that are not known is not lost where an arrow leads out early", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md":
      "# 1\n\n- S'il ne veut plus de thé → suivez `./step-03-cup.md`\n\n## Suite\n\nPar défaut : suivez `./step-02-leaf.md`\n",
    "steps/step-02-leaf.md": "# 2\n\nEnfin, suivez `./step-03-cup.md`\n",
    "steps/step-03-cup.md": LAST,
  });
  expect(made.edges.map(({ from, to }) => `${from} ${to}`)).toEqual([
    "step-01-pot step-03-cup",
    "step-01-pot step-02-leaf",
    "step-02-leaf step-03-cup",
  ]);
  expect(said(made, true)).toContain(
    'note steps/step-01-pot.md:7 leads on to "step-02-leaf.md" in another language',
  );
});

test.each([
  ["French", "Si c'est froid : revenir à `%`. Sinon continuer avec `$`.", "c'est froid"],
  ["French, with an apostrophe", "S’il est froid, retournez à `%`. Sinon passez à `$`.", "il est froid"],
  ["Spanish", "Si está frío, vuelve a `%`; de lo contrario, ve a `$`.", "está frío"],
  ["Portuguese", "Se for frio, volte para `%`. Caso contrário, prossiga para `$`.", "for frio"],
  ["Italian", "Se è freddo, torna a `%`. Altrimenti prosegui con `$`.", "è freddo"],
  ["Dutch", "Als het koud is, ga terug naar `%`. Anders ga door naar `$`.", "het koud is"],
  ["Chinese", "如果凉了，返回 `%`；否则执行 `$`。", "凉了"],
  ["Russian", "Если остыло, вернитесь к `%`. Иначе перейдите к `$`.", "остыло"],
])("a way back in %s is one, under its condition, beside the way on", (_language, line, when) => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# 1\n\nLoad `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md": `# 2\n\n${line.replace("%", "./step-01-pot.md").replace("$", "./step-03-cup.md")}\n`,
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made).slice(1)).toEqual([
    "step-02-leaf -otherwise*-> step-03-cup",
    `step-02-leaf -${when}-> step-01-pot`,
  ]);
  expect(said(made)).toEqual([]);
  expect(said(made, true)).toHaveLength(2);
});

test("a step that resumes is said to be left out, in whatever language it is named", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Chargez `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md":
      "# 1\n\nSi le fichier existe, lisez `./step-01b-continue.md`.\n\nSuivez `./step-02-leaf.md`.\n",
    "steps/step-01b-continue.md": "# 1b\n",
    "steps/step-02-leaf.md": LAST,
  });
  expect(made.nodes.map(({ id }) => id)).toEqual(["step-01-pot", "step-02-leaf"]);
  expect(said(made, true)).toContain(
    "note steps/step-01b-continue.md:0 is left out: Interlock itself goes on with a run that was interrupted",
  );
});

test.each([
  ["Japanese", "- 冷めた場合は `%` に戻る", "冷めた"],
  ["Korean", "- 식으면 `%` 로 돌아갑니다.", "식으"],
  ["Portuguese", "Se for frio, volte para `%`.", "for frio"],
])("a way back in %s is one where the way on is a key", (_language, line, when) => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": page({ nextStepFile: "./step-02-leaf.md" }, "# 1"),
    "steps/step-02-leaf.md": page(
      { nextStepFile: "./step-03-cup.md" },
      "# 2",
      "",
      line.replace("%", "./step-01-pot.md"),
    ),
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made).at(-1)).toBe(`step-02-leaf -${when}-> step-01-pot`);
});

test("what a line of another language denies, or only tells of, is no way back", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Load `./steps/step-01-pot.md`."),
    "steps/step-01-execute.md": "# 0\n",
    "steps/step-01-pot.md": page({ nextStepFile: "./step-02-leaf.md" }, "# 1"),
    "steps/step-02-leaf.md": page(
      { nextStepFile: "./step-03-cup.md" },
      "# 2",
      "",
      "Ne chargez jamais `./step-01-pot.md`.",
      "Nunca vuelvas a `./step-01-pot.md`.",
      "切勿返回 `./step-01-pot.md`。",
      "Données : `./step-01-pot.md`",
      "Source : `./step-01-execute.md`",
    ),
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf", "step-02-leaf -next*-> step-03-cup"]);
});

test("a German line whose verb stands at its end leads on", () => {
  const made = importOf({
    "SKILL.md": page({ name: "tee" }, "Lade `./steps/step-01-pot.md`."),
    "steps/step-01-pot.md": "# 1\n\nNach der Freigabe öffne `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md":
      "# 2\n\nWenn kalt, kehre zu `./step-01-pot.md` zurück.\nSonst mit `./step-03-cup.md` fortfahren.\n",
    "steps/step-03-cup.md": LAST,
  });
  expect(ways(made)).toEqual([
    "step-01-pot -next*-> step-02-leaf",
    "step-02-leaf -kalt-> step-01-pot",
    "step-02-leaf -otherwise-> step-03-cup",
  ]);
  expect(said(made)).toEqual([]);
});

test("of the lines that name a step the one that leads there says so, whichever comes first", () => {
  const made = importOf({
    "SKILL.md": page(
      { name: "the" },
      "- Les chemins nus (par ex. `steps/step-01-pot.md`) se résolvent depuis la racine.",
      "",
      "Lis intégralement et suis : `./steps/step-01-pot.md` pour commencer.",
    ),
    "steps/step-01-pot.md": "# 1\n\nPassez immédiatement à `./step-02-leaf.md`.\n",
    "steps/step-02-leaf.md": LAST,
  });
  expect(said(made, true)).toEqual([
    'note SKILL.md:6 leads on to "step-01-pot.md" in another language',
    'note steps/step-01-pot.md:3 leads on to "step-02-leaf.md" in another language',
  ]);
});

test("words against something in a sentence before are none against the way", () => {
  const made = importOf({
    "SKILL.md": page({ name: "the" }, "Lis et suis : `./steps/step-01-pot.md`"),
    "steps/step-01-pot.md": "# 1\n\nSuivre `./step-02-leaf.md`\n",
    "steps/step-02-leaf.md": [
      "# 2",
      "",
      "- **froid** — Avant d'annuler le thé : gardez l'eau. Lisez et suivez `./step-01-pot.md` encore.",
      "- Ne jamais lire `./step-04-sip.md` ici.",
      "- **chaud** — Suivez `./step-03-cup.md`.",
    ].join("\n"),
    "steps/step-03-cup.md": "# 3\n\nSuivre `./step-04-sip.md`\n",
    "steps/step-04-sip.md": LAST,
  });
  expect(ways(made).filter((way) => way.startsWith("step-02"))).toEqual([
    "step-02-leaf -next*-> step-03-cup",
    "step-02-leaf -next-> step-01-pot",
  ]);
});

test.each(["Nunca cargue, p. ej. ", "Ne jamais lire p. ex. ", "Non caricare mai, ad es. "])(
  "a short form ends no sentence: what stands before it is against the way behind it: %s",
  (words) => {
    const made = importOf({
      "SKILL.md": page({ name: "the" }, "Lis et suis : `./steps/step-01-pot.md`"),
      "steps/step-01-pot.md": `# 1\n\nSuivre \`./step-02-leaf.md\`\n\n${words}\`./step-03-cup.md\`\n`,
      "steps/step-02-leaf.md": "# 2\n\nSuivre `./step-03-cup.md`\n",
      "steps/step-03-cup.md": LAST,
    });
    expect(ways(made)).toEqual(["step-01-pot -next*-> step-02-leaf", "step-02-leaf -next*-> step-03-cup"]);
  },
);
