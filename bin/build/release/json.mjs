import { readFileSync, writeFileSync } from 'node:fs';

export function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Writes a value in lines. Returns the file. */
export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
  return file;
}
