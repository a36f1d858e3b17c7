import { checkSyntax, formatConfig, formatFaults } from '../../grammar/index.ts';
import { patchOf, replaceFile } from '../replace-file.ts';
import { readText } from '../terminal.ts';

/** Options of `gw fmt`. */
export interface FmtOptions {
  readonly write?: boolean;
  readonly diff?: boolean;
  readonly check?: boolean;
  readonly indent: number;
  readonly tabs?: boolean;
}

/**
 * `gw fmt`: formats files. Exit code 0: done; 1: with `--check` or `--diff`, a file is not formatted; 2: a file cannot be
 * read or does not parse.
 */
export function fmt(files: readonly string[], options: FmtOptions): number {
  const indent = options.tabs === true ? '\t' : ' '.repeat(options.indent);
  const codes = (files.length > 0 ? files : ['-']).map((file) => formatFile(file, options, indent));
  return Math.max(...codes);
}

function formatFile(file: string, options: FmtOptions, indent: string): number {
  const source = readText(file);
  if (!source) return 2;
  const report = checkSyntax(source);
  if (report.failed) {
    process.stderr.write(formatFaults(report, { program: 'gw', color: process.stderr.isTTY }));
    return 2;
  }
  const formatted = formatConfig(source, { indent });
  const isSame = formatted === source.text;
  if (options.check === true) {
    if (!isSame) process.stdout.write(`${source.name}\n`);
  } else if (options.diff === true) {
    if (!isSame) process.stdout.write(patchOf(source, formatted));
  } else if (options.write === true && file !== '-') {
    if (!isSame) replaceFile(file, formatted);
    return 0;
  } else {
    process.stdout.write(formatted);
    return 0;
  }
  return isSame ? 0 : 1;
}
