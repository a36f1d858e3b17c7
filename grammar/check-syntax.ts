import { Report } from './diagnostic.ts';
import { parseSource } from './parser.ts';
import type { Source } from './source.ts';

/** What is wrong with one text as text: braces, quotes, missing ends. Includes are not followed, `${…}` not expanded. */
export function checkSyntax(source: Source, knownDirective: (name: string) => boolean = () => false): Report {
  const report = new Report();
  report.sources.push(source);
  const opensBlock = () => false;
  const expand = <T>(word: T): T => word;
  parseSource({ source, report, knownDirective, opensBlock, expand, isParameter: false, depth: 0 });
  return report;
}
