// Runs the program beside it that is named, with what V8 made of its code in an earlier process. The first process that
// ends in order leaves that: then it is known which functions are needed.
const { existsSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { Script } = require("node:vm");

const program = `${__dirname}/${process.argv[2]}`;
const cache = `${program}.cache`;
const cached = existsSync(cache);
const code = `(function (exports, require, module, __filename, __dirname) {${readFileSync(program, "utf8")}\n})`;
const script = new Script(code, {
  filename: program,
  ...(cached ? { cachedData: readFileSync(cache) } : {}),
});
script.runInThisContext().call(module.exports, module.exports, require, module, program, __dirname);
if (!cached) {
  process.once("exit", () => {
    writeFileSync(`${cache}.${process.pid}`, script.createCachedData());
    renameSync(`${cache}.${process.pid}`, cache);
  });
}
