/** The files of a configuration that `nginx -T` or `gw -T` printed. */
export interface DumpedFiles {
  /** The main file: the first. */
  readonly main: string;
  /** Text by path, as the dump names it. */
  readonly texts: ReadonlyMap<string, string>;
}

const MARKER = /^# configuration file (.+):$/;
/** What nginx says before the dump when both streams go to one file. */
const TALK = /^(nginx|gw): /;

/** The files of a dump; undefined for a text that does not begin as one. */
export function filesOfDump(text: string): DumpedFiles | undefined {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() !== '' && !TALK.test(line));
  const [, main] = MARKER.exec(trimmed(lines[first] ?? '')) ?? [];
  if (main === undefined) return undefined;
  const texts = new Map<string, string>();
  let name = main;
  let own: string[] = [];
  // nginx ends each file with a line feed of its own.
  const keep = (): void => void texts.set(name, own.join('\n').replace(/\n$/, ''));
  for (const line of lines.slice(first + 1)) {
    const [, next] = MARKER.exec(trimmed(line)) ?? [];
    if (next === undefined) {
      own.push(line);
      continue;
    }
    keep();
    [name, own] = [next, []];
  }
  keep();
  return { main, texts };
}

function trimmed(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
