// Node preloads this file into the processes and threads that `record.mjs` runs. When one ends, it writes V8's code of the
// scripts of `dist/` that it has loaded, with the code of all functions that have run, for `bin/load.ts`.
const { renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const vm = require('node:vm');
const { threadId } = require('node:worker_threads');

const CHUNKS = join(__dirname, '../../dist/src/chunks/');
const scripts = new Map();

vm.Script = class extends vm.Script {
  constructor(text, options) {
    super(text, options);
    if (options.filename?.startsWith(CHUNKS)) scripts.set(options.filename, this);
  }
};

process.on('exit', () => {
  for (const [file, script] of scripts) {
    const unfinished = `${file}.${process.pid}.${threadId}`;
    writeFileSync(unfinished, script.createCachedData());
    renameSync(unfinished, `${file}.${process.version}-${process.arch}`);
  }
});
