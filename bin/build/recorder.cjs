// Node preloads this file into the processes and threads that `record.mjs` runs. When one ends, it writes V8's code of the
// scripts of `dist/` that it has loaded, with the code of all functions that have run, for `bin/load.ts`.
const { renameSync, writeFileSync } = require('node:fs');
const { join, relative } = require('node:path');
const vm = require('node:vm');
const { threadId } = require('node:worker_threads');

const PROGRAM = join(__dirname, '../..');
const CHUNKS = join(PROGRAM, 'dist/src/chunks/');
// V8 keeps the name of the script, and stack traces have that one. What is built to be run elsewhere has names below gw's directory.
// The name is a copy: with a part of a string, V8 would keep the whole.
const nameOf = (file) =>
  process.env.GW_BUILD_RELATIVE ? Buffer.from(relative(PROGRAM, file)).toString() : file;
const scripts = new Map();

vm.Script = class extends vm.Script {
  constructor(text, options) {
    const file = options.filename;
    const isKept = Boolean(file?.startsWith(CHUNKS));
    super(text, isKept ? { ...options, filename: nameOf(file) } : options);
    if (isKept) scripts.set(file, this);
  }
};

// Where the code has the hash of the flags of V8. All of it is to have that of a process that has just begun, whatever a
// thread has changed until it ends.
const FLAGS_AT = 12;
const flagsNow = () => new vm.Script('', {}).createCachedData().readUInt32LE(FLAGS_AT);
const first = Number((process.env.GW_BUILD_FLAGS ??= String(flagsNow())));

process.on('exit', () => {
  require(join(PROGRAM, 'dist/bin/load.cjs')).guardRegexes();
  const guarded = Buffer.alloc(4);
  guarded.writeUInt32LE(flagsNow());
  for (const [file, script] of scripts) {
    const unfinished = `${file}.${process.pid}.${threadId}`;
    const code = script.createCachedData();
    code.writeUInt32LE(first, FLAGS_AT);
    writeFileSync(unfinished, Buffer.concat([code, guarded]));
    renameSync(unfinished, `${file}.${process.version}-${process.arch}`);
  }
});
